"""Verification: whether what was said bears a statement out."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dialogist.language.people import NICKNAMES, SHORT_FORMS, has_names, name_mentions
from dialogist.language.quantities import HALF_DAY, Quantity, may_hold, quantities
from dialogist.language.tokens import OPENERS, folded, words_in
from dialogist.records import Utterance


class Judgement(NamedTuple):
    """How likely the evidence bears a statement out, None: not known; and why, in plain words."""

    probability: float | None
    reasons: tuple[str, ...] = ()


class Verifier(Protocol):
    """Judges statements by the utterances that they rest on."""

    def verify(self, evidence: Sequence[Utterance], statement: str) -> Judgement:
        """Whether the utterances, in their order, bear the statement out."""
        ...


class SureRules:
    """Complains of a number or a name that is not in the evidence, and of nothing else."""

    def verify(self, evidence: Sequence[Utterance], statement: str) -> Judgement:
        """0 with a reason for each such number and name; else it cannot tell."""
        text = "\n".join(f"{u.speaker}: {u.text}" for u in evidence)
        missing = dict.fromkeys((*_numbers(text, statement), *_names(text, statement)))
        reasons = tuple(f"nobody says {words}" for words in missing)
        return Judgement(0.0 if reasons else None, reasons)


def _numbers(text: str, statement: str) -> Iterator[str]:
    if may_hold(statement):
        stated = StatedNumbers.of(quantities(text))
        for number in quantities(statement):
            if not stated.support(number):
                yield statement[number.start : number.end]


def _names(text: str, statement: str) -> Iterator[str]:
    if not has_names(statement):
        return
    words = {folded(word) for word in words_in(text)}
    words |= {part for word in words for part in word.replace("’", "'").split("'")}
    for name in name_mentions(statement):
        for word in name.words:
            known = {word, *NICKNAMES.get(word, ()), *SHORT_FORMS.get(word, ())}
            if words.isdisjoint(known) and word not in OPENERS and word.isalpha():
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
        said = times | vague | {time % HALF_DAY for time in times}
        for value in tuple(values):
            known, unknown = _as_time(value)
            times |= known
            vague |= unknown
        for place in said:
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
