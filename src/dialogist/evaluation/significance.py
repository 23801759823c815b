"""How sure figures and differences are: bootstrap intervals and tests of two systems.

Outputs are drawn with replacement, as many as there are, and the figure is made of these, again and
again (Efron & Tibshirani 1993, chapters 13 and 14). The unit drawn is the dialogue, with all that
was measured of it: an interval says what other dialogues of the same kind would do to the figure,
not what other seeds or references would do. All columns see the same draws.

* **Paired bootstrap** (Koehn 2004): both figures from the same samples of dialogues. It gives the
  difference its interval, and says how often the better system stays the better.
* **Approximate randomisation** (Noreen 1989; Riezler & Maxwell 2005): if the systems are alike, any
  output could be the other's. So the outputs of each dialogue are swapped at random, and p is how
  often the difference is at least as large as it is. Where all swaps are fewer than the random
  ones that were asked for, each is made once: p is then exact.
* **Holm** (1979): who tests five systems finds one in twenty "better" by chance too often.
* **The least difference noted**: what two systems would have had to differ by, on these dialogues,
  for this table to call it more than chance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from statistics import NormalDist
from typing import Literal, TypeAlias

import numpy as np

from dialogist.errors import UsageError
from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Column, Floats, percentage


def align_scores(one: Scores, other: Scores) -> tuple[Scores, Scores]:
    """Both with the columns that both have, in the order of the first.

    Raises:
        UsageError: they do not hold the same dialogues, have no column in common, or a metric has
            two signatures.
    """
    for name in sorted(set(one.signatures) & set(other.signatures)):
        if one.signatures[name] != other.signatures[name]:
            raise UsageError(
                f"{one.system} and {other.system} cannot be compared: {name} was measured in two "
                f"ways ({one.signatures[name]}; {other.signatures[name]})"
            )
    keys = [column.key for column in one.columns if column.key in other]
    if not keys:
        raise UsageError(f"{one.system} and {other.system} have no figure in common")
    if one.ids != other.ids:
        raise UsageError(
            f"{one.system} and {other.system} do not hold the same dialogues in the same order: "
            "compare them on those that both have"
        )
    return _with_columns(one, keys), _with_columns(other, keys)


def _with_columns(scores: Scores, keys: Sequence[str]) -> Scores:
    """In the order of the keys."""
    begins = accumulate((column.width for column in scores.columns), initial=0)
    places = dict(zip((column.key for column in scores.columns), begins, strict=False))
    columns = tuple(scores.column(key) for key in keys)
    numbers = [places[c.key] + i for c in columns for i in range(c.width)]
    return replace(scores, columns=columns, values=scores.values[:, numbers])


_CELLS = 1 << 20  # numbers of a table at once: 20,000 outputs must not cost gigabytes
_NORMAL = NormalDist()

Method: TypeAlias = Literal["percentile", "bca"]


@dataclass(frozen=True, slots=True)
class Resampling:
    """How chance is weighed.

    ``samples``: bootstrap samples; ``swaps``: random swaps of two systems' outputs; ``level``: the
    part of intervals that should hold the true figure. ``method``: ``bca`` corrects bias and skew
    (Efron 1987), ``percentile`` does not.
    """

    samples: int = 1_000
    swaps: int = 10_000
    seed: int = 1
    level: float = 0.95
    method: Method = "bca"

    @property
    def signature(self) -> str:
        """As it should stand under a table."""
        return (
            f"{self.level:.0%} intervals: {self.method} bootstrap over dialogues, "
            f"{self.samples} samples, seed {self.seed}; Wilson's where all samples are alike"
        )


DEFAULT_RESAMPLING = Resampling()


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, where it may lie, and its standard error; NaN where there is nothing to say."""

    figure: float
    low: float
    high: float
    error: float


def intervals(
    scores: Scores, options: Resampling = DEFAULT_RESAMPLING, keys: Sequence[str] | None = None
) -> dict[str, Interval]:
    """The interval of every column, by key (``keys``: of these only).

    A sample in which there is nothing to measure is left out. Of fewer than two outputs nothing
    can be said: low and high are NaN. Where all samples have the same percentage, as 0 of 30, the
    interval is Wilson's (1927) of as many outputs as have one: the bootstrap's has no width.

    Raises:
        KeyError: there is no such column.
    """
    chosen = [scores.column(key) for key in keys] if keys is not None else scores.columns
    if len(scores.ids) < 2:
        return {c.key: Interval(scores.figure(c.key), np.nan, np.nan, np.nan) for c in chosen}
    drawn = resampled_figures(scores, options)
    without = _without_one(scores) if options.method == "bca" else {}
    found = {}
    for column in chosen:
        key = column.key
        found[key] = _interval(scores.figure(key), drawn[key], without.get(key), options)
        if column.figure is percentage and found[key].low == found[key].high:
            outputs = int(np.sum(~np.isnan(scores.each(key))))
            found[key] = wilson_interval(found[key].figure, outputs, options.level)
    return found


def wilson_interval(percent: float, total: int, level: float = 0.95) -> Interval:
    """The score interval of a share of ``total``, in percent (Wilson 1927)."""
    z = _NORMAL.inv_cdf((1 + level) / 2)
    share, scale = percent / 100, 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    error = np.sqrt(share * (1 - share) / total + z * z / (4 * total**2)) / scale
    low, high = (round(100 * float(end), 9) for end in (middle - z * error, middle + z * error))
    return Interval(percent, low, high, 100 * float(error))


def resampled_figures(scores: Scores, options: Resampling) -> dict[str, Floats]:
    """(R,) figures of every column, of the same R samples each."""
    parts = [counts @ scores.values for counts in bootstrap_counts(len(scores.ids), options)]
    return scored_figures(scores.columns, np.concatenate(parts))


def bootstrap_counts(outputs: int, options: Resampling) -> Iterator[Floats]:
    """How often each output is in each sample: (r, N) tables, together (R, N).

    The same for every system of as many outputs: so two systems' samples are pairs.
    """
    generator = np.random.default_rng(options.seed)
    for begin, end in row_blocks(options.samples, outputs):
        count = end - begin
        chosen = generator.integers(0, max(1, outputs), size=(count, outputs))
        chosen += outputs * np.arange(count)[:, None]
        counted = np.bincount(chosen.ravel(), minlength=count * outputs)
        yield counted.reshape(count, outputs).astype(np.float64)


def row_blocks(rows: int, width: int) -> Iterator[tuple[int, int]]:
    """Begins and ends of pieces of a table of ``rows``, each small enough."""
    step = max(1, _CELLS // max(1, width))
    for begin in range(0, rows, step):
        yield begin, min(rows, begin + step)


def scored_figures(columns: Sequence[Column], sums: Floats) -> dict[str, Floats]:
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
    return scored_figures(scores.columns, scores.values.sum(axis=0) - scores.values)


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


_ROUNDING = 1e-10  # swapped sums differ from equal ones in the last digits: these are ties


@dataclass(frozen=True, slots=True)
class Difference:
    """How two systems differ in one column, over ``outputs`` dialogues: figure of one - other's.

    ``low`` and ``high``: the paired bootstrap's interval (percentiles). ``wins``: the part of its
    samples in which one has the higher figure (a tie is half a win). ``p_bootstrap``: two-sided,
    the samples' differences moved to mean 0. ``p``: two-sided, approximate randomisation; ``exact``
    where all swaps were made. ``p_corrected``: p after Holm's correction for the comparisons of
    the same table; p where there is one.

    ``least``: the least difference noted, z x the standard error of the paired difference; a true
    difference of that size would be found one time in two, of 1.43 times that size four in five.
    All are NaN where a figure is.
    """

    key: str
    one: str
    other: str
    outputs: int
    difference: float
    low: float
    high: float
    wins: float
    p_bootstrap: float
    p: float
    exact: bool
    p_corrected: float
    least: float


def compare_scores(
    one: Scores, other: Scores, options: Resampling = DEFAULT_RESAMPLING
) -> dict[str, Difference]:
    """The difference of every column that both have, by key.

    Raises:
        UsageError: they do not hold the same dialogues, or were measured in different ways.
    """
    first, second = align_scores(one, other)
    drawn, drawn_other = (resampled_figures(scores, options) for scores in (first, second))
    swapped, exact = _swapped(first, second, options)
    found = {}
    for key in (column.key for column in first.columns):
        figures = (first.figure(key), second.figure(key))
        p = _p_by_swaps(figures, swapped[key], exact)
        found[key] = Difference(
            key=key,
            one=one.system,
            other=other.system,
            outputs=len(first.ids),
            difference=figures[0] - figures[1],
            **_bootstrapped(figures, drawn[key] - drawn_other[key], options),
            p=p,
            exact=exact,
            p_corrected=p,
        )
    return found


def compare_all(
    systems: Sequence[Scores], against: Scores, options: Resampling = DEFAULT_RESAMPLING
) -> list[dict[str, Difference]]:
    """Every system beside one, ``p_corrected`` for their number; raises as `compare_scores`."""
    found = [compare_scores(system, against, options) for system in systems]
    for key in {key for one in found for key in one}:
        having = [one for one in found if key in one]
        corrected = holm([one[key].p for one in having])
        for one, p in zip(having, corrected, strict=True):
            one[key] = replace(one[key], p_corrected=p)
    return found


def holm(values: Sequence[float]) -> list[float]:
    """Holm's correction of p-values: each times how many are no smaller, never falling, at most 1.

    NaN is no test: it stays NaN and does not count.
    """
    order = sorted((i for i, p in enumerate(values) if not np.isnan(p)), key=lambda i: values[i])
    corrected, least = [np.nan] * len(values), 0.0
    for place, i in enumerate(order):
        least = max(least, min(1.0, (len(order) - place) * values[i]))
        corrected[i] = least
    return corrected


def _bootstrapped(
    figures: tuple[float, float], drawn: Floats, options: Resampling
) -> dict[str, float]:
    """What (R,) differences of samples say: the fields of a `Difference` that come from them."""
    difference = figures[0] - figures[1]
    told = drawn[~np.isnan(drawn)]
    if not len(told) or np.isnan(difference):
        return dict.fromkeys(("low", "high", "wins", "p_bootstrap", "least"), np.nan)
    tail = (1 - options.level) / 2
    low, high = np.quantile(told, (tail, 1 - tail))
    tie = _tie(figures)
    far = int(np.sum(np.abs(told - told.mean()) >= abs(difference) - tie))
    error = float(np.std(told, ddof=1))
    return {
        "low": float(low),
        "high": float(high),
        "wins": float(np.mean(told > tie) + np.mean(told >= -tie)) / 2,
        "p_bootstrap": (far + 1) / (len(told) + 1),
        "least": NormalDist().inv_cdf(1 - tail) * error,
    }


def _p_by_swaps(figures: tuple[float, float], swapped: Floats, exact: bool) -> float:
    difference = figures[0] - figures[1]
    told = swapped[~np.isnan(swapped)]
    if not len(told) or np.isnan(difference):
        return float("nan")
    far = int(np.sum(np.abs(told) >= abs(difference) - _tie(figures)))
    # What was seen is one of the ways to swap (Phipson & Smyth 2010): random swaps lack it.
    return far / len(told) if exact else (far + 1) / (len(told) + 1)


def _tie(figures: tuple[float, float]) -> float:
    return _ROUNDING * (abs(figures[0]) + abs(figures[1]))


def _swapped(one: Scores, other: Scores, options: Resampling) -> tuple[dict[str, Floats], bool]:
    """(R,) differences after each swap by column, and whether these are all swaps there are.

    Outputs with the same numbers on both sides are left alone: to swap them changes nothing.
    """
    moved = one.values - other.values
    moved = moved[(moved != 0).any(axis=1)]
    exact = 2 ** len(moved) <= options.swaps
    sums, other_sums = one.values.sum(axis=0), other.values.sum(axis=0)
    parts: dict[str, list[Floats]] = {column.key: [] for column in one.columns}
    for swaps in _every_swap(len(moved)) if exact else _some_swaps(len(moved), options):
        change = swaps @ moved
        figures = scored_figures(one.columns, sums - change)
        others = scored_figures(one.columns, other_sums + change)
        for key, part in parts.items():
            part.append(figures[key] - others[key])
    return {key: np.concatenate(part) for key, part in parts.items()}, exact


def _every_swap(outputs: int) -> Iterator[Floats]:
    """(2**M, M) zeros and ones: each output swapped or not."""
    numbers = np.arange(2**outputs)[:, None]
    yield (numbers >> np.arange(outputs) & 1).astype(np.float64)


def _some_swaps(outputs: int, options: Resampling) -> Iterator[Floats]:
    """The same by lot, piece by piece."""
    generator = np.random.default_rng(options.seed)
    for begin, end in row_blocks(options.swaps, outputs):
        yield generator.integers(0, 2, size=(end - begin, outputs), dtype=np.int8).astype(float)
