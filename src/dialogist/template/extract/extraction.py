"""`extract`: everything that a dialogue itself says for a template, in the dialogue's language."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from dialogist.records import Dialogue
from dialogist.template.extract.actions import actions_in
from dialogist.template.extract.chinese import (
    chinese_actions,
    chinese_decisions,
    chinese_questions,
)
from dialogist.template.extract.decisions import decisions_in
from dialogist.template.extract.questions import questions_in
from dialogist.template.extract.turns import Found, Turns, turns_of
from dialogist.text.function_words import FUNCTION_WORDS
from dialogist.text.languages import language_of
from dialogist.text.stems import stem_of
from dialogist.text.tokens import bases_of

_SAME = 0.6  # of the words of the shorter one: then two texts say the same


@dataclass(frozen=True, slots=True)
class Extracted:
    """The decisions, actions and open questions of a dialogue, in the order they are said."""

    decisions: tuple[Found, ...] = ()
    actions: tuple[Found, ...] = ()
    questions: tuple[Found, ...] = ()


_Finder = Callable[[Turns], Iterable[Found]]
_FINDERS: dict[str, tuple[_Finder, _Finder, _Finder]] = {
    "en": (decisions_in, actions_in, questions_in),
    "zh": (chinese_decisions, chinese_actions, chinese_questions),
}


def extract(dialogue: Dialogue) -> Extracted:
    """What the dialogue says is decided, to be done, and open; nothing in other languages.

    English and Chinese are told apart by what is said. What is said twice is there once, with the
    evidence of both places.
    """
    finders = _FINDERS.get(language_of("\n".join(u.text for u in dialogue.utterances)))
    if finders is None:
        return Extracted()
    turns = turns_of(dialogue)
    return Extracted(*(tuple(_distinct(find(turns))) for find in finders))


def same(one: str, other: str) -> bool:
    """Whether two texts say the same: most content words of the shorter are in the longer."""
    words, others = sorted((_content(one), _content(other)), key=len)
    return bool(words) and len(words & others) >= _SAME * len(words)


def _content(text: str) -> frozenset[str]:
    bases = (base for base in bases_of(text) if base not in FUNCTION_WORDS and len(base) > 1)
    words = frozenset(stem_of(base) for base in bases)
    return words or frozenset(c for c in text if c.isalnum())


def _distinct(found: Iterable[Found]) -> Iterator[Found]:
    kept: list[Found] = []
    for one in found:
        for place, other in enumerate(kept):
            if one.owner == other.owner and same(one.text, other.text):
                kept[place] = _joined(other, one)
                break
        else:
            kept.append(one)
    yield from kept


def _joined(first: Found, again: Found) -> Found:
    """The wording of the later one where it is the first with a deadline: it is more exact."""
    later = bool(again.deadline) and not first.deadline
    best, other = (again, first) if later else (first, again)
    return Found(best.text, (*best.evidence, *other.evidence), best.owner, best.deadline)
