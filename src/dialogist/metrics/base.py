"""What a metric is: it turns each output into a few numbers that can be added up.

A figure of a corpus is a function of their sum, so means, ratios of sums and BLEU alike can be
resampled, which confidence intervals and tests of a difference need (`evaluation.significance`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.records import Dialogue

Floats: TypeAlias = NDArray[np.float64]

Better: TypeAlias = Literal["higher", "lower", "neither"]
"""Which way is better; ``neither`` where a human's value is (length, novelty)."""


@dataclass(frozen=True, slots=True)
class Case:
    """One output to be measured: what a system said about a dialogue.

    ``references`` are those that say something, one or more. ``dialogue`` is None where only
    outputs and references are known. ``key_points`` are the labels that the system itself wrote by,
    None where it has none.
    """

    prediction: str
    references: tuple[str, ...]
    dialogue: Dialogue | None = None
    key_points: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One figure: its name and how it is made of the sums.

    ``key`` is stable and unique (``rouge1.f1``); ``title`` is for people (``R1``). ``width``: how
    many numbers an output has for it. ``figure``: (R, width) sums -> (R,) figures, NaN where there
    is nothing to measure. ``unit``: ``%`` of 0-100, or what is counted.
    """

    key: str
    title: str
    better: Better
    width: int
    figure: Callable[[Floats], Floats]
    unit: str = "%"


class Metric(Protocol):
    """Measures outputs one by one; picklable, for several processes share the work."""

    @property
    def name(self) -> str:
        """Short and unique: ``rouge``."""

    @property
    def signature(self) -> str:
        """How the figures came about, to the version."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """What it measures."""

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output: those of the first column, then those of the second ..."""


def mean_column(key: str, title: str, better: Better, unit: str = "%") -> Column:
    """The mean over the outputs that have a value: each has the numbers of `mean_of`."""
    return Column(key, title, better, 2, ratio, unit)


def mean_of(value: float | None) -> tuple[float, float]:
    """The numbers of a `mean_column`; None is left out of the mean."""
    return (0.0, 0.0) if value is None else (value, 1.0)


def ratio(sums: Floats) -> Floats:
    """(R, 2) -> (R,): the first by the second, NaN where that is 0."""
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(sums[:, 1] != 0, sums[:, 0] / sums[:, 1], np.nan)
    return found


def percentage(sums: Floats) -> Floats:
    """(R, 2) -> (R,): `ratio` x 100, for counts."""
    return 100 * ratio(sums)
