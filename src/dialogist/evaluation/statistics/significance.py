"""Is one system better than another, or is it chance? Two systems on the same dialogues.

* **Paired bootstrap** (Koehn 2004): both figures from the same samples of dialogues. It gives the
  difference its interval, and says how often the better system stays the better.
* **Approximate randomisation** (Noreen 1989; Riezler & Maxwell 2005): were the systems alike, any
  output could as well be the other's. So the outputs of each dialogue are swapped by lot, and p is
  how often the difference is at least as large as it is. Where all swaps are fewer than the random
  ones that were asked for, each is made once: p is then exact.
* **Holm** (1979): who tests five systems finds one in twenty "better" by chance too often.
* **The least difference noted**: what two systems would have had to differ by, on these dialogues,
  for this table to call it more than chance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from dialogist.evaluation.scoring.scores import Scores
from dialogist.evaluation.statistics.pairing import paired
from dialogist.evaluation.statistics.resampling import (
    DEFAULT,
    Resampling,
    figures_of,
    pieces,
    resampled_figures,
)
from dialogist.metrics.base import Floats

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


def compare(one: Scores, other: Scores, options: Resampling = DEFAULT) -> dict[str, Difference]:
    """The difference of every column that both have, by key.

    Raises:
        UsageError: they do not hold the same dialogues, or were measured in different ways.
    """
    first, second = paired(one, other)
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
    systems: Sequence[Scores], against: Scores, options: Resampling = DEFAULT
) -> list[dict[str, Difference]]:
    """Every system beside one, ``p_corrected`` for the number of them; raises as `compare`."""
    found = [compare(system, against, options) for system in systems]
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
        figures = figures_of(one.columns, sums - change)
        others = figures_of(one.columns, other_sums + change)
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
    for begin, end in pieces(options.swaps, outputs):
        yield generator.integers(0, 2, size=(end - begin, outputs), dtype=np.int8).astype(float)
