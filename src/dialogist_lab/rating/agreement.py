"""How far several raters agree: Krippendorff's alpha, and the plain share of equal answers.

Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011): 1 - observed / expected
disagreement, 1 at full agreement, 0 at what chance gives, for any number of raters and with
answers missing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from dialogist.metrics.base import Floats


@dataclass(frozen=True, slots=True)
class Agreement:
    """``items``: those that two raters or more answered. Of these alone all figures are.

    ``same``: the share of pairs of answers to an item that are equal, 0-100. ``alpha`` is NaN
    where all answers are the same, for then there is nothing to agree about.
    """

    items: int
    same: float
    alpha: float


def agreement(values: Floats, *, ordered: bool) -> Agreement:
    """(raters, items) answers as numbers, NaN where there is none.

    ``ordered``: whether neighbouring values disagree less than distant ones (ordinal; else
    nominal).
    """
    units = [tuple(column[~np.isnan(column)]) for column in values.T]
    units = [unit for unit in units if len(unit) > 1]
    if not units:
        return Agreement(0, math.nan, math.nan)
    pairs = [bool(one == other) for unit in units for one, other in combinations(unit, 2)]
    return Agreement(len(units), 100 * sum(pairs) / len(pairs), _alpha(units, ordered))


def _alpha(units: Sequence[tuple[float, ...]], ordered: bool) -> float:
    levels = sorted({value for unit in units for value in unit})
    found = _coincidences(units, levels)
    totals = found.sum(axis=1)
    expected = np.outer(totals, totals) - np.diag(totals)
    distance = _ordinal(totals) if ordered else 1 - np.eye(len(levels))
    chance = (expected * distance).sum()
    if chance == 0:
        return math.nan
    return float(1 - (totals.sum() - 1) * (found * distance).sum() / chance)


def _coincidences(units: Sequence[tuple[float, ...]], levels: Sequence[float]) -> Floats:
    """(levels, levels) how often two values meet in a unit, each value counting once."""
    found = np.zeros((len(levels), len(levels)))
    for unit in units:
        counts = np.array([unit.count(level) for level in levels], dtype=float)
        found += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    return found


def _ordinal(totals: Floats) -> Floats:
    """(levels, levels) squared distances in ranks, by how many values lie between."""
    ranks = np.cumsum(totals) - totals / 2
    squared: Floats = (ranks[:, None] - ranks[None, :]) ** 2
    return squared
