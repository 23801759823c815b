"""Measuring outputs one by one, here or in several processes.

Each process has a pipe of its own and answers every output by itself. So when one dies (memory, a
fault in a library), it is known at which output, which a shared pool would not tell.
"""

import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from dialogist.errors import DialogistError
from dialogist.metrics.base import Case, Metric

_AT_ONCE = 16  # outputs that a process is sent: a round trip is short beside them

Numbers = list[float]


class MeasureError(DialogistError):
    """A metric, or the process that it ran in, failed on one output."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number
        self.reason = reason


def measure(metrics: Sequence[Metric], number: int, case: Case) -> Numbers:
    """The numbers of all metrics, side by side.

    Raises:
        MeasureError: one of them failed.
    """
    numbers: Numbers = []
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
def working(metrics: Sequence[Metric], count: int) -> Iterator["Workers"]:
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

    def measure(self, cases: Iterable[tuple[int, Case]]) -> Iterator[tuple[int, Numbers]]:
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

    def _answer(self, connection: Connection, asked: deque[int]) -> tuple[int, Numbers]:
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
    """A dialogue without metadata has a read-only view there, which cannot be sent."""
    if case.dialogue is None:
        return case
    return replace(case, dialogue=replace(case.dialogue, metadata=dict(case.dialogue.metadata)))


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


def _answer(metrics: Sequence[Metric], number: int, case: Case) -> Numbers | _Failure:
    try:
        return measure(metrics, number, case)
    except DialogistError as error:
        return _Failure(str(error), isinstance(error, MeasureError))
