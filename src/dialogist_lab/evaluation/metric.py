"""What a metric is, what it measured of a system's outputs, and how sure that is."""

import math
import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import bootstrap, permutation_test

from dialogist.errors import DataError, DialogistError, UsageError
from dialogist.language.tokens import words_in
from dialogist.records import Dialogue

Floats: TypeAlias = NDArray[np.float64]

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_CJK_LETTER = re.compile(f"[{CJK}]")


def is_cjk(texts: Sequence[str]) -> bool:
    """Whether most words of some texts are Chinese or Japanese characters."""
    words = [word for text in texts for word in words_in(text)]
    return 2 * sum(_CJK_LETTER.match(word) is not None for word in words) > len(words)


@dataclass(frozen=True, slots=True)
class Case:
    """An output to be measured: a system's prediction beside one or more references.

    ``dialogue`` is None where only texts are known, ``key_points`` where the system had no plan.
    """

    prediction: str
    references: tuple[str, ...]
    dialogue: Dialogue | None = None
    key_points: tuple[str, ...] | None = None


def ratio(sums: Floats) -> Floats:
    """(R, 2) -> (R,): the first by the second, NaN where that is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(sums[:, 1] != 0, sums[:, 0] / sums[:, 1], np.nan))


@dataclass(frozen=True, slots=True)
class MetricColumn:
    """A figure: its key (``rouge1.f1``), its title in tables (``R1``), and how it is made.

    ``better``: ``neither`` where a human's value is (length, novelty). Each output has ``width``
    numbers for it. ``figure`` makes (R, width) sums of these into (R,) figures, NaN where there is
    nothing to measure; `ratio` makes means and shares.
    """

    key: str
    title: str
    better: Literal["higher", "lower", "neither"] = "higher"
    width: int = 2
    figure: Callable[[Floats], Floats] = ratio


def mean_of(value: float | None) -> tuple[float, float]:
    """The numbers of a mean for `ratio`; None is left out of the mean."""
    return (0.0, 0.0) if value is None else (value, 1.0)


def share_of(count: float, total: float) -> tuple[float, float]:
    """The numbers of a percentage for `ratio`."""
    return 100.0 * count, float(total)


PARTS = ("precision", "recall", "f1")


def triple_columns(stem: str, title: str) -> tuple[MetricColumn, ...]:
    """Columns ``STEM.precision``, ``STEM.recall`` and ``STEM.f1``."""
    titles = (f"{title} P", f"{title} R", title)
    return tuple(MetricColumn(f"{stem}.{part}", t) for part, t in zip(PARTS, titles, strict=True))


class Metric(ABC):
    """Turns each output into a few numbers; figures of a corpus are functions of their sums.

    So means, shares and BLEU alike can be resampled. ``signature`` says how the figures came about,
    to the version. ``only_latin``: it finds no words in other scripts.
    """

    name: str
    signature: str
    columns: tuple[MetricColumn, ...]
    only_latin: bool = False

    @abstractmethod
    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output: those of the first column, then those of the second ...

        Numbers are 0 where nothing can be measured, such as without a dialogue.
        """

    def measure_all(self, cases: Sequence[Case]) -> list[Sequence[float]]:
        """The numbers of all outputs, in their order."""
        return [self.measure(case) for case in cases]


@dataclass(frozen=True, slots=True)
class Scores:
    """What was measured of N outputs: by key the (N, width) numbers of a column.

    ``signatures``: by metric, how its figures came about.
    """

    system: str
    ids: tuple[str, ...]
    columns: Mapping[str, MetricColumn]
    numbers: Mapping[str, Floats]
    signatures: Mapping[str, str]

    def figure(self, key: str) -> float:
        """The figure of all outputs, NaN where there is nothing to measure."""
        return float(self.columns[key].figure(self.numbers[key].sum(axis=0, keepdims=True))[0])

    def each(self, key: str) -> Floats:
        """(N,) figures of every output alone, NaN where it has none."""
        return self.columns[key].figure(self.numbers[key])


def score(
    system: str, cases: Sequence[Case], ids: Sequence[str], metrics: Sequence[Metric]
) -> Scores:
    """Measure outputs, each of which has a reference.

    Raises:
        DataError: a metric failed on an output.
        DialogistError: something that a metric needs is not there.
    """
    columns: dict[str, MetricColumn] = {}
    numbers: dict[str, Floats] = {}
    for metric in metrics:
        try:
            values = np.array(metric.measure_all(cases), dtype=np.float64)
        except DialogistError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise DataError(f"{system}: {metric.name} cannot measure it: {reason}") from error
        place = 0
        for column in metric.columns:
            columns[column.key] = column
            numbers[column.key] = values[:, place : place + column.width]
            place += column.width
    signatures = {metric.name: metric.signature for metric in metrics}
    return Scores(system, tuple(ids), columns, numbers, signatures)


_SAMPLES = 1_000
_SWAPS = 9_999
_SEED = 1
_CELLS = 20_000_000  # numbers that are held at a time

SIGNATURE = (
    f"95% intervals: BCa bootstrap over dialogues, {_SAMPLES:,} samples | p: permutation "
    f"test of pairs, {_SWAPS:,} swaps, exact where there are fewer | scipy, seed {_SEED}"
)
"""How intervals and tests come about."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure and where it may lie; NaN where nobody knows."""

    figure: float
    low: float = math.nan
    high: float = math.nan

    def text(self, digits: int) -> str:
        """``39.31 (38.00 to 40.40)``; ``-`` where there is nothing."""
        if math.isnan(self.figure):
            return "-"
        ends = f" ({self.low:.{digits}f} to {self.high:.{digits}f})"
        return f"{self.figure:.{digits}f}{'' if math.isnan(self.low) else ends}"


def _sampling(numbers: Floats) -> dict[str, Any]:
    batch = max(1, _CELLS // max(1, numbers.size))
    return {"batch": batch, "rng": np.random.default_rng(_SEED)}


def _resampled(column: MetricColumn, numbers: Floats, chosen: NDArray[np.intp]) -> Floats:
    """(..., N) places of outputs -> (...) figures."""
    sums = numbers[chosen].sum(axis=-2)
    return column.figure(sums.reshape(-1, column.width)).reshape(sums.shape[:-1])


def _ends(samples: Any) -> tuple[float, float]:
    """The interval; where some samples have no figure, the quantiles of the others."""
    low, high = samples.confidence_interval
    if math.isnan(low) or math.isnan(high):
        low, high = np.nanquantile(samples.bootstrap_distribution, (0.025, 0.975))
    return float(low), float(high)


def interval_of(scores: Scores, key: str) -> Interval:
    """A figure with its interval (Efron 1987); it covers other dialogues of the kind, not seeds."""
    figure, numbers, column = scores.figure(key), scores.numbers[key], scores.columns[key]
    if math.isnan(figure) or (numbers != 0).any(axis=1).sum() < 2:
        return Interval(figure)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of equal outputs, which have no interval but the figure
        samples = bootstrap(
            (np.arange(len(numbers)),),
            lambda chosen, axis: _resampled(column, numbers, chosen),
            n_resamples=_SAMPLES,
            method="BCa",
            **_sampling(numbers),
        )
    return Interval(figure, *_ends(samples))


def intervals(scores: Scores) -> dict[str, Interval]:
    """Every figure with its interval, by key."""
    return {key: interval_of(scores, key) for key in scores.columns}


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
    for scores in systems:
        if scores.ids != base.ids or scores.signatures != base.signatures:
            raise UsageError(
                f"{scores.system} and {base.system}: not the same dialogues, or not measured alike"
            )
    rows = [_difference(scores, base, key) for scores in systems]
    corrected = holm([p for *_, p in rows])
    return [
        Difference(key, scores.system, base.system, len(base.ids), *row, p)
        for scores, row, p in zip(systems, rows, corrected, strict=True)
    ]


def _difference(scores: Scores, base: Scores, key: str) -> tuple[float, float, float, float]:
    """Difference, low, high, p."""
    column, count = base.columns[key], len(base.ids)
    both = np.concatenate([scores.numbers[key], base.numbers[key]])
    places = np.arange(count), np.arange(count, 2 * count)

    def statistic(first: NDArray[np.intp], second: NDArray[np.intp], axis: int) -> Floats:
        return _resampled(column, both, first) - _resampled(column, both, second)

    difference = scores.figure(key) - base.figure(key)
    if math.isnan(difference) or count < 2:
        return difference, math.nan, math.nan, math.nan
    how: dict[str, Any] = {"paired": True, "method": "percentile", "n_resamples": _SAMPLES}
    settings = _sampling(both)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = _ends(bootstrap(places, statistic, **how, **settings))
        how = {"permutation_type": "samples", "n_resamples": _SWAPS}
        test = permutation_test(places, statistic, **how, **settings)
    return difference, low, high, float(test.pvalue)


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
