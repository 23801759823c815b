"""The processes of a job on this machine: what they do, and what becomes of those that die.

A worker is sent a shard and answers with a finished file; all that goes through its pipe is JSON.
One that dies, or says nothing for too long, is replaced, and its shard is done again. If it dies a
second time, the dialogues of the shard are read one by one; one that kills its process even then
becomes an error record, and the others go on. A worker whose job is gone ends with its next word.
"""

import json
import logging
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dialogist.errors import DataError, DialogistError, UsageError
from dialogist.batch.sinks import Form, PartWriter, Sink
from dialogist.batch.sources import SHARD_SIZE, Shard, unpacked
from dialogist.batch.work import GROUP, Opened, Work, batch_record, error_record, summarized
from dialogist.present import PresentedSummary
from dialogist.records import JSON, Dialogue, Summary

Finished: TypeAlias = tuple[Shard, Mapping[str, Any], str]
"""A shard that is done, its entry in the journal, and the name of the file with its part."""

Engine = Literal["local", "ray"]

TIME_LIMIT = 600.0
"""Seconds without a word after which a worker is taken for dead."""

_TICK = 0.5  # seconds between two looks at the clock
_DEATHS_IN_A_GROUP = 2
_DEATHS_ELSEWHERE = 5  # of workers that were not at a dialogue: something else is wrong
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "DIALOGIST_THREADS"), "1"
) | {"TOKENIZERS_PARALLELISM": "false"}
"""Processes work side by side, each by one thread: so the same bytes come of any number."""


@dataclass(frozen=True, slots=True)
class WorkPlan:
    """How a job is to be run; ``folder`` is where its journal lies."""

    work: Work
    folder: Path
    sink: Sink
    form: Form = Form.jsonl
    workers: int = 1
    shard_size: int = SHARD_SIZE
    time_limit: float = TIME_LIMIT
    engine: Engine = "local"
    address: str = ""
    """Of a Ray cluster; empty: one that is started here for this run."""
    max_workers: int = 0
    """Actors of a Ray cluster: as many as it has room for, if more than ``workers``."""
    restart: bool = False
    grown: bool = False
    """The inputs may have more at their end than before."""


@dataclass(slots=True)
class _Task:
    """A shard with a worker, and what became of it so far."""

    shard: Shard
    deaths: int = 0
    alone: bool = False
    lost: dict[str, str] = field(default_factory=dict)
    at: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)

    def died(self, how: str) -> str:
        """Its worker is dead: what is to be done otherwise, and what to tell.

        Raises:
            DialogistError: that has happened too often, and at no dialogue.
        """
        self.counts = {}
        if self.alone and self.at is not None:
            self.lost[str(self.at)] = f"the process that summarized it {how}, even alone"
            said, self.at = f"dialogue {self.at} of shard {self.shard.number}", None
            return f"{said}: its process {how}, even alone: it becomes an error record"
        self.deaths += 1
        if self.deaths >= _DEATHS_ELSEWHERE:
            raise DialogistError(
                f"shard {self.shard.number}: {self.deaths} workers {how}, at no single dialogue: "
                "is there enough memory? Run the same command again to go on"
            )
        self.alone = self.deaths >= _DEATHS_IN_A_GROUP
        by = "one dialogue at a time" if self.alone else "once more"
        return f"a worker {how}: shard {self.shard.number} is done again, {by}"


class _Worker:
    """A process, the pipe to it, and the task it has."""

    def __init__(self, plan: WorkPlan) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload([work_on.__module__])
        self.connection, theirs = context.Pipe()
        arguments = (theirs, plan.work, plan.folder, plan.form)
        self._process = context.Process(target=work_on, args=arguments, daemon=True)
        with _environment(_ONE_THREAD):
            self._process.start()
        theirs.close()  # else its death would not end the pipe
        self.settings: dict[str, JSON] | None = None
        self.task: _Task | None = None
        self.heard = time.monotonic()

    def ask(self) -> None:
        """Send the task, once the model is loaded; of one that died the pipe will tell."""
        if self.settings is None or self.task is None:
            return
        lines, task = self.task.shard.lines, self.task
        order = {
            "number": task.shard.number,
            "items": len(lines),
            "alone": task.alone,
            "lost": task.lost,
        }
        self.heard = time.monotonic()
        try:
            send(self.connection, order)
            for line in lines:
                self.connection.send_bytes(line)
        except OSError:
            return

    def how_it_ended(self) -> str:
        """In words, once its pipe has ended."""
        self._process.join()
        code = self._process.exitcode or 0
        return f"was killed by signal {-code}" if code < 0 else f"died (exit code {code})"

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()

    def close(self) -> None:
        """Leave nothing of it."""
        self.kill()
        self._process.join()
        self.connection.close()


class LocalWorkers:
    """The processes of a run.

    They are forked from a server that has our code loaded and nothing else: starting one takes no
    time, and it inherits no thread, lock or torch.
    """

    def __init__(self, plan: WorkPlan, note: Callable[[str], None]) -> None:
        self._plan, self._note = plan, note
        self._workers: list[_Worker] = []
        self._late: set[int] = set()
        self._finished: list[Finished] = []

    def __enter__(self) -> "LocalWorkers":
        self._workers += [_Worker(self._plan) for _ in range(self._plan.workers)]
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()

    @property
    def busy(self) -> bool:
        """Whether any of them has a shard."""
        return any(worker.task is not None for worker in self._workers)

    def settings(self) -> dict[str, JSON]:
        """What the model is and does, as the first that has loaded it says."""
        while True:
            for worker in self._workers:
                if worker.settings is not None:
                    return worker.settings
            self._listen()

    def take(self, shard: Shard) -> bool:
        """Hand a shard to one that has none; False: all have one."""
        for worker in self._workers:
            if worker.task is None:
                worker.task = _Task(shard)
                worker.ask()
                return True
        return False

    def finished(self) -> list[Finished]:
        """Wait a little; shards that are done, with their entry and the name of their file."""
        self._listen()
        found, self._finished = self._finished, []
        return found

    def under_way(self) -> Counter[str]:
        """What the shards in work have so far."""
        found: Counter[str] = Counter()
        for worker in self._workers:
            found.update(worker.task.counts if worker.task is not None else {})
        return found

    def _listen(self) -> None:
        by_pipe = {worker.connection: worker for worker in self._workers}
        for pipe in wait(list(by_pipe), _TICK):
            assert isinstance(pipe, Connection)
            try:
                self._hear(by_pipe[pipe], receive(pipe))
            except (EOFError, OSError):
                self._replace(by_pipe[pipe])
        now = time.monotonic()
        for worker in self._workers:
            is_at_work = worker.task is not None and worker.settings is not None
            if is_at_work and now - worker.heard > self._plan.time_limit:
                self._late.add(id(worker))
                worker.kill()

    def _hear(self, worker: _Worker, message: Mapping[str, Any]) -> None:
        worker.heard = time.monotonic()
        task = worker.task
        if "ready" in message:
            worker.settings = message["ready"]
            worker.ask()
        elif "refused" in message:
            kind = UsageError if message["code"] == UsageError.exit_code else DialogistError
            raise kind(message["refused"])
        elif "note" in message:
            self._note(message["note"])
        elif "unwritten" in message:
            raise DataError(f"{message['unwritten']}; run the same command again to go on")
        elif task is not None and "entry" in message:
            self._finished.append((task.shard, message["entry"], message["staged"]))
            worker.task = None
        elif task is not None and "at" in message:
            task.at = message["at"]
        elif task is not None:
            task.counts = message

    def _replace(self, worker: _Worker) -> None:
        how = worker.how_it_ended()
        if worker.settings is None:
            raise DialogistError(f"a worker {how} before it had loaded its model")
        if id(worker) in self._late:
            self._late.discard(id(worker))
            how = f"gave no answer for {self._plan.time_limit:g} seconds"
        task = worker.task
        said = f"a worker {how}" if task is None else task.died(how)
        worker.close()
        other = _Worker(self._plan)
        other.task = task
        self._workers[self._workers.index(worker)] = other
        self._note(said)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Variables for the processes that are started within."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


Message = Mapping[str, Any]
_EVERY = 0.2  # seconds between two reports of progress


def send(connection: Connection, message: Message) -> None:
    """Send values as JSON."""
    connection.send_bytes(json.dumps(message).encode("ascii"))


def receive(connection: Connection) -> Any:
    """The next values sent.

    Raises:
        EOFError: the other side is gone.
    """
    return json.loads(connection.recv_bytes())


def work_on(connection: Connection, work: Work, folder: Path, form: Form) -> None:
    """What the process does: open the model, then a shard after the other."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one who waits
    with suppress(EOFError, OSError):  # the job is gone
        _tell_log(connection)
        try:
            opened = work.open()
        except DialogistError as error:
            send(connection, {"refused": str(error), "code": error.exit_code})
            return
        send(connection, {"ready": dict(opened.settings)})
        while True:
            order = receive(connection)
            lines = [connection.recv_bytes() for _ in range(order["items"])]
            _Part(connection, opened, order).write(lines, folder, form)


class _Part:
    """One shard on its way to a file.

    ``order``: its ``number``, whether its dialogues are read one by one (``alone``), and those
    that killed a process before (``lost``: reasons by place).
    """

    def __init__(self, connection: Connection, opened: Opened, order: Message) -> None:
        self._connection, self._opened = connection, opened
        self._number, self._alone = int(order["number"]), bool(order["alone"])
        self._lost: Mapping[str, str] = order["lost"]
        self._reported = time.monotonic()

    def write(self, lines: Sequence[bytes], folder: Path, form: Form) -> None:
        """Make the part, and tell where it lies and what it holds.

        Its name has the process in it: one whose job was killed may still be writing its own.
        """
        statuses: Counter[str] = Counter()
        try:
            writer = PartWriter(folder, self._number, form, f"{os.getpid()}")
            with writer:
                group = 1 if self._alone else GROUP
                for presented in shown_summary(self._opened, lines, self._lost, group, self._at):
                    writer.add(batch_record(presented))
                    statuses[presented.summary.status] += 1
                    self._report(statuses, writer.size)
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            send(self._connection, {"unwritten": f"{folder}: cannot be written: {error.strerror}"})
            return
        entry = {
            "number": self._number,
            "records": len(lines),
            "statuses": dict(sorted(statuses.items())),
            "bytes": writer.size,
            "sha256": writer.sha256,
        }
        send(self._connection, {"entry": entry, "staged": writer.path.name})

    def _at(self, place: int) -> None:
        """Tell which dialogue comes next, where that may be asked afterwards."""
        if self._alone:
            send(self._connection, {"at": place})

    def _report(self, statuses: Counter[str], size: int) -> None:
        now = time.monotonic()
        if now - self._reported >= _EVERY:
            self._reported = now
            counts = {"done": statuses.total(), "failed": statuses["error"], "bytes": size}
            send(self._connection, counts)


def shown_summary(
    opened: Opened,
    lines: Sequence[bytes],
    lost: Mapping[str, str],
    group: int = GROUP,
    at: Callable[[int], None] = lambda place: None,
) -> Iterator[PresentedSummary]:
    """One record for each line, in order.

    ``lost`` has, by place, why a dialogue is not to be tried again. ``at`` is told the place of
    the first dialogue of each group before its work begins.
    """
    known: dict[int, Summary] = {}
    dialogues: list[Dialogue] = []
    places: list[int] = []
    for place, line in enumerate(lines):
        item = unpacked(line)
        if isinstance(item, Summary):
            known[place] = item
        elif str(place) in lost:
            known[place] = error_record(item.id, lost[str(place)])
        else:
            dialogues.append(item)
            places.append(place)
    made = summarized(opened, dialogues, lambda number: at(places[number]), group)
    for place in range(len(lines)):
        yield PresentedSummary(known[place]) if place in known else next(made)


class _LogToJob(logging.Handler):
    """Hands what the package logs to the job, which has a stderr that people read."""

    def __init__(self, connection: Connection) -> None:
        super().__init__()
        self._connection = connection

    def emit(self, record: logging.LogRecord) -> None:
        """Send the line alone: a traceback may hold what was said."""
        send(self._connection, {"note": record.getMessage()})


def _tell_log(connection: Connection) -> None:
    logger = logging.getLogger("dialogist")
    logger.handlers = [_LogToJob(connection)]
    logger.propagate = False
