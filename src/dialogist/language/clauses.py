"""Who does what in a summary: its clauses whose subject is a known speaker.

A rough reading by word order, for the plain sentences of summaries: a speaker's name at the
beginning of a sentence, or behind a conjunction, begins a clause, and what follows up to the next
subject is its predicate. What "A tells B that ..." reports belongs to A's clause.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dialogist.language.porter import stem_of
from dialogist.language.tokens import (
    ANSWERING,
    ASKING,
    FUNCTION_WORDS,
    HELPING,
    TELLING,
    Token,
    sentence_spans,
    tokens_of,
    word_set,
)

_KINDS = {
    stem_of(verb): kind
    for kind, verbs in (
        ("ask", ASKING),
        ("tell", TELLING),
        ("answer", ANSWERING),
        ("help", HELPING),
    )
    for verb in verbs
}
_REASONS = word_set("because since as although though while so before after until")
_CONTENTS = word_set("if when whether that unless why how what where which who")
_JOINTS = word_set("and but or , ; then")
_OPENING = _REASONS | _CONTENTS | _JOINTS
_PRONOUNS = word_set(
    "he she they it we there who someone both everyone everybody nobody others people"
)
_DETERMINERS = word_set("the a an his her their this that these those its some most many all")
_PREPOSITIONS = word_set("to with for from at of by about on in than like near behind")
_BE = word_set("is are was were be been being gets get got")
# "A also likes it", "A and B both": what is said of one is said of the other.
_SHARED = word_set("both each together also too")
# "A's going" is no possessive, "A's car" is one.
_AFTER_IS = word_set("a an going not the in at on too very also already busy sick")


class Clause(NamedTuple):
    """``text[start:end]``: the speaker who is its subject (a number) and the predicate.

    ``kind``: ``ask``, ``tell``, ``answer``, ``help`` or ``do``. ``words``: stems of the content
    words, without names of speakers.
    """

    start: int
    end: int
    subject: int
    kind: str
    words: tuple[str, ...]


Who = Callable[[str], int | None]
"""The number of the speaker whom a word in small letters names."""


def clauses_of(text: str, who: Who) -> list[list[Clause]]:
    """The clauses of each sentence."""
    found = []
    for start, end in sentence_spans(text):
        tokens = [
            t._replace(start=t.start + start, end=t.end + start) for t in tokens_of(text[start:end])
        ]
        found.append(_Reader(tokens, who).clauses())
    return found


@dataclass(slots=True)
class _Open:
    """A clause while it is read; without a subject it is nobody's."""

    subject: int | None
    start: int
    end: int
    kind: str = ""
    words: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, tokens: Sequence[Token], who: Who) -> None:
        # "the customer" is as good as a name
        behind = [who(token.base) is not None for token in tokens[1:]] + [False] * bool(tokens)
        self._tokens = [
            t for t, person in zip(tokens, behind, strict=True) if not (person and t.base == "the")
        ]
        self._people = [who(token.base) for token in self._tokens]
        self._found: list[_Open] = []
        self._place = -2  # of the subject

    def clauses(self) -> list[Clause]:
        for i, token in enumerate(self._tokens):
            if self._people[i] is not None:
                self._mention(i, token)
            elif self._is_other_subject(i, token):
                self._open(None, i, token)
            elif self._found:
                self._word(i, token)
        return [
            Clause(c.start, c.end, c.subject, c.kind, tuple(c.words))
            for c in self._found
            if c.subject is not None and c.words
        ]

    def _open(self, subject: int | None, i: int, token: Token) -> None:
        self._found.append(_Open(subject, token.start, token.end))
        self._place = i

    def _before(self, i: int) -> str:
        return self._tokens[i - 1].base if i else ""

    def _may_begin(self, i: int) -> bool:
        """Whether a subject may stand at this place."""
        before = self._before(i)
        if not before:
            return True
        if before in _PREPOSITIONS or self._joins_objects(i, before):
            return False
        if not self._found:
            return True
        reported = self._found[-1].kind in ("ask", "tell") and before in _CONTENTS
        return before in _OPENING and not reported

    def _joins_objects(self, i: int, before: str) -> bool:
        """``A asks B and C``."""
        joined = before in ("and", "or") and i >= 2 and self._people[i - 2] is not None
        return joined and self._place != i - 2

    def _mention(self, i: int, token: Token) -> None:
        if not self._may_begin(i):
            return
        behind = self._tokens[i + 1].base if i + 1 < len(self._tokens) else ""
        is_verb = behind in _AFTER_IS or behind.endswith("ing")
        if self._joins_subject(i):
            self._found[-1].subject = None  # A and B: what both do says nothing of either
            self._place = i
        elif token.ending == "'s" and not is_verb:
            self._open(None, i, token)
        else:
            self._open(self._people[i], i, token)

    def _joins_subject(self, i: int) -> bool:
        return self._before(i) in ("and", "or", ",") and self._place == i - 2 >= 0

    def _is_other_subject(self, i: int, token: Token) -> bool:
        before = self._before(i)
        if token.base in _PRONOUNS:
            begins = True
        elif token.base in _DETERMINERS:
            begins = not before or before in _REASONS | _CONTENTS
        else:
            begins = not self._found and token.capital and token.base not in FUNCTION_WORDS
        return begins and self._may_begin(i)

    def _word(self, i: int, token: Token) -> None:
        clause = self._found[-1]
        clause.end = token.end
        if token.base in _SHARED or (token.capital and self._joins_subject(i)):
            clause.subject = None
        if token.base in FUNCTION_WORDS or not is_content(token.base):
            return
        stem = stem_of(token.base)
        if not clause.kind:
            if token.base.endswith("ly"):
                return
            clause.kind = _KINDS.get(stem, "do")
            if clause.kind not in ("do", "help") and self._is_passive(i, token):
                clause.subject = None  # "A is asked to": it is somebody else who asks
        clause.words.append(stem)

    def _is_passive(self, i: int, token: Token) -> bool:
        form = token.base.endswith("ed") or token.base == "told"
        before = self._tokens[max(0, i - 2) : i]
        return form and any(t.base in _BE or t.ending == "'s" for t in before)


def is_content(word: str) -> bool:
    """Whether a word that is no function word says anything: not a mark, a letter, ``doesn't``."""
    return len(word) > 1 and word[0].isalnum() and not word.endswith("n't")
