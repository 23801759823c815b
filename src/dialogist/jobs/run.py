"""`run_job`: reads, hands shards to workers, puts parts in their place, and notes what is done.

A worker that dies, or says nothing for too long, is replaced, and its shard is done again. If it
dies a second time, the dialogues of the shard are read one by one; one that kills its process
even then becomes an error record, and the others go on.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from dialogist.errors import DataError, DialogistError, UsageError
from dialogist.jobs.journal import MANIFEST, Journal, ShardDone, Totals
from dialogist.jobs.sinks import Form, Sink
from dialogist.jobs.sources import SHARD_SIZE, Cutter, Item, Shard
from dialogist.jobs.wishes import Work
from dialogist.jobs.worker import receive, send, work_on
from dialogist.records import JSON

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
class Progress:
    """How far a run is: records that it made and that an earlier run had made, and their bytes."""

    done: int
    failed: int
    bytes: int
    kept: int


@dataclass(frozen=True, slots=True)
class Plan:
    """How a job is to be run; ``folder`` is where its journal lies."""

    work: Work
    folder: Path
    sink: Sink
    form: Form = Form.jsonl
    workers: int = 1
    shard_size: int = SHARD_SIZE
    time_limit: float = TIME_LIMIT
    restart: bool = False
    grown: bool = False
    """The inputs may have more at their end than before."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """Who is told of progress, and of what a person should know."""

    progress: Callable[[Progress], None]
    note: Callable[[str], None]


def run_job(
    plan: Plan, items: Iterable[Item], description: Mapping[str, JSON], watcher: Watcher
) -> Totals:
    """Have one record for each item in its place, whatever was done before; the sums.

    ``description`` says what the items are made of: a job that was begun with another one is not
    gone on with.

    Raises:
        UsageError: another process is at this job, or it was begun with other settings.
        DialogistError: the input is not what it was, or something cannot be read or written.
    """
    cut: dict[str, JSON] = {"form": str(plan.form), "shard_size": plan.shard_size}
    with (
        Journal.alone(plan.folder, {**description, **cut}) as journal,
        _Workers(plan, watcher.note) as workers,
    ):
        settings = workers.settings()
        if plan.restart:
            journal.clear()  # first: killed between the two, parts without a journal are refused
            plan.sink.clear()
        plan.sink.begin(new=not journal.exists)
        journal.begin(settings, plan.grown)
        if journal.complete is not None:
            watcher.note(f"{plan.folder}: this job is complete: nothing is done again")
            plan.sink.finish(plan.folder / MANIFEST)  # a kill may have come just before
            return journal.complete
        return _Run(plan, journal, workers, watcher).finish(items)


class _Run:
    """One run of a job that is not complete."""

    def __init__(self, plan: Plan, journal: Journal, workers: "_Workers", watcher: Watcher) -> None:
        self._plan, self._journal = plan, journal
        self._workers, self._watcher = workers, watcher
        self._kept = journal.summed().records
        self._made: Counter[str] = Counter()
        self._cutter = Cutter(plan.shard_size)

    def finish(self, items: Iterable[Item]) -> Totals:
        """Do all that is missing."""
        missing = self._missing(items)
        ahead = next(missing, None)
        while ahead is not None or self._workers.busy:
            while ahead is not None and self._workers.take(ahead):
                ahead = next(missing, None)
            for shard, entry, staged in self._workers.finished():
                self._commit(shard, entry, self._plan.folder / staged)
            self._watcher.progress(self._progress())
        self._watcher.progress(self._progress())
        totals = self._journal.finish(self._cutter.doubles())
        self._plan.sink.finish(self._plan.folder / MANIFEST)
        return totals

    def _missing(self, items: Iterable[Item]) -> Iterator[Shard]:
        """The shards that are not done; of those that are, see that their input is the same.

        Raises:
            DataError: it is not.
        """
        left = set(self._journal.done)
        for shard in self._cutter.shards(items):
            known = self._journal.done.get(shard.number)
            if known is None:
                yield shard
            elif known.input != shard.digest:
                if not self._plan.grown or known.records >= len(shard.lines):
                    raise self._changed(shard.number)
                self._kept -= known.records  # it was not full: now it has more
                yield shard
            left.discard(shard.number)
        if left:
            raise self._changed(min(left))

    def _changed(self, number: int) -> DataError:
        return DataError(
            f"{self._plan.folder}: the input changed since this job was begun (shard {number} "
            "differs): give the same input, name another --output, or start over with --restart"
        )

    def _commit(self, shard: Shard, entry: Mapping[str, Any], staged: Path) -> None:
        """First the part, then the line that says so: killed between the two, it is done again."""
        self._plan.sink.take(shard.number, staged)
        done = ShardDone.parse({**entry, "input": shard.digest})
        self._journal.add(done)
        failed = done.statuses.get("error", 0)
        self._made.update({"done": done.records, "failed": failed, "bytes": done.bytes})

    def _progress(self) -> Progress:
        counts = self._made + self._workers.under_way()
        return Progress(counts["done"], counts["failed"], counts["bytes"], self._kept)


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

    def __init__(self, plan: Plan) -> None:
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


class _Workers:
    """The processes of a run.

    They are forked from a server that has our code loaded and nothing else: starting one takes no
    time, and it inherits no thread, lock or torch.
    """

    def __init__(self, plan: Plan, note: Callable[[str], None]) -> None:
        self._plan, self._note = plan, note
        self._workers: list[_Worker] = []
        self._late: set[int] = set()
        self._finished: list[tuple[Shard, Mapping[str, Any], str]] = []

    def __enter__(self) -> "_Workers":
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

    def finished(self) -> list[tuple[Shard, Mapping[str, Any], str]]:
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
