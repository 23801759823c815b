"""Verification: whether what was said bears a statement out."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from dialogist.language.people import NICKNAMES, SHORT_FORMS, has_names, name_mentions
from dialogist.language.quantities import HALF_DAY, Quantity, may_hold, quantities
from dialogist.language.tokens import OPENERS, folded, stem_of
from dialogist.records import Dialogue, Statement, Utterance, Verdict

_DIGITS = re.compile(r"\d+")
_COUNTED = 12  # things that a summary may have counted itself


class Judgement(NamedTuple):
    """Whether the dialogue bears a statement out (None: not known), and why, in plain words.

    ``probability``: how likely it does, where a verifier says.
    """

    verdict: Verdict | None
    reasons: tuple[str, ...] = ()
    probability: float | None = None


class Verifier(Protocol):
    """Judges statements by the utterances that they rest on."""

    @property
    def name(self) -> str: ...

    def verify(self, dialogue: Dialogue, statements: Sequence[Statement]) -> list[Judgement]:
        """Whether the dialogue bears each statement out, given their evidence; in their order."""
        ...


class SureRules:
    """Complains of a number or a name that nobody says, and of nothing else."""

    def __init__(self, evidence: Sequence[Utterance]) -> None:
        """``evidence``: what was said, and what else is known."""
        self._text = "\n".join(f"{u.speaker} {u.role}: {u.text}" for u in evidence)

    @cached_property
    def _stated(self) -> "StatedNumbers":
        return StatedNumbers.of(quantities(self._text))

    @cached_property
    def _digits(self) -> set[str]:
        return set(_DIGITS.findall(self._text))

    @cached_property
    def _letters(self) -> str:
        return "".join(filter(str.isalnum, folded(self._text)))

    def complaints(self, statement: str) -> tuple[str, ...]:
        """A reason for each number and name of the statement that nobody says."""
        missing = dict.fromkeys((*self._numbers(statement), *self._names(statement)))
        return tuple(f"nobody says {words}" for words in missing)

    def _numbers(self, statement: str) -> Iterator[str]:
        if may_hold(statement):
            for number in quantities(statement):
                words = statement[number.start : number.end]
                digits = set(_DIGITS.findall(words))
                if not digits and max(number.values, default=0) <= _COUNTED:
                    continue  # "two photos": a summary may count
                if not ((digits and digits <= self._digits) or self._stated.support(number)):
                    yield words

    def _names(self, statement: str) -> Iterator[str]:
        """Words of names whose letters are nowhere: "uscellular" says "US Cellular"."""
        if not has_names(statement):
            return
        for name in name_mentions(statement):
            for word in name.words:
                known = {word, *NICKNAMES.get(word, ()), *SHORT_FORMS.get(word, ())}
                bare = {k.removesuffix("'s").removesuffix("’s") for k in known}
                stems = bare | set(map(stem_of, bare))  # the stem of "delroy" is "delroi"
                if word in OPENERS or not word.isalpha():
                    continue
                if not any(stem and stem in self._letters for stem in stems):
                    yield statement[name.start : name.end]


@dataclass(frozen=True, slots=True)
class StatedNumbers:
    """The numbers and times of a text: see `Quantity`."""

    values: frozenset[float]
    times: frozenset[int]
    vague: frozenset[int]

    @classmethod
    def of(cls, quantities: Iterable[Quantity]) -> "StatedNumbers":
        """All that some quantities may mean: a bare 5 may be the hour, 5 o'clock the bare 5."""
        values, times, vague = {1.0}, set[int](), set[int]()
        for quantity in quantities:
            values |= {*quantity.values, *quantity.parts}
            times |= quantity.times
            vague |= quantity.vague
        moments = times | vague | {time % HALF_DAY for time in times}
        for value in tuple(values):
            known, unknown = _as_time(value)
            times |= known
            vague |= unknown
        for place in moments:
            hour, minute = divmod(place, 60)
            values.add(100.0 * hour + minute)
            if not minute:
                values.add(float(hour or 12))
        return cls(frozenset(values), frozenset(times), frozenset(vague))

    def support(self, quantity: Quantity) -> bool:
        """Whether one of the readings of ``quantity`` is here, or all its parts are."""
        halves = {time % HALF_DAY for time in self.times}
        return bool(
            not quantity.values.isdisjoint(self.values)
            or not quantity.times.isdisjoint(self.times)
            or not self.vague.isdisjoint(time % HALF_DAY for time in quantity.times)
            or not quantity.vague.isdisjoint(self.vague | halves)
            or (quantity.parts and self.values.issuperset(quantity.parts))
        )


def _as_time(value: float) -> tuple[set[int], set[int]]:
    """The times that a number may be: 5, 17, 530, 1730, 5.30; sure ones, and of either half."""
    if value <= 24:
        hour, minute = int(value), round(value % 1 * 100)
    else:
        hour, minute = divmod(int(value), 100) if value < 2500 else (25, 0)
    if not (0 < hour <= 24 and minute < 60):
        return set(), set()
    place = hour * 60 + minute
    return ({place % (2 * HALF_DAY)}, set()) if hour > 12 else (set(), {place % HALF_DAY})
