"""`focus`: of a summary, what is about one speaker; what is left out is said."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dialogist.errors import UsageError, nearest
from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue, Statement, Summary, Warning
from dialogist.text.clauses import clauses_of
from dialogist.text.languages import language_of
from dialogist.text.tokens import sentence_spans, tokens_of

_MOST = 0.5  # of the evidence's weight on the speaker's utterances: more is "rests on them"


@dataclass(frozen=True, slots=True)
class Focused:
    """A summary about one speaker; ``left_out`` are the sentences of the other, in their order."""

    summary: Summary
    left_out: tuple[Statement, ...]
    notes: tuple[str, ...] = ()


def focus(summary: Summary, dialogue: Dialogue, speaker: str) -> Focused:
    """Keep the sentences that are about a speaker.

    These are those with a clause whose subject is the speaker (alone or beside others); and those
    with no other speaker as subject that rest, by more than half of their evidence's weight, on
    what the speaker said. All places in the summary move with its text. Give it before any
    renaming.

    Raises:
        UsageError: nobody of that name says anything in the dialogue.
    """
    check_speaker(speaker, dialogue)
    judge = _Judge(dialogue, speaker)
    sentences = list(summary.sentences) or list(_sentences(summary.text))
    kept = [s for s in sentences if judge.is_about(s)]
    left_out = tuple(s for s in sentences if s not in kept)
    notes = [f"{len(left_out)} of {len(sentences)} sentences are not about {speaker}: left out"]
    if not kept and sentences:
        notes = [f"no sentence of the summary is about {speaker}"]
    if summary.alternatives:
        notes.append("alternatives are left out: a focus chooses among sentences with evidence")
    return Focused(_only(summary, kept), left_out, tuple(notes) if left_out else ())


def check_speaker(speaker: str, dialogue: Dialogue) -> None:
    """See that somebody of that name says something.

    Raises:
        UsageError: nobody does.
    """
    if speaker not in dialogue.speakers:
        there = ", ".join(dialogue.speakers) or "nobody by name"
        hint = nearest(speaker, dialogue.speakers)
        raise UsageError(f"'{speaker}' says nothing in this dialogue{hint} (there are: {there})")


class _Judge:
    def __init__(self, dialogue: Dialogue, speaker: str) -> None:
        self.dialogue = dialogue
        self.speakers = Speakers(dialogue)
        self.number = self.speakers.number[speaker]
        self.name = speaker

    def is_about(self, sentence: Statement) -> bool:
        subjects = self._subjects(sentence.text)
        if subjects:
            return self.number in subjects
        return self._rests_on_speaker(sentence)

    def _subjects(self, text: str) -> set[int]:
        """Speakers that are subjects; joint subjects all of them."""
        if language_of(text) == "zh":
            place = {n: text.find(name) for n, name in enumerate(self.speakers.names)}
            first = [n for n, at in place.items() if at == 0]
            return set(first)
        clauses = [clause for found in clauses_of(text, self.speakers.who) for clause in found]
        return {clause.subject for clause in clauses} | self._first(text)

    def _first(self, text: str) -> set[int]:
        """Whom a sentence begins with; `clauses_of` gives ``A and B`` no clause, nor ``A is``."""
        found: set[int] = set()
        for token in tokens_of(text):
            number = self.speakers.who(token.base)
            if number is not None and not token.ending:
                found.add(number)
            elif token.base not in ("and", ",", "the", "both", "then"):
                break
        return found

    def _rests_on_speaker(self, sentence: Statement) -> bool:
        total = sum(span.score for span in sentence.evidence)
        own = sum(
            span.score
            for span in sentence.evidence
            if self.dialogue.utterances[span.utterance].speaker == self.name
        )
        return own > _MOST * total


def _sentences(text: str) -> Iterator[Statement]:
    for start, end in sentence_spans(text):
        yield Statement(text[start:end], start, end)


def _only(summary: Summary, kept: list[Statement]) -> Summary:
    """The summary with the kept sentences alone, each as it stands, one space between."""
    space = "" if language_of(summary.text) == "zh" else " "
    text, sentences = "", []
    for sentence in kept:
        start = len(text) + (len(space) if text else 0)
        text = text + (space if text else "") + sentence.text
        sentences.append(replace(sentence, start=start, end=len(text)))
    pairs = list(zip(kept, sentences, strict=True))
    return replace(
        summary,
        text=text,
        sentences=tuple(sentences),
        key_points=tuple(_parts(summary, pairs, text)),
        warnings=tuple(_warnings(summary, pairs)),
        entities=tuple(
            replace(e, in_summary=e.in_summary and e.text in text) for e in summary.entities
        ),
        alternatives=(),
    )


def _parts(
    summary: Summary, pairs: list[tuple[Statement, Statement]], text: str
) -> Iterator[Statement]:
    """Key points of the kept sentences; joined, their texts are the new text."""
    place = 0
    for point in summary.key_points:
        held = [new for old, new in pairs if point.start <= old.start < point.end]
        if held:
            end = held[-1].end
            yield replace(point, text=text[place:end], start=place, end=end)
            place = end


def _warnings(summary: Summary, pairs: list[tuple[Statement, Statement]]) -> Iterator[Warning]:
    """Those about no place, and those within a kept sentence, moved."""
    for warning in summary.warnings:
        if warning.start < 0:
            yield warning
        for old, new in pairs:
            if old.start <= warning.start < old.end and warning.start >= 0:
                shift = new.start - old.start
                end = min(warning.end + shift, new.end)
                yield replace(warning, start=warning.start + shift, end=end)
