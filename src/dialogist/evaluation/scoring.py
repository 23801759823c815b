"""Outputs and metrics in, `Scores` out: streamed, in as many processes as it is worth.

What needs a network (BERTScore) measures all outputs at once, in this process; the rest is done
output by output and needs no torch, so that processes can share it. Each process has a pipe of its
own: when one dies (memory, a fault in a library), it is known at which output. A file of scores is
JSON lines: the columns, then a line per output. It names the kind of each figure, so that reading
it runs nothing else, and needs no encoder and no WordNet.
"""

import json
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, get_args

import numpy as np

from dialogist.errors import DataError, DialogistError
from dialogist.evaluation.metric_selection import labels_of, sum_column
from dialogist.evaluation.system_outputs import Output, cases_of
from dialogist.files import write_text_atomically, writing
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
        super().__init__(reason)
        self.number = number
        self.reason = reason


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


@contextmanager
def worker_pool(metrics: Sequence[Metric], count: int) -> Iterator["Workers"]:
    """``count`` processes that know the metrics, gone at the end.

    Raises:
        DialogistError: they cannot be started.
    """
    workers = Workers(metrics, count)
    try:
        workers.await_ready()
        yield workers
    finally:
        workers.stop()


class Workers:
    """Some processes; started anew (spawn) so that they inherit no thread, lock or torch."""

    def __init__(self, metrics: Sequence[Metric], count: int) -> None:
        context = get_context("spawn")
        self._processes: dict[Connection, BaseProcess] = {}
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_work, args=(theirs, list(metrics)), daemon=True)
            process.start()
            theirs.close()  # else its death would not end the pipe
            self._processes[ours] = process

    def await_ready(self) -> None:
        """Wait until all have loaded what they need."""
        for connection, process in self._processes.items():
            try:
                connection.recv()
            except (EOFError, OSError):
                process.join()
                raise DialogistError(
                    f"a process for scoring could not be started (exit code {process.exitcode}); "
                    "ask for one process only"
                ) from None

    def measure(self, cases: Iterable[tuple[int, Case]]) -> Iterator[tuple[int, MeasuredValues]]:
        """The numbers of every case, in the order they get done in.

        Raises:
            MeasureError: a metric failed, or a process died.
        """
        remaining = iter(cases)
        asked = {connection: deque[int]() for connection in self._processes}
        busy = [one for one in asked if _ask(one, asked[one], remaining)]
        while busy:
            for connection in wait(busy):
                assert isinstance(connection, Connection)
                yield self._answer(connection, asked[connection])
                if not asked[connection] and not _ask(connection, asked[connection], remaining):
                    busy.remove(connection)

    def _answer(self, connection: Connection, asked: deque[int]) -> tuple[int, MeasuredValues]:
        try:
            answer = connection.recv()
        except (EOFError, OSError):
            process = self._processes[connection]
            process.join()
            reason = f"the process that measured it died (exit code {process.exitcode})"
            raise MeasureError(asked[0], reason) from None
        if isinstance(answer, _Failure):
            raise answer.error(asked[0])
        return asked.popleft(), answer

    def stop(self) -> None:
        """End them, whatever they are doing."""
        for connection, process in self._processes.items():
            process.terminate()
            process.join()
            connection.close()


def _ask(connection: Connection, asked: deque[int], cases: Iterator[tuple[int, Case]]) -> bool:
    """Hand over the next cases, if there are any."""
    some = [(number, _portable(case)) for number, case in islice(cases, _AT_ONCE)]
    asked.extend(number for number, _ in some)
    if some:
        connection.send(some)
    return bool(some)


def _portable(case: Case) -> Case:
    """A dialogue without metadata or profile has a read-only view there, which cannot be sent."""
    if case.dialogue is None:
        return case
    metadata, profile = dict(case.dialogue.metadata), dict(case.dialogue.profile)
    return replace(case, dialogue=replace(case.dialogue, metadata=metadata, profile=profile))


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error as it can be sent; ``measuring``: it came of one output."""

    text: str
    measuring: bool

    def error(self, number: int) -> DialogistError:
        return MeasureError(number, self.text) if self.measuring else DialogistError(self.text)


def _work(connection: Connection, metrics: Sequence[Metric]) -> None:
    """What a process does: answer each case by its numbers, or by why there are none."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who waits
    try:
        connection.send("ready")
        while True:
            for number, case in connection.recv():
                connection.send(_answer(metrics, number, case))
    except (EOFError, OSError):  # whoever asked is gone
        return


def _answer(metrics: Sequence[Metric], number: int, case: Case) -> MeasuredValues | _Failure:
    try:
        return measure_case(metrics, number, case)
    except DialogistError as error:
        return _Failure(str(error), isinstance(error, MeasureError))


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
    with worker_pool(metrics, processes) as workers:
        yield from workers.measure(remaining)


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
        head, *rows = map(json.loads, _lines(path))
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


def _lines(path: Path) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None
    return iter(text.split("\n")[:-1])


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
