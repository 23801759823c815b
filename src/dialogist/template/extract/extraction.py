"""`extract`: everything that a dialogue itself says for a template, in the dialogue's language."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dialogist.records import Dialogue
from dialogist.template.extract.actions import actions_in
from dialogist.template.extract.chinese import (
    chinese_actions,
    chinese_decisions,
    chinese_done,
    chinese_issues,
    chinese_outcomes,
    chinese_questions,
)
from dialogist.template.extract.decisions import decisions_in
from dialogist.template.extract.done import done_in
from dialogist.template.extract.issues import issues_in
from dialogist.template.extract.open_questions import questions_in
from dialogist.template.extract.outcomes import outcomes_in
from dialogist.template.extract.superseded import standing, values_of
from dialogist.template.extract.turns import Found, Turns, turns_of
from dialogist.text.languages import language_of
from dialogist.text.porter import stem_of
from dialogist.text.tokens import FUNCTION_WORDS, bases_of

_SAME = 0.6  # of the words of the shorter one: then two texts say the same


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a dialogue itself says, each kind in the order it is said.

    ``issue``: what a customer comes with; ``done``: what was done; ``outcome``: how it ended.
    """

    decisions: tuple[Found, ...] = ()
    actions: tuple[Found, ...] = ()
    questions: tuple[Found, ...] = ()
    issue: tuple[Found, ...] = ()
    done: tuple[Found, ...] = ()
    outcome: tuple[Found, ...] = ()


def extract(dialogue: Dialogue) -> Extracted:
    """Read what a dialogue says about itself; nothing in languages but English and Chinese.

    The two are told apart by what is said. What is said twice is there once, with the evidence of
    both places; what a later utterance takes back or changes is not there.
    """
    finders = {"en": _english, "zh": _chinese}
    find = finders.get(language_of("\n".join(u.text for u in dialogue.utterances)))
    return Extracted() if find is None else find(turns_of(dialogue))


def _english(turns: Turns) -> Extracted:
    done = list(_distinct(standing(tuple(done_in(turns)), turns)))
    return Extracted(
        decisions=tuple(_distinct(standing(tuple(decisions_in(turns)), turns), last=True)),
        actions=tuple(_distinct(standing(tuple(actions_in(turns)), turns, done))),
        questions=tuple(_distinct(questions_in(turns))),
        issue=tuple(issues_in(turns)),
        done=tuple(done),
        outcome=tuple(outcomes_in(turns, tuple(done))),
    )


def _chinese(turns: Turns) -> Extracted:
    done = tuple(_distinct(chinese_done(turns)))
    return Extracted(
        decisions=tuple(_distinct(chinese_decisions(turns))),
        actions=tuple(_distinct(chinese_actions(turns))),
        questions=tuple(_distinct(chinese_questions(turns))),
        issue=tuple(chinese_issues(turns)),
        done=done,
        outcome=tuple(chinese_outcomes(turns, done)),
    )


def same(one: str, other: str) -> bool:
    """Whether two texts say the same: most content words of the shorter are in the longer."""
    words, others = sorted((_content(one), _content(other)), key=len)
    return bool(words) and len(words & others) >= _SAME * len(words)


def _content(text: str) -> frozenset[str]:
    bases = (base for base in bases_of(text) if base not in FUNCTION_WORDS and len(base) > 1)
    words = frozenset(stem_of(base) for base in bases)
    return words or frozenset(c for c in text if c.isalnum())


def _distinct(found: Iterable[Found], last: bool = False) -> Iterator[Found]:
    """Each once; ``last``: in the words of the last time, for what is settled step by step."""
    kept: list[Found] = []
    for one in found:
        for place, other in enumerate(kept):
            if one.owner == other.owner and _are_one(one, other):
                kept[place] = _joined(one, other) if last else _joined(other, one)
                break
        else:
            kept.append(one)
    yield from kept


def _are_one(one: Found, other: Found) -> bool:
    """Whether two say the same, with no different times, numbers or names."""
    pairs = [[read(found) for found in (one, other)] for read in (values_of, _names)]
    differ = any(a and b and a.isdisjoint(b) for a, b in pairs)
    return not differ and same(one.words or one.text, other.words or other.text)


def _names(one: Found) -> frozenset[str]:
    return frozenset(re.findall(r"(?<=[a-z,] )[A-Z]\w+", one.words or one.text))


def _joined(first: Found, again: Found) -> Found:
    """The wording of the first, or of the other where that alone has a deadline."""
    later = bool(again.deadline) and not first.deadline
    best, other = (again, first) if later else (first, again)
    evidence = (*best.evidence, *other.evidence)
    return Found(best.text, evidence, best.owner, best.deadline, best.words)
