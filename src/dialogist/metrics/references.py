"""What several references of one dialogue come to: average, best, or one text of all.

The reports that this project began with join the three DialogSum references of a test dialogue
into one text and score against that (report 1, section III: "reference summaries in the test split
are concatenated into a single string"). Such a text is three times as long as any summary: recall
falls, and figures cannot be put beside others. `Concatenated` reproduces it for any metric.

Treating each reference as an example of its own is no policy of its own here: where every
dialogue has as many references, it is the average.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Protocol, runtime_checkable

from dialogist.metrics.base import Case, Column, Metric
from dialogist.metrics.overlap import Triple
from dialogist.metrics.scripts import reads

SUFFIX = "-concatenated"
"""What the name of a `Concatenated` metric ends with."""

BEST = ".max."
"""What the key of a column has in it that is of the best reference: ``rouge1.max.f1``."""


def average_and_best(found: Sequence[Triple]) -> tuple[Triple, Triple]:
    """From precision, recall and F1 beside each reference: their means, and the best one by F1.

    Raises:
        ValueError: there is no reference.
    """
    if not found:
        raise ValueError("a metric needs at least one reference")
    if len(found) == 1:
        return found[0], found[0]
    p, r, f = (sum(values) / len(found) for values in zip(*found, strict=True))
    return (p, r, f), max(found, key=lambda one: one[2])


def concatenated(case: Case) -> Case:
    """The same with its references as one text, in their order."""
    return replace(case, references=(" ".join(case.references),))


@runtime_checkable
class BatchMetric(Metric, Protocol):
    """A metric that wants to see all outputs at once, to be quick or to know the corpus."""

    def measure_all(self, cases: Sequence[Case]) -> Iterator[Sequence[float]]:
        """The numbers of every output, in their order."""


class Concatenated:
    """A metric's figures beside all references as one text; itself a metric.

    Its columns are those of the metric that are not of a best reference, under keys that begin
    with ``concatenated.``.
    """

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    @property
    def name(self) -> str:
        """The metric's name and what is done to references."""
        return f"{self._metric.name}{SUFFIX}"

    @property
    def signature(self) -> str:
        """How the figures came about."""
        return f"references concatenated into one | {self._metric.signature}"

    @property
    def columns(self) -> tuple[Column, ...]:
        """What it measures."""
        return tuple(
            replace(c, key=f"concatenated.{c.key}", title=f"{c.title} (concat.)")
            for c in self._metric.columns
            if BEST not in c.key
        )

    def reads(self, script: str) -> bool:
        """Whether the metric can tell words of a script apart."""
        return reads(self._metric, script)

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        return self._kept(self._metric.measure(concatenated(case)))

    def _kept(self, numbers: Sequence[float]) -> list[float]:
        columns = self._metric.columns
        ends = accumulate(column.width for column in columns)
        return [
            number
            for column, end in zip(columns, ends, strict=True)
            if BEST not in column.key
            for number in numbers[end - column.width : end]
        ]


class ConcatenatedBatch(Concatenated):
    """The same of a metric that takes many outputs at once."""

    def __init__(self, metric: BatchMetric) -> None:
        super().__init__(metric)
        self._batched = metric

    def measure_all(self, cases: Sequence[Case]) -> Iterator[Sequence[float]]:
        """The numbers of every output, in their order."""
        return map(self._kept, self._batched.measure_all([concatenated(case) for case in cases]))


def concatenate(metric: Metric) -> Metric:
    """The metric beside all references as one text."""
    return ConcatenatedBatch(metric) if isinstance(metric, BatchMetric) else Concatenated(metric)
