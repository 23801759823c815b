"""Chance: intervals by bootstrap, differences by permutation, agreement of raters."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from nltk.metrics import AnnotationTask, binary_distance, interval_distance
from numpy.typing import NDArray
from scipy.stats import bootstrap, permutation_test

from dialogist.errors import UsageError
from dialogist_lab.evaluation.metric import Floats, Scores

SAMPLES = 1_000
SWAPS = 9_999
LEVEL = 0.95
_SEED = 1
_CELLS = 20_000_000  # numbers that are held at a time

SIGNATURE = (
    f"{LEVEL:.0%} intervals: BCa bootstrap over dialogues, {SAMPLES:,} samples | p: permutation "
    f"test of pairs, {SWAPS:,} swaps, exact where there are fewer | scipy, seed {_SEED}"
)
"""How intervals and tests come about."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and where it may lie; NaN where nobody knows."""

    figure: float
    low: float = math.nan
    high: float = math.nan

    def __str__(self) -> str:
        return self.text(2)

    def text(self, digits: int) -> str:
        """``39.31 (38.00 to 40.40)``; ``-`` where there is nothing."""
        if math.isnan(self.figure):
            return "-"
        ends = f" ({self.low:.{digits}f} to {self.high:.{digits}f})"
        return f"{self.figure:.{digits}f}{'' if math.isnan(self.low) else ends}"


def _batch(numbers: Floats) -> int:
    return max(1, _CELLS // max(1, numbers.size))


def interval_of(scores: Scores, key: str) -> Interval:
    """A figure with its interval (Efron 1987); it covers other dialogues of the kind, not seeds."""
    figure, numbers, column = scores.figure(key), scores.numbers(key), scores.column(key)
    each = numbers[(numbers != 0).any(axis=1)]
    if math.isnan(figure) or len(each) < 2:
        return Interval(figure)

    def statistic(chosen: NDArray[np.intp], axis: int) -> Floats:
        """(..., N) places of outputs -> (...) figures."""
        sums = numbers[chosen].sum(axis=-2)
        return column.figure(sums.reshape(-1, column.width)).reshape(sums.shape[:-1])

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of equal outputs, which have no interval but the figure
        samples = bootstrap(
            (np.arange(len(numbers)),),
            statistic,
            n_resamples=SAMPLES,
            batch=_batch(numbers),
            confidence_level=LEVEL,
            method="BCa",
            rng=np.random.default_rng(_SEED),
        )
    low, high = samples.confidence_interval
    if math.isnan(low) or math.isnan(high):  # BCa has no value here: the quantiles as they are
        drawn = samples.bootstrap_distribution[~np.isnan(samples.bootstrap_distribution)]
        low, high = np.quantile(drawn, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    return Interval(figure, float(low), float(high))


def intervals(scores: Scores) -> dict[str, Interval]:
    """Every figure with its interval, by key."""
    return {column.key: interval_of(scores, column.key) for column in scores.columns}


@dataclass(frozen=True, slots=True)
class Difference:
    """How far ``system`` is above ``base`` in a column.

    ``low`` and ``high``: the paired bootstrap's interval (Koehn 2004). ``p``: two-sided, by
    approximate randomization (Noreen 1989); ``p_corrected``: Holm's, for a table's comparisons.
    """

    key: str
    system: str
    base: str
    dialogues: int
    difference: float
    low: float
    high: float
    p: float
    p_corrected: float


def paired_differences(systems: Sequence[Scores], base: Scores, key: str) -> list[Difference]:
    """How every system differs from one, on the same dialogues.

    Raises:
        UsageError: they do not hold the same dialogues, or were measured in different ways.
    """
    rows = []
    for scores in systems:
        if scores.ids != base.ids or scores.signatures != base.signatures:
            raise UsageError(
                f"{scores.system} and {base.system}: not the same dialogues, or not measured alike"
            )
        rows.append(_difference(scores, base, key))
    for difference, p in zip(rows, holm([d[-1] for d in rows]), strict=True):
        difference.append(p)
    names = [(scores.system, base.system, len(base.ids)) for scores in systems]
    return [Difference(key, *name, *row) for name, row in zip(names, rows, strict=True)]


def _difference(scores: Scores, base: Scores, key: str) -> list[float]:
    """Difference, low, high, p."""
    column, count = base.column(key), len(base.ids)
    both = np.concatenate([scores.numbers(key), base.numbers(key)])

    def figures(chosen: NDArray[np.intp]) -> Floats:
        sums = both[chosen].sum(axis=-2)
        return column.figure(sums.reshape(-1, column.width)).reshape(sums.shape[:-1])

    def statistic(mine: NDArray[np.intp], others: NDArray[np.intp], axis: int) -> Floats:
        return figures(mine) - figures(others)

    mine, other = np.arange(count), np.arange(count, 2 * count)
    difference = scores.figure(key) - base.figure(key)
    if math.isnan(difference) or count < 2:
        return [difference, math.nan, math.nan, math.nan]
    settings = {"batch": _batch(both), "rng": np.random.default_rng(_SEED)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = bootstrap(
            (mine, other),
            statistic,
            paired=True,
            n_resamples=SAMPLES,
            method="percentile",
            **settings,
        )
        test = permutation_test(
            (mine, other), statistic, permutation_type="samples", n_resamples=SWAPS, **settings
        )
    return [difference, *map(float, drawn.confidence_interval), float(test.pvalue)]


def holm(values: Sequence[float]) -> list[float]:
    """Holm's correction of p-values: each times how many are no smaller, never falling, at most 1.

    NaN is no test: it stays NaN and does not count.
    """
    order = sorted((i for i, p in enumerate(values) if not math.isnan(p)), key=lambda i: values[i])
    corrected, least = [math.nan] * len(values), 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(order) - place) * values[i]))
        corrected[i] = least
    return corrected


def krippendorff_alpha(answers: Floats, ordered: bool) -> float:
    """Agreement of (raters, items) answers, NaN where there is none: 1 is full, 0 is chance.

    NaN where nothing is answered twice, or all answers are the same. ``ordered``: distant values
    disagree more (ordinal distance by ranks, Krippendorff 2011), else any two alike.
    """
    items = [item for item in range(answers.shape[1]) if np.isfinite(answers[:, item]).sum() > 1]
    given = [
        (rater, item) for item in items for rater in np.flatnonzero(np.isfinite(answers[:, item]))
    ]
    levels, counts = np.unique([answers[place] for place in given], return_counts=True)
    if len(levels) < 2:
        return math.nan
    ranks = dict(zip(levels, np.cumsum(counts) - counts / 2, strict=True))
    triples = [(int(rater), item, ranks[answers[rater, item]]) for rater, item in given]
    distance = interval_distance if ordered else binary_distance
    return float(AnnotationTask(triples, distance).alpha())
