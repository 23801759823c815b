"""What a metric is, and what it measured of a system's outputs."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.errors import DataError, DialogistError
from dialogist.records import Dialogue

Floats: TypeAlias = NDArray[np.float64]

Better: TypeAlias = Literal["higher", "lower", "neither"]
"""Which way is better; ``neither`` where a human's value is (length, novelty)."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+(?:['’][^\W{_CJK}]+)*")
_CJK_LETTER = re.compile(f"[{_CJK}]")


def words_of(text: str) -> list[str]:
    """The words of a text, punctuation left out; a Chinese or Japanese character is a word."""
    return _WORD.findall(text)


def is_cjk(texts: Sequence[str]) -> bool:
    """Whether most words of some texts are Chinese or Japanese characters."""
    words = [word for text in texts for word in words_of(text)]
    return 2 * sum(_CJK_LETTER.match(word) is not None for word in words) > len(words)


@dataclass(frozen=True, slots=True)
class Case:
    """An output to be measured: a system's prediction beside one or more references.

    ``dialogue`` is None where only texts are known. ``key_points`` are the labels that the system
    itself planned by, None where it has none.
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
    """A figure: how it is called, and how it is made of numbers that add up over outputs.

    ``key`` is stable and unique (``rouge1.f1``), ``title`` is for people (``R1``). ``width``: how
    many numbers an output has for it. ``figure``: (R, width) sums -> (R,) figures, NaN where there
    is nothing to measure; `ratio` makes means and shares. ``unit``: ``%`` of 0-100, or what is
    counted.
    """

    key: str
    title: str
    better: Better = "higher"
    unit: str = "%"
    width: int = 2
    figure: Callable[[Floats], Floats] = ratio


def mean_of(value: float | None) -> tuple[float, float]:
    """The numbers of a mean for `ratio`; None is left out of the mean."""
    return (0.0, 0.0) if value is None else (value, 1.0)


def share_of(count: float, total: float) -> tuple[float, float]:
    """The numbers of a percentage for `ratio`."""
    return 100.0 * count, float(total)


class Metric(ABC):
    """Turns each output into a few numbers; figures of a corpus are functions of their sums.

    So means, shares and BLEU alike can be resampled for intervals. ``signature`` says how the
    figures came about, to the version. ``only_latin``: it finds no words in other scripts.
    """

    name: str
    signature: str
    columns: tuple[MetricColumn, ...]
    only_latin: bool = False

    @abstractmethod
    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output: those of the first column, then those of the second ..."""

    def measure_all(self, cases: Sequence[Case]) -> list[Sequence[float]]:
        """The numbers of all outputs, in their order."""
        return [self.measure(case) for case in cases]


PARTS = ("precision", "recall", "f1")


def triple_columns(stem: str, title: str) -> tuple[MetricColumn, ...]:
    """Columns ``STEM.precision``, ``STEM.recall`` and ``STEM.f1``."""
    ends = (" P", " R", "")
    return tuple(
        MetricColumn(f"{stem}.{part}", f"{title}{end}")
        for part, end in zip(PARTS, ends, strict=True)
    )


def mean_and_best(triples: Sequence[Sequence[float]]) -> list[float]:
    """Precision, recall and F1 beside each reference -> numbers of their means, then of the best.

    The best is the one with the highest F1. Gives 12 numbers, for two `triple_columns`.
    """
    means = [fmean(values) for values in zip(*triples, strict=True)]
    best = max(triples, key=lambda triple: triple[2])
    return [number for value in (*means, *best) for number in mean_of(value)]


@dataclass(frozen=True)
class Scores:
    """What was measured of N outputs.

    ``values`` (N, W) holds the numbers of all ``columns`` side by side, W being the sum of their
    widths. ``signatures``: by metric, how its figures came about.
    """

    system: str
    ids: tuple[str, ...]
    columns: tuple[MetricColumn, ...]
    values: Floats
    signatures: Mapping[str, str]

    @cached_property
    def _places(self) -> dict[str, tuple[MetricColumn, slice]]:
        ends = np.cumsum([column.width for column in self.columns]).tolist()
        return {
            column.key: (column, slice(end - column.width, end))
            for column, end in zip(self.columns, ends, strict=True)
        }

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def column(self, key: str) -> MetricColumn:
        """The column of that key.

        Raises:
            KeyError: there is none.
        """
        return self._places[key][0]

    def numbers(self, key: str) -> Floats:
        """(N, width) numbers of a column."""
        return self.values[:, self._places[key][1]]

    def figure(self, key: str) -> float:
        """The figure of all outputs, NaN where there is nothing to measure."""
        return float(self.column(key).figure(self.numbers(key).sum(axis=0, keepdims=True))[0])

    def each(self, key: str) -> Floats:
        """(N,) figures of every output alone, NaN where it has none."""
        return self.column(key).figure(self.numbers(key))


def score(
    system: str, cases: Sequence[Case], ids: Sequence[str], metrics: Sequence[Metric]
) -> Scores:
    """Measure outputs, each of which has a reference.

    Raises:
        DataError: a metric failed on an output.
        DialogistError: something that a metric needs is not there.
    """
    tables = []
    for metric in metrics:
        try:
            rows = metric.measure_all(cases)
        except DialogistError:
            raise
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise DataError(f"{system}: {metric.name} cannot measure it: {reason}") from error
        width = sum(column.width for column in metric.columns)
        tables.append(np.array(rows, dtype=np.float64).reshape(len(cases), width))
    return Scores(
        system=system,
        ids=tuple(ids),
        columns=tuple(column for metric in metrics for column in metric.columns),
        values=np.concatenate(tables, axis=1),
        signatures={metric.name: metric.signature for metric in metrics},
    )
