"""A dialogue as sentences with places, clauses within them, who serves in it, and quotes of it."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dialogist.language.reading import reading_of
from dialogist.language.roles import SERVED_WORDS, SERVING_WORDS
from dialogist.language.tokens import FUNCTION_WORDS, word_set
from dialogist.records import Dialogue, EvidenceSpan

# Transcribers' marks ({vocalsound}, [laughter]; other brackets may be masks) and fillers.
_NOISE = re.compile(
    r"\{\w+\}|\[(?:laughter|noise|pause|silence)\]"
    r"|(?:(?<=\w )|(?<=\w)), ?(?:uh|um|er|eh)\b ?,?|\b(?:uh|um|er|eh)\b(?: ?,)?",
    re.I,
)
_LONGEST = 240  # characters of a quote: what is longer tells nobody what the entry is
_TWO = 2  # speakers


@dataclass(frozen=True, slots=True)
class Sentence:
    """``utterances[utterance].text[start:end]``, and who says it; marks and fillers are blank.

    ``is_cut``: it is a stretch of a longer one.
    """

    utterance: int
    start: int
    end: int
    text: str
    speaker: str
    is_cut: bool = False

    @property
    def span(self) -> EvidenceSpan:
        """The sentence as evidence."""
        return EvidenceSpan(self.utterance, self.start, self.end)

    def part(self, start: int, end: int) -> "Sentence":
        """A stretch of it."""
        text = self.text[start:end]
        place = self.start + start
        return replace(self, start=place, end=place + len(text), text=text, is_cut=True)

    def quoted(self) -> str:
        """What is said with who says it: ``Ann: "Pick me up at six."``."""
        words = tidy(self.text).replace('"', "'")
        words = f"... {words.strip(' .,')} ..." if self.is_cut else words
        return f'{self.speaker}: "{words}"' if self.speaker else f'"{words}"'


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule found: a quote, and what two findings are compared by.

    ``parts`` are quoted in this order; ``main`` is the one that says it. ``owner`` is a speaker as
    the dialogue writes him, or empty; ``deadline`` is a phrase of what was said, ``words`` the
    clause that tells it. ``again``: where it is said once more.
    """

    parts: tuple[Sentence, ...]
    main: Sentence
    words: str
    owner: str = ""
    deadline: str = ""
    again: tuple[EvidenceSpan, ...] = ()

    @property
    def text(self) -> str:
        """The quote."""
        return " – ".join(part.quoted() for part in self.parts)

    @property
    def evidence(self) -> tuple[EvidenceSpan, ...]:
        """What says it first, then what it rests on."""
        others = (part.span for part in self.parts if part is not self.main)
        return tuple(dict.fromkeys((self.main.span, *others, *self.again)))

    @property
    def place(self) -> tuple[int, int]:
        """The utterance and the character at which it is said."""
        return self.main.utterance, self.main.start


def quote(
    *parts: Sentence,
    main: Sentence | None = None,
    owner: str = "",
    deadline: str = "",
    words: str | None = None,
    clause: tuple[int, int] | None = None,
) -> Finding | None:
    """Sentences as a finding, None where they are too long.

    ``main`` is by default the last. ``words``: by default all of it. ``clause``: where it stands in
    ``main``, of which then no more is quoted if it is too long as a whole.
    """
    said_by = main or parts[-1]
    words = " ".join(part.text for part in parts) if words is None else words
    finding = Finding(parts, said_by, words, owner, deadline)
    if len(finding.text) > _LONGEST and clause is not None:
        short = said_by.part(*clause)
        shown = tuple(short if part is said_by else part for part in parts)
        finding = Finding(shown, short, words, owner, deadline)
    return finding if len(finding.text) <= _LONGEST else None


@dataclass(frozen=True, slots=True)
class Talk:
    """The sentences of a dialogue by utterance, and who is served in it: nobody where none is."""

    dialogue: Dialogue
    sentences: tuple[tuple[Sentence, ...], ...]
    served: frozenset[str]

    @classmethod
    def of(cls, dialogue: Dialogue) -> "Talk":
        """The dialogue's sentences; one without a letter or digit is none."""
        talk = dialogue.cache.get("talk")
        if isinstance(talk, Talk):
            return talk
        turns = []
        reading = reading_of(dialogue)
        for number, (text, spans) in enumerate(zip(reading.texts, reading.sentences, strict=True)):
            text = _NOISE.sub(lambda mark: " " * len(mark[0]), text)
            speaker = dialogue.utterances[number].speaker
            turns.append(
                tuple(
                    Sentence(number, start, end, text[start:end], speaker)
                    for start, end in spans
                    if any(map(str.isalnum, text[start:end]))
                )
            )
        talk = cls(dialogue, tuple(turns), _served_in(dialogue, turns))
        dialogue.cache["talk"] = talk
        return talk

    def all(self) -> Iterator[Sentence]:
        """All sentences in order."""
        for turn in self.sentences:
            yield from turn

    def between(self, first: int, last: int) -> Iterator[Sentence]:
        """The sentences of utterances ``first`` to before ``last``, from the last one back."""
        for turn in reversed(self.sentences[max(0, first) : last]):
            yield from reversed(turn)

    def before(self, sentence: Sentence) -> Sentence | None:
        """The last sentence of the turn before, if somebody else said it."""
        if sentence.utterance == 0 or not self.sentences[sentence.utterance - 1]:
            return None
        last = self.sentences[sentence.utterance - 1][-1]
        return last if last.speaker != sentence.speaker else None

    def beside(self, sentence: Sentence, step: int) -> Sentence | None:
        """The sentence so many steps behind one in its utterance; below 0: before it."""
        turn = self.sentences[sentence.utterance]
        place = next(n for n, s in enumerate(turn) if sentence.start < s.end) + step
        return turn[place] if 0 <= place < len(turn) else None

    def joined(self, first: Sentence, last: Sentence) -> Sentence:
        """Neighbouring sentences of one utterance as one."""
        if first is last:
            return first
        text = self.dialogue.utterances[first.utterance].text[first.start : last.end]
        return replace(first, end=last.end, text=_NOISE.sub(lambda m: " " * len(m[0]), text))

    def reply(self, sentence: Sentence) -> Sequence[Sentence]:
        """What another speaker says in the next utterance."""
        number = sentence.utterance + 1
        turn = self.sentences[number] if number < len(self.sentences) else ()
        return turn if turn and turn[0].speaker != sentence.speaker else ()


# Who serves in a conversation, and who is served.

SERVES = re.compile(
    r"\b(?:how (?:can|may) (?:i|we) (?:help|assist)|what can i do for you|can i help you|"
    r"what (?:brings|seems)|what ?['’]?s (?:the (?:problem|matter)|wrong)|how is (?:the|your)|"
    r"thanks? (?:you )?for (?:calling|contacting)|speaking (?:to|with)|welcome to|"
    r"(?:support|desk|surgery|office)[,.])",
    re.I,
)
"""How those who serve begin."""
_THING = (
    r"(?:\w+ )?(?:order|account|bill|booking|card|parcel|package|refund|subscription|claim|ticket|"
    r"policy|delivery|reservation|contract|payment|flight|internet|phone|router)\b"
)
# What only those say who serve, and only those who want something: names may tell neither.
_HELPS = re.compile(rf"\byour {_THING}|\bsorry (?:to hear|about|for)\b|\bi am sorry\b", re.I)
_SEEKS = re.compile(rf"\bmy {_THING}", re.I)


def _served_in(dialogue: Dialogue, turns: Sequence[Sequence[Sentence]]) -> frozenset[str]:
    """Those who are served, by role, by name, or of two by what they say."""
    names = dialogue.speakers
    roles = {u.speaker: u.role for u in dialogue.utterances}
    words = {
        name: word_set(re.sub(r"\W", " ", roles[name].lower())) & (SERVING_WORDS | SERVED_WORDS)
        or word_set(re.sub(r"\W", " ", name.lower()))
        for name in names
    }
    served = frozenset(name for name in names if words[name] & SERVED_WORDS)
    if served and len(served) < len(names):
        return served
    serving = {name for name in names if words[name] & SERVING_WORDS}
    if not serving and len(names) == _TWO:
        opening = [sentence for turn in turns[:3] for sentence in turn]
        serving = {s.speaker for s in opening if SERVES.search(s.text)}
        if len(serving) != 1:
            every = [sentence for turn in turns for sentence in turn]
            helping = {s.speaker for s in every if _HELPS.search(s.text)}
            seeking = {s.speaker for s in every if _SEEKS.search(s.text)}
            serving = helping - seeking if len(helping - seeking) == 1 and seeking else set()
    return frozenset(names) - serving if serving else frozenset()


# The rest of a clause, from its verb to where another clause begins: never part of a word.

_SUBJECT = r"(?:I|you|we|he|she|they|it|that|this|there|let)\b"
_STOP = re.compile(
    r"[.!?…]+\W*$|\s[.!?](?!\w)|(?<! [ap])(?<!(?-i:[A-Z][a-z]))(?<!(?-i:[A-Z][a-z]{2}))[.!?](?=\s)|"
    r"[;…]|:(?!\d)|\s--?\s|\s*,? (?:but|because|since|otherwise|so(?! that))\b"
    rf"|\s*,(?: (?:and|then|and then|so))? {_SUBJECT}|\s+(?:and|then|or) {_SUBJECT}|"
    rf"\s*, (?:ok(?:ay)?|right|thanks|thank you|sir|madam|please|bye|no|yes|well)\b|"
    rf"\s*,\s*(?-i:(?:(?:Mr|Mrs|Ms|Dr)\.? )?[A-Z][a-z]+)\W*$"
    r"|\s*,? (?:okay|alright|if you (?:like|want))(?! to)\b",
    re.I,
)
_TAIL = re.compile(
    r"[\s,]{1,9}(?:then|(?<!for )(?<!right )(?<!by )now|too|and|so|please|pls|ok|"
    r"right)?[\s,]{0,9}$",
    re.I,
)
_AGAIN = re.compile(r"\b(\w[\w']*(?: \w[\w']*){0,3})(?:[ ,]+\1\b)+", re.I)
_DANGLING = word_set(
    "a an the my your our his their its of to with for from at by and or but if when that which we "
    "i he she they as than into about because so very is are was were be will would can have"
)
_RESTART = re.compile(r"\bI(?: ?['’] ?(?:ll|m)| will| am)\b|\blet ?['’] ?s\b|\bI think\b")
_BEGINS = re.compile(
    r"(?:[,;:.…-]|\b(?:and|so|then|but|well|ok(?:ay)?|yes|yeah|sure|kk?|lol|now))\W{0,9}$", re.I
)
_NAMES_NOTHING = word_set("thing things stuff lot bit way something anything")
_BREATH = 80  # characters
_LOOK = 400  # characters: a clause is shorter


def clause_end(text: str, start: int) -> int:
    """Where the clause that ``text[start:]`` begins with ends, without its mark.

    What goes on for longer than a clause does is none: it ends where it starts.
    """
    stop = _STOP.search(text, start, start + _LOOK)
    if stop is None and len(text) > start + _LOOK:
        return start
    end = stop.start() if stop else len(text)
    while (tail := _TAIL.search(text, start, end)) and start < tail.start() < end:
        end = tail.start()
    return end


def tidy(clause: str) -> str:
    """One line, without what a speaker says twice in a row: ``the the final version``."""
    return _AGAIN.sub(r"\1", " ".join(clause.split()))


def is_whole(clause: str) -> bool:
    """Whether a clause of two words at least neither breaks off (``with the``) nor begins anew."""
    words = clause.lower().split()
    if len(words) < 2 or _RESTART.search(clause) or clause.endswith("-"):
        return False
    return words[-1].strip(",'\"-") not in _DANGLING


def is_telling(clause: str) -> bool:
    """Whether something beside the verb is more than a pronoun."""
    words = re.findall(r"[^\W_]+", clause.lower())[1:]
    return any(word not in FUNCTION_WORDS and word not in _NAMES_NOTHING for word in words)


def breath_before(text: str, place: int) -> str:
    """What is said in the same breath before ``place``."""
    return text[max(0, place - _BREATH) : place]


def begins_clause(text: str, place: int) -> bool:
    """Whether a clause may begin at ``place``: not the relative one of "all I'll take"."""
    words = breath_before(text, place)
    return not words.strip() or _BEGINS.search(words) is not None
