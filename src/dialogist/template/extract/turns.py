"""A dialogue as sentences with their places, and who speaks next: what all finders read."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from dialogist.records import Dialogue, EvidenceSpan
from dialogist.text.tokens import sentence_spans

# Transcribers' marks ({vocalsound}, [laughter]; other brackets may be masks) and fillers.
_NOISE = re.compile(
    r"\{\w+\}|\[(?:laughter|noise|pause|inaudible|crosstalk|silence)\]"
    r"|(?:(?<=\w )|(?<=\w)), ?(?:uh|um|er|erm|eh)\b ?,?|\b(?:uh|um|er|erm|eh)\b(?: ?,)?",
    re.I,
)
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Sentence:
    """``utterances[utterance].text[start:end]``, and who says it."""

    utterance: int
    start: int
    end: int
    text: str
    speaker: str

    def span(self, start: int = 0, end: int | None = None) -> EvidenceSpan:
        """Characters ``start`` to ``end`` of the sentence as evidence of what was found there."""
        stop = len(self.text) if end is None else end
        return EvidenceSpan(self.utterance, self.start + start, self.start + stop, 1.0)


@dataclass(frozen=True, slots=True)
class Found:
    """What a finder found: ``text`` are the dialogue's own words, with names
    for pronouns, or a quote.

    ``owner`` is a speaker as the dialogue writes him, or empty; ``deadline`` is part of what was
    said. ``evidence`` has what says it first, then what it rests on. ``words`` is what was said
    where ``text`` is a quote or has names for pronouns: two are compared by these.
    """

    text: str
    evidence: tuple[EvidenceSpan, ...]
    owner: str = ""
    deadline: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Turns:
    """The sentences of a dialogue by utterance; marks and fillers are blank, in place."""

    dialogue: Dialogue
    sentences: tuple[tuple[Sentence, ...], ...] = field(repr=False)

    def all(self) -> Iterator[Sentence]:
        """All sentences in order."""
        for sentences in self.sentences:
            yield from sentences

    def addressee(self, sentence: Sentence) -> str:
        """Who "you" is in a sentence: the other of two, or who is called by name; else empty."""
        others = [name for name in self.dialogue.speakers if name != sentence.speaker]
        if len(others) < 2:
            return others[0] if others else ""
        called = [name for name in others if _is_called(name, sentence.text)]
        return called[0] if len(called) == 1 else ""

    def before(self, sentence: Sentence) -> Sentence | None:
        """The last sentence of the turn before, if somebody else said it."""
        if sentence.utterance == 0 or not self.sentences[sentence.utterance - 1]:
            return None
        last = self.sentences[sentence.utterance - 1][-1]
        return last if last.speaker != sentence.speaker else None

    def reply(self, utterance: int, within: int = 1) -> Sequence[Sentence]:
        """What the first other speaker says in the next ``within`` utterances."""
        speaker = self.dialogue.utterances[utterance].speaker
        for number in range(utterance + 1, min(utterance + 1 + within, len(self.sentences))):
            if self.dialogue.utterances[number].speaker != speaker:
                return self.sentences[number]
        return ()


def _is_called(name: str, text: str) -> bool:
    """Whether a name or the first word of it stands apart: "Bo, could you ...?"."""
    first = re.escape(name.split()[0])
    opening = r"(?:^|[,.!?] ?|\b(?:ok(?:ay)?|and|hey|hi|so|thanks|sure) )"
    called = rf"{opening}{first}\b[^,]{{0,20}},|, ?{first}\W*$"
    return re.search(called, text, re.I) is not None


def turns_of(dialogue: Dialogue) -> Turns:
    """The dialogue's sentences; one without a letter or digit is none."""
    return Turns(
        dialogue,
        tuple(
            tuple(_sentences(number, utterance.text, utterance.speaker))
            for number, utterance in enumerate(dialogue.utterances)
        ),
    )


def _sentences(number: int, text: str, speaker: str) -> Iterator[Sentence]:
    blank = _NOISE.sub(lambda mark: " " * len(mark[0]), text)
    for start, end in sentence_spans(blank):
        if _WORD.search(blank, start, end):
            yield Sentence(number, start, end, blank[start:end], speaker)
