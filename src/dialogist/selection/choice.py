"""Which statements a summary holds: the most likely ones that a budget of words has room for."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dialogist.selection.statements import Candidate
from dialogist.selection.units import Unit

LEAST = 0.15
"""The chance below which a statement is left out even where there is room."""

_ISSUE = 0.7  # of the budget: the best statement of the first quarter, why they talk at all
_BEGINNING = 0.25


def chosen(
    candidates: Sequence[Candidate],
    chances: Sequence[float],
    units: Sequence[Unit],
    budget: int,
    with_issue: bool = False,
) -> list[int]:
    """The numbers of the chosen candidates; at least one where one has room.

    ``with_issue``: the best of the beginning is among them. It costs other facts.
    """
    values = np.array(chances, dtype=np.float64)
    words = np.array([one.words for one in candidates], dtype=np.int64)
    likely = [i for i, value in enumerate(values) if value >= LEAST]
    usable = likely or ([int(values.argmax())] if len(values) else [])
    begin = [i for i in _beginning(candidates, units) if words[i] <= _ISSUE * budget]
    kept = [max(begin, key=lambda i: values[i])] if with_issue and begin else []
    rest = [i for i in usable if i not in kept]
    left = budget - int(words[kept].sum())
    return sorted(kept + _packed(rest, values * np.sqrt(np.maximum(words, 1)), words, left))


def _beginning(candidates: Sequence[Candidate], units: Sequence[Unit]) -> list[int]:
    """The candidates of the first quarter of a dialogue that ask nothing."""
    words = [unit.words for unit in units]
    upto = np.cumsum(words) - words
    return [
        i
        for i, one in enumerate(candidates)
        if upto[one.units[0]] < _BEGINNING * sum(words)
        and not any("?" in units[unit].text for unit in one.units)
    ]


def _packed(
    usable: Sequence[int], values: NDArray[np.float64], words: NDArray[np.int64], budget: int
) -> list[int]:
    """The subset of the greatest value that is not longer than the budget (0/1 knapsack)."""
    best = np.zeros(budget + 1)
    took = np.zeros((len(usable), budget + 1), dtype=bool)
    for k, i in enumerate(usable):
        cost = words[i]
        if cost <= budget:
            new = best[: budget + 1 - cost] + values[i]
            better = new > best[cost:]
            took[k, cost:] = better
            best[cost:] = np.where(better, new, best[cost:])
    found, left = [], budget
    for k in range(len(usable) - 1, -1, -1):
        if took[k, left]:
            found.append(usable[k])
            left -= words[usable[k]]
    return found
