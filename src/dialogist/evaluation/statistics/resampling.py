"""How far a figure could lie elsewhere by chance: bootstrap intervals of every column.

Outputs are drawn with replacement, as many as there are, and the figure is made of these, again and
again (Efron & Tibshirani 1993, chapters 13 and 14). The unit drawn is the dialogue, with all that
was measured of it; so an interval tells what other dialogues of the same kind would do to the
figure. It knows nothing of other seeds in training, nor of other people's references.

All columns see the same draws, and a column's interval does not hang on which others there are.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from dialogist.errors import UsageError
from dialogist.evaluation.scoring.scores import Scores
from dialogist.metrics.base import Column, Floats

_CELLS = 1 << 20  # numbers of a table at once: 20,000 outputs must not cost gigabytes
_NORMAL = NormalDist()

Method: TypeAlias = Literal["percentile", "bca"]


@dataclass(frozen=True, slots=True)
class Resampling:
    """How chance is weighed.

    ``samples``: bootstrap samples; ``swaps``: random swaps of two systems' outputs; ``level``: the
    part of intervals that should hold the true figure. ``method``: ``bca`` corrects bias and skew
    (Efron 1987), ``percentile`` does not.

    Raises:
        UsageError: too few samples for the level, or no such level.
    """

    samples: int = 1_000
    swaps: int = 10_000
    seed: int = 1
    level: float = 0.95
    method: Method = "bca"

    def __post_init__(self) -> None:
        if not 0.5 <= self.level < 1:
            raise UsageError(f"level {self.level}: say a part from 0.5 to below 1, such as 0.95")
        least = round(10 / (1 - self.level))
        for name, count in (("samples", self.samples), ("swaps", self.swaps)):
            if count < least:
                raise UsageError(f"{name} {count}: level {self.level} needs at least {least}")
        if self.seed < 0:
            raise UsageError(f"seed {self.seed}: say 0 or more")

    @property
    def signature(self) -> str:
        """As it should stand under a table."""
        return (
            f"{self.level:.0%} intervals: {self.method} bootstrap over dialogues, "
            f"{self.samples} samples, seed {self.seed}"
        )


DEFAULT = Resampling()


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, where it may lie, and its standard error; NaN where there is nothing to say."""

    figure: float
    low: float
    high: float
    error: float

    @property
    def half(self) -> float:
        """Half the width, for ``39.3 ± 1.2``."""
        return (self.high - self.low) / 2


def intervals(
    scores: Scores, options: Resampling = DEFAULT, keys: Sequence[str] | None = None
) -> dict[str, Interval]:
    """The interval of every column, by key (``keys``: of these only).

    A sample in which there is nothing to measure is left out. Of fewer than two outputs nothing
    can be said: low and high are NaN.

    Raises:
        KeyError: there is no such column.
    """
    chosen = [scores.column(key) for key in keys] if keys is not None else scores.columns
    if len(scores.ids) < 2:
        return {c.key: Interval(scores.figure(c.key), np.nan, np.nan, np.nan) for c in chosen}
    drawn = resampled_figures(scores, options)
    without = _without_one(scores) if options.method == "bca" else {}
    return {
        key: _interval(scores.figure(key), drawn[key], without.get(key), options)
        for key in (column.key for column in chosen)
    }


def resampled_figures(scores: Scores, options: Resampling) -> dict[str, Floats]:
    """(R,) figures of every column, of the same R samples each."""
    parts = [counts @ scores.values for counts in draws(len(scores.ids), options)]
    return figures_of(scores.columns, np.concatenate(parts))


def draws(outputs: int, options: Resampling) -> Iterator[Floats]:
    """How often each output is in each sample: (r, N) tables, together (R, N).

    The same for every system of as many outputs: so two systems' samples are pairs.
    """
    generator = np.random.default_rng(options.seed)
    for begin, end in pieces(options.samples, outputs):
        count = end - begin
        chosen = generator.integers(0, max(1, outputs), size=(count, outputs))
        chosen += outputs * np.arange(count)[:, None]
        counted = np.bincount(chosen.ravel(), minlength=count * outputs)
        yield counted.reshape(count, outputs).astype(np.float64)


def pieces(rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Begins and ends of pieces of a table of ``rows``, each small enough."""
    step = max(1, _CELLS // max(1, width))
    for begin in range(0, rows, step):
        yield begin, min(rows, begin + step)


def figures_of(columns: Sequence[Column], sums: Floats) -> dict[str, Floats]:
    """(R, W) sums of outputs' numbers -> (R,) figures of every column."""
    found: dict[str, Floats] = {}
    begin = 0
    for column in columns:
        found[column.key] = column.figure(sums[:, begin : begin + column.width])
        begin += column.width
    return found


def _interval(
    figure: float, drawn: Floats, without_one: Floats | None, options: Resampling
) -> Interval:
    told = drawn[~np.isnan(drawn)]
    if not len(told) or np.isnan(figure):
        return Interval(figure, np.nan, np.nan, np.nan)
    tail = (1 - options.level) / 2
    tails = (tail, 1 - tail)
    if without_one is not None:
        tails = _corrected(tails, figure, told, without_one)
    low, high = np.quantile(told, tails)
    return Interval(figure, float(low), float(high), float(np.std(told, ddof=1)))


def _without_one(scores: Scores) -> dict[str, Floats]:
    """(N,) figures of every column without one of the outputs (the jackknife)."""
    return figures_of(scores.columns, scores.values.sum(axis=0) - scores.values)


def _corrected(
    tails: tuple[float, float], figure: float, drawn: Floats, without_one: Floats
) -> tuple[float, float]:
    """The quantiles that correct bias and skew: equations 14.9 to 14.15 of Efron & Tibshirani."""
    below = float(np.mean(drawn < figure) + np.mean(drawn <= figure)) / 2
    if not 0 < below < 1:
        return tails  # all samples on one side, as where every output has the same figure
    bias = _NORMAL.inv_cdf(below)
    away = np.nanmean(without_one) - without_one
    spread = float(np.nansum(away**2)) ** 1.5
    skew = float(np.nansum(away**3)) / (6 * spread) if spread > 0 else 0.0
    low, high = (bias + _NORMAL.inv_cdf(tail) for tail in tails)
    if skew * low >= 1 or skew * high >= 1:
        return tails  # a handful of outputs, one far from the rest: the formula has no value there
    return (
        _NORMAL.cdf(bias + low / (1 - skew * low)),
        _NORMAL.cdf(bias + high / (1 - skew * high)),
    )
