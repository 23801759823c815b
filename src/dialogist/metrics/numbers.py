"""Whether a dialogue holds a number or a time, in digits or in words."""

from collections.abc import Iterable
from dataclasses import dataclass

from dialogist.text.quantities import HALF_DAY, Quantity


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers and times of a text: see `Quantity`."""

    values: frozenset[float]
    times: frozenset[int]
    vague: frozenset[int]

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


def numbers_of(quantities: Iterable[Quantity]) -> Numbers:
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
    return Numbers(frozenset(values), frozenset(times), frozenset(vague))


def _as_time(value: float) -> tuple[set[int], set[int]]:
    """The times that a number may be: 5, 17, 530, 1730, 5.30."""
    if value <= 24:
        hour, minute = int(value), round(value % 1 * 100)
    else:
        hour, minute = divmod(int(value), 100) if value < 2500 else (25, 0)
    if not (0 < hour <= 24 and minute < 60):
        return set(), set()
    place = hour * 60 + minute
    return ({place % (2 * HALF_DAY)}, set()) if hour > 12 else (set(), {place % HALF_DAY})
