"""Outputs and metrics in, `Scores` out: streamed, in as many processes as it is worth.

What needs a network (BERTScore) measures all outputs at once, in this process; the rest is done
output by output and needs no torch, so that processes can share it.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from dialogist.errors import DataError
from dialogist.evaluation.key_points import labels_of
from dialogist.evaluation.outputs.output import Output, cases_of
from dialogist.evaluation.scoring.scores import Scores
from dialogist.evaluation.scoring.workers import MeasureError, Numbers, measure, working
from dialogist.metrics.base import BatchMetric, Case, Floats, Metric

_TRIED = 24  # outputs that are measured here before it is decided how to go on
_WORTH = 6.0  # seconds of work for each process: it takes two or three until it can begin

OnDone = Callable[[int], None]


def score(
    system: str,
    outputs: Sequence[Output],
    metrics: Sequence[Metric],
    processes: int | None = None,
    on_done: OnDone = lambda done: None,
) -> Scores:
    """Measure all outputs, which have references.

    Args:
        system: what they are called.
        outputs: one or more.
        metrics: with different names.
        processes: how many share the work; None: as many as there are cores, where it is worth it.
        on_done: hears how many outputs are measured.

    Raises:
        DataError: a metric failed on an output, or a process died of it; says which.
        DialogistError: something that a metric needs is not there.
    """
    cases = cases_of(outputs, labels_of(metrics))
    single = [metric for metric in metrics if not isinstance(metric, BatchMetric)]
    tables: dict[str, Floats] = {}
    try:
        table = _table(_measured(single, cases, processes), len(cases), _width(single), on_done)
    except MeasureError as error:
        raise DataError(f"{system}: {_place(outputs, error.number)}: {error.reason}") from error
    begin = 0
    for metric in single:
        tables[metric.name] = table[:, begin : begin + _width([metric])]
        begin += _width([metric])
    for metric in metrics:
        if isinstance(metric, BatchMetric):
            numbers = np.array(list(metric.measure_all(cases)), dtype=np.float64)
            tables[metric.name] = numbers.reshape(len(cases), _width([metric]))
    return Scores(
        system=system,
        ids=tuple(output.id for output in outputs),
        columns=tuple(column for metric in metrics for column in metric.columns),
        values=np.concatenate([tables[metric.name] for metric in metrics], axis=1),
        signatures={metric.name: metric.signature for metric in metrics},
    )


def usable_cores() -> int:
    """How many this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _width(metrics: Iterable[Metric]) -> int:
    return sum(column.width for metric in metrics for column in metric.columns)


def _measured(
    metrics: Sequence[Metric], cases: Sequence[Case], processes: int | None
) -> Iterator[tuple[int, Numbers]]:
    """Number and numbers of every case, in any order."""
    remaining = iter(enumerate(cases))
    if not metrics:
        return
    if processes is None:
        begun = time.monotonic()
        for number, case in islice(remaining, _TRIED):
            yield number, measure(metrics, number, case)
        left = (time.monotonic() - begun) / _TRIED * (len(cases) - _TRIED)
        processes = max(1, min(usable_cores(), round(left / _WORTH)))
    if processes == 1:
        for number, case in remaining:
            yield number, measure(metrics, number, case)
        return
    with working(metrics, processes) as workers:
        yield from workers.measure(remaining)


def _table(
    measured: Iterable[tuple[int, Numbers]], rows: int, width: int, on_done: OnDone
) -> Floats:
    values = np.full((rows, width), np.nan)
    for done, (number, numbers) in enumerate(measured, 1):
        values[number] = numbers
        on_done(done)
    return values


def _place(outputs: Sequence[Output], number: int) -> str:
    identity = outputs[number].id
    return f"output '{identity}'" if identity else f"output {number + 1}"
