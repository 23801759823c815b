"""What workers do: lines of dialogues in, lines of records out; in processes or in a Ray cluster,
or in threads where a language model is asked.

Processes run `make_records`. A worker that dies or takes too long breaks what it had; the job asks
for it again, one dialogue at a time.
"""

import faulthandler
import json
import logging
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import active_children, get_context, parent_process
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias

from dialogist.batch.places import SourceItem
from dialogist.errors import DialogistError, needs_extra
from dialogist.formats import ReadProblem
from dialogist.records import (
    JSON,
    Dialogue,
    ReadReport,
    Summary,
    SummaryOptions,
    Utterance,
    to_json,
)
from dialogist.summarizer import Summarizer, masked_record
from dialogist.writers import GIVEN_UP

if TYPE_CHECKING:
    from dialogist.forms.form_file import Form

Engine = Literal["local", "ray"]
RecordLine: TypeAlias = tuple[str, str]
"""The status of a summary, and its record as a line of JSON without its end."""

GROUP = 20
"""Dialogues that a process is given at a time."""

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
"""Processes work side by side, each by one thread: so the same bytes come of any number."""


class Opened(NamedTuple):
    """A writer that is ready to work.

    ``settings``: everything but the dialogues that the records depend on. ``records`` gives the
    summary of each dialogue as JSON values, in order. ``threads`` of one process are best to call
    it, each with a dialogue, where it waits for the server of a language model; else 0. ``failed``
    gives the record of what has no summary as it may be shown.
    """

    settings: Mapping[str, JSON]
    records: Callable[[Iterable[Dialogue]], Iterator[Mapping[str, Any]]]
    threads: int = 0
    failed: Callable[[Summary], Summary] = lambda record: record


class Work(Protocol):
    """What a job does with dialogues; a process can be sent it."""

    def open(self) -> Opened: ...


@dataclass(frozen=True, slots=True)
class SummaryWork:
    """Summaries by a writer and a verifier, in a form if there is one: see `Summarizer`."""

    writer: str
    verifier: str
    options: SummaryOptions
    form: "Form | None" = None

    def open(self) -> Opened:
        summarizer = Summarizer(self.writer, self.verifier, self.form)
        threads = summarizer.at_once if any(hasattr(c, "config") for c in summarizer.chats) else 0

        def records(dialogues: Iterable[Dialogue]) -> Iterator[Mapping[str, Any]]:
            if threads:
                return (summarizer.result(each, self.options).to_json() for each in dialogues)
            return (result.to_json() for result in summarizer.results(dialogues, self.options))

        failed = partial(masked_record, options=self.options)
        return Opened(summarizer.settings(self.options), records, threads, failed)


def packed(item: SourceItem) -> bytes:
    """An item as a line of JSON without its end; references are left out, nothing reads them."""
    if isinstance(item, ReadProblem):
        values: list[Any] = [item.place, item.reason]  # its place is its id
    else:
        turns = [[u.speaker, u.text, u.role, u.start, u.end] for u in item.utterances]
        reading = to_json(item.reading) if item.reading is not None else None
        facts = [dict(item.metadata), dict(item.profile), item.is_verbatim]
        values = [item.id, turns, *facts, reading]
    return json.dumps(values, separators=(",", ":")).encode("ascii")


def unpacked(line: bytes) -> Dialogue | Summary:
    """The dialogue of a line; of what cannot be read the record that says so."""
    values = json.loads(line)
    if len(values) == 2:
        return Summary("", values[0], status="error", reason=values[1])
    id, turns, metadata, profile, is_verbatim, reading = values
    report = ReadReport(**{**reading, "warnings": tuple(reading["warnings"])}) if reading else None
    utterances = tuple(Utterance(*turn) for turn in turns)
    return Dialogue(utterances, id, (), metadata, profile, is_verbatim, report)


def record_line(values: Mapping[str, Any]) -> RecordLine:
    """A record without ``timings``: the same dialogue gives the same bytes."""
    return values["status"], json.dumps({**values, "timings": {}}, ensure_ascii=False)


_opened: tuple[Work, Opened] | None = None
"""What this process has loaded."""


def make_records(work: Work, lines: Sequence[bytes], seconds: float) -> list[RecordLine]:
    """A record for each line, in order; the process ends if a dialogue takes so many ``seconds``.

    That is the work of `faulthandler`, which ends a process that hangs in C as well.
    """
    global _opened
    if _opened is None or _opened[0] != work:
        _opened = work, work.open()
    made = _records(_opened[1], lines)
    records = []
    with open(os.devnull, "w") as nowhere:
        try:
            for _ in lines:
                faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
                records.append(next(made))
        finally:
            faulthandler.cancel_dump_traceback_later()
    return records


def _records(opened: Opened, lines: Sequence[bytes]) -> Iterator[RecordLine]:
    items = [unpacked(line) for line in lines]
    made = opened.records(item for item in items if isinstance(item, Dialogue))
    for item in items:
        values = opened.failed(item).to_json() if isinstance(item, Summary) else next(made)
        yield record_line(values)


class ThreadPool:
    """Threads of this process that wait for a language model: with one budget and one cache.

    Each has one dialogue, so none waits for another. Who takes too many ``seconds`` asks no more.
    """

    deaths: tuple[type[Exception], ...] = ()
    group = 1

    def __init__(self, opened: Opened, seconds: float) -> None:
        self._opened, self._seconds = opened, seconds
        self._pool = ThreadPoolExecutor(opened.threads)
        self.most, self._closed = 2 * opened.threads, ""

    def submit(self, lines: Sequence[bytes]) -> "Future[list[RecordLine]]":
        return self._pool.submit(self._made, lines)

    def _made(self, lines: Sequence[bytes]) -> list[RecordLine]:
        end, limit = time.monotonic() + self._seconds, f"gave no answer for {self._seconds:g} s"
        GIVEN_UP.set(lambda: self._closed or (limit if time.monotonic() > end else ""))
        return list(_records(self._opened, lines))

    def renew(self) -> None:
        """Nothing dies here."""

    def close(self) -> None:
        """Ask nothing more; answers that are on their way are kept in the cache."""
        self._closed = "not finished: the run was stopped"
        self._pool.shutdown(wait=False, cancel_futures=True)


class LocalPool:
    """Processes of this machine.

    They are forked from a server that has our code loaded and nothing else: starting one takes no
    time, and it inherits no thread and no lock.
    """

    deaths: tuple[type[Exception], ...] = (BrokenProcessPool,)
    group = GROUP

    def __init__(self, work: Work, workers: int, seconds: float) -> None:
        os.environ.update(_ONE_THREAD)
        self._work, self._workers, self._seconds = work, workers, seconds
        self.most = 2 * workers
        self._start()

    def _start(self) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload([__name__])
        self._pool = ProcessPoolExecutor(self._workers, context, _end_with_parent)

    def submit(self, lines: Sequence[bytes]) -> "Future[list[RecordLine]]":
        try:
            return self._pool.submit(make_records, self._work, lines, self._seconds)
        except BrokenProcessPool as error:  # it died while it was idle, or just now
            failed: Future[list[RecordLine]] = Future()
            failed.set_exception(error)
            return failed

    def renew(self) -> None:
        """Start another pool; a broken one fails all that it had."""
        self._pool.shutdown()
        self._start()

    def close(self) -> None:
        """End all of them, whatever they are doing."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in active_children():
            process.kill()


def _end_with_parent() -> None:
    """Begin a worker: Ctrl-C is for the one who waits, and who is killed takes it along."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    Thread(target=watch, daemon=True).start()


class RayPool:
    """Tasks of a Ray cluster, one started here or a running one; each takes a CPU."""

    group = GROUP

    def __init__(self, work: Work, workers: int, seconds: float, address: str = "") -> None:
        with needs_extra("--engine ray", "ray"):
            import ray
        self._ray = ray
        try:
            ray.init(
                address=address or "local",
                num_cpus=None if address else workers,
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise DialogistError(f"Ray cannot be reached: {error}") from None
        lists = {k: v for k, v in os.environ.items() if k.startswith("DIALOGIST_MASK_")}
        environment = {"env_vars": _ONE_THREAD | lists}
        remote = ray.remote(num_cpus=1, max_retries=0, runtime_env=environment)
        self._task = remote(make_records)
        self._work, self._seconds, self.most = work, seconds, workers
        errors = ray.exceptions
        self.deaths: tuple[type[Exception], ...]
        self.deaths = (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError)

    def submit(self, lines: Sequence[bytes]) -> "Future[list[RecordLine]]":
        future: Future[list[RecordLine]]
        future = self._task.remote(self._work, lines, self._seconds).future()
        return future

    def renew(self) -> None:
        """Ray starts other workers by itself."""

    def close(self) -> None:
        """End what was started here."""
        self._ray.shutdown()


Pool: TypeAlias = LocalPool | RayPool | ThreadPool
"""Where lines are worked on: ``most`` groups of ``group`` lines at a time. ``deaths``: what a
future of ``submit`` ends with whose worker died; ``renew`` then starts others."""
