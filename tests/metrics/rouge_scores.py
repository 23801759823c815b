"""ROUGE of one prediction by type: what tests compare with numbers made by hand."""

from collections.abc import Sequence
from typing import NamedTuple

from dialogist.metrics.base import Case
from dialogist.metrics.rouge import ROUGE_TYPES, Rouge


class PRF(NamedTuple):
    precision: float
    recall: float
    f1: float


class RougeScore(NamedTuple):
    average: dict[str, PRF]
    maximum: dict[str, PRF]


def rouge_score(metric: Rouge, prediction: str, references: Sequence[str]) -> RougeScore:
    numbers = metric.measure(Case(prediction, tuple(references)))[::2]
    values = dict(zip((column.key for column in metric.columns), numbers, strict=True))
    average, maximum = (
        {kind: PRF(*(values[f"{kind}.{of}{part}"] for part in PRF._fields)) for kind in ROUGE_TYPES}
        for of in ("", "max.")
    )
    return RougeScore(average, maximum)
