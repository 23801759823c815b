"""Outputs and metrics in, `Scores` out: streamed, in as many processes as it is worth.

What needs a network (BERTScore) measures all outputs at once, in this process; the rest is done
output by output and needs no torch, so that processes can share it. When one dies (memory, a fault
in a library), it is found out at which output. A file of scores is
JSON lines: the columns, then a line per output. It names the kind of each figure, so that reading
it runs nothing else, and needs no encoder and no WordNet.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dialogist.errors import DataError, DialogistError
from dialogist.evaluation.metric_selection import labels_of, sum_column
from dialogist.evaluation.system_outputs import Output, cases_of
from dialogist.files import reading, write_text_atomically, writing
from dialogist.metrics.base import (
    BatchMetric,
    Better,
    Case,
    Column,
    Floats,
    Metric,
    percentage,
    ratio,
)
from dialogist.metrics.bleu import Bleu, Chrf
from dialogist.metrics.slots import Slots
from dialogist.records import JSON


@dataclass(frozen=True)
class Scores:
    """What was measured of N outputs.

    ``values`` (N, W) holds the numbers of all ``columns``, one column's beside the other's, W being
    the sum of their widths. ``signatures``: by metric, how its figures came about.
    """

    system: str
    ids: tuple[str, ...]
    columns: tuple[Column, ...]
    values: Floats
    signatures: Mapping[str, str]

    def __post_init__(self) -> None:
        wanted = (len(self.ids), sum(column.width for column in self.columns))
        if self.values.shape != wanted:
            raise ValueError(f"{self.system}: numbers of shape {self.values.shape}, not {wanted}")

    @cached_property
    def _places(self) -> dict[str, tuple[Column, slice]]:
        places, begin = {}, 0
        for column in self.columns:
            places[column.key] = (column, slice(begin, begin + column.width))
            begin += column.width
        return places

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def column(self, key: str) -> Column:
        """The column of that key.

        Raises:
            KeyError: there is none.
        """
        return self._places[key][0]

    def figure(self, key: str) -> float:
        """The figure of all outputs, NaN where there is nothing to measure."""
        return float(self.resampled(key, np.ones((1, len(self.ids))))[0])

    def each(self, key: str) -> Floats:
        """(N,) the figure of every output alone, NaN where it has none."""
        column, place = self._places[key]
        return column.figure(self.values[:, place])

    def resampled(self, key: str, counts: Floats) -> Floats:
        """(R, N) how often each output is taken -> (R,) figures."""
        column, place = self._places[key]
        return column.figure(counts @ self.values[:, place])


_AT_ONCE = 16  # outputs that a process is sent: a round trip is short beside them

MeasuredValues = list[float]


class MeasureError(DialogistError):
    """A metric, or the process that it ran in, failed on one output."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(number, reason)
        self.number = number
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


def measure_case(metrics: Sequence[Metric], number: int, case: Case) -> MeasuredValues:
    """The numbers of all metrics, side by side.

    Raises:
        MeasureError: one of them failed.
    """
    numbers: MeasuredValues = []
    for metric in metrics:
        try:
            numbers += metric.measure(case)
        except DialogistError:
            raise
        except Exception as error:
            reason = f"{metric.name} failed on it: {type(error).__name__}: {error}"
            raise MeasureError(number, reason) from error
    return numbers


def measure_in_processes(
    metrics: Sequence[Metric], cases: Iterable[tuple[int, Case]], count: int
) -> Iterator[tuple[int, MeasuredValues]]:
    """The numbers of every case, by ``count`` processes that inherit no thread, lock or torch.

    Where one dies, what is left is measured one by one, so that it is known which output it is.

    Raises:
        DialogistError: they cannot be started, or a metric lacks something.
        MeasureError: a metric failed, or the process that measured an output died.
    """
    left = {number: _portable(case) for number, case in cases}
    with _pool(metrics, count) as pool:
        try:
            pool.submit(_in_process, []).result()  # all that it needs is loaded
        except BrokenProcessPool:
            raise DialogistError(
                "a process for scoring could not be started: ask for one process only"
            ) from None
        every = list(left.items())
        parts = (every[begin : begin + _AT_ONCE] for begin in range(0, len(every), _AT_ONCE))
        try:
            for done in as_completed([pool.submit(_in_process, part) for part in parts]):
                for number, numbers in done.result():
                    del left[number]
                    yield number, numbers
        except BrokenProcessPool:
            pass
    for number, case in list(left.items()):
        with _pool(metrics, 1) as pool:
            try:
                yield from pool.submit(_in_process, [(number, case)]).result()
            except BrokenProcessPool:
                raise MeasureError(number, "the process that measured it died") from None


@contextmanager
def _pool(metrics: Sequence[Metric], count: int) -> Iterator[ProcessPoolExecutor]:
    pool = ProcessPoolExecutor(count, get_context("spawn"), _begin, (list(metrics),))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _portable(case: Case) -> Case:
    """A dialogue without metadata or profile has a read-only view there, which cannot be sent."""
    if case.dialogue is None:
        return case
    metadata, profile = dict(case.dialogue.metadata), dict(case.dialogue.profile)
    return replace(case, dialogue=replace(case.dialogue, metadata=metadata, profile=profile))


_metrics: Sequence[Metric] = ()
"""Those of this process, where it is one of a pool."""


def _begin(metrics: Sequence[Metric]) -> None:
    global _metrics
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who waits
    _metrics = metrics


def _in_process(cases: Sequence[tuple[int, Case]]) -> list[tuple[int, MeasuredValues]]:
    try:
        return [(number, measure_case(_metrics, number, case)) for number, case in cases]
    except MeasureError:
        raise
    except DialogistError as error:  # others take more than their text, and cannot be sent
        raise DialogistError(str(error)) from None


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
) -> Iterator[tuple[int, MeasuredValues]]:
    """Number and numbers of every case, in any order."""
    remaining = iter(enumerate(cases))
    if not metrics:
        return
    if processes is None:
        begun = time.monotonic()
        for number, case in islice(remaining, _TRIED):
            yield number, measure_case(metrics, number, case)
        left = (time.monotonic() - begun) / _TRIED * (len(cases) - _TRIED)
        processes = max(1, min(usable_cores(), round(left / _WORTH)))
    if processes == 1:
        for number, case in remaining:
            yield number, measure_case(metrics, number, case)
        return
    yield from measure_in_processes(metrics, remaining, processes)


def _table(
    measured: Iterable[tuple[int, MeasuredValues]], rows: int, width: int, on_done: OnDone
) -> Floats:
    values = np.full((rows, width), np.nan)
    for done, (number, numbers) in enumerate(measured, 1):
        values[number] = numbers
        on_done(done)
    return values


def _place(outputs: Sequence[Output], number: int) -> str:
    identity = outputs[number].id
    return f"output '{identity}'" if identity else f"output {number + 1}"


SCORES_VERSION = 1

_Figure = Callable[[Floats], Floats]

_PLAIN: dict[str, _Figure] = {"mean": ratio, "percentage": percentage, "total": sum_column}
_OF_METRICS: dict[str, Callable[[int], _Figure]] = {
    "bleu": lambda width: Bleu("none", orders=width // 2 - 1).columns[0].figure,
    "chrf": lambda width: Chrf().columns[0].figure,
    "slots.f1": lambda width: next(c for c in Slots.columns if c.key == "slots.f1").figure,
}
"""By the end of a column's key, and by its width."""


def write_scores(path: Path, scores: Scores) -> None:
    """Write them; the file is complete or not there.

    Raises:
        DataError: it cannot be written.
    """
    head: dict[str, JSON] = {
        "schema_version": SCORES_VERSION,
        "kind": "dialogist scores",
        "system": scores.system,
        "signatures": dict(scores.signatures),
        "columns": [_described(column) for column in scores.columns],
    }
    rows = zip(scores.ids, scores.values.tolist(), strict=True)
    lines = [head, *({"id": name, "values": values} for name, values in rows)]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    with writing(path):
        write_text_atomically(path, text)


def read_scores(path: Path) -> Scores:
    """Read what `write_scores` wrote.

    Raises:
        DataError: it cannot be read, is something else, damaged, or of a newer version.
        MissingExtraError: it holds BLEU or chrF, and sacrebleu is not installed.
    """
    try:
        with reading(path):
            text = path.read_text(encoding="utf-8")
        head, *rows = map(json.loads, text.split("\n")[:-1])
        if head.get("kind") != "dialogist scores":
            raise DataError(f"{path}: is no file of scores")
        if head["schema_version"] > SCORES_VERSION:
            raise DataError(f"{path}: was written by a newer Dialogist: update, or score again")
        return Scores(
            system=str(head["system"]),
            ids=tuple(str(row["id"]) for row in rows),
            columns=tuple(_column(one) for one in head["columns"]),
            values=np.array([row["values"] for row in rows], dtype=np.float64),
            signatures={str(name): str(text) for name, text in head["signatures"].items()},
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: is damaged: {type(error).__name__}: {error}") from None


def _described(column: Column) -> dict[str, JSON]:
    kinds = [kind for kind, figure in _PLAIN.items() if column.figure is figure]
    return {
        "key": column.key,
        "title": column.title,
        "better": column.better,
        "width": column.width,
        "unit": column.unit,
        "figure": kinds[0] if kinds else _kind_of(column.key),
    }


def _kind_of(key: str) -> str:
    for kind in _OF_METRICS:
        if f".{key}".endswith(f".{kind}"):
            return kind
    raise ValueError(f"{key}: figures of this kind cannot be written")


def _column(about: dict[str, Any]) -> Column:
    if about["better"] not in get_args(Better):
        raise ValueError(f"better: {about['better']}")
    width = int(about["width"])
    return Column(
        key=str(about["key"]),
        title=str(about["title"]),
        better=about["better"],
        width=width,
        figure=_figure(str(about["figure"]), width),
        unit=str(about["unit"]),
    )


def _figure(kind: str, width: int) -> _Figure:
    return _OF_METRICS[kind](width) if kind in _OF_METRICS else _PLAIN[kind]
