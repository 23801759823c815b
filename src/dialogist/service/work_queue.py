"""The queue: requests are read and summarized in processes, and what is too much is refused.

Places are counted before anything of a request is read, so what is refused costs next to nothing.
There are two lanes: short requests, and long ones with stored batches; a short one that takes long
is moved, so others never wait for it. A process is ended with the deadline of what it works on.
Only writers of other packages and language models are asked by threads of this process.
"""

import asyncio
import pickle
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, TypeVar

from dialogist.errors import ModelError
from dialogist.forms.form_file import Form
from dialogist.records import Dialogue, Statement, Unsupported, to_json
from dialogist.service.problems import Problem
from dialogist.service.prometheus import Metrics, log_event, log_failure
from dialogist.service.requests import SummaryRequest
from dialogist.service.settings import Settings
from dialogist.service.work_process import TookTooLong, WorkProcess
from dialogist.summarizer import Result, Summarizer
from dialogist.writers import GIVEN_UP

T = TypeVar("T")
_FIRST_GUESS = 0.05  # seconds for a dialogue, until some were measured
_SHORT = 16 << 10  # bytes of a request that takes well below a second
_LATE = "deadline", "send less, or allow more time"
_FULL = "queue_full", "try again after the time given"
_MOST_SHORT = 0.5  # seconds of computing that a short request may take before it is moved


@dataclass(slots=True)
class _Wait:
    """Somebody who waits for an answer, until it comes, the deadline passes or the client leaves.

    ``since`` and ``limit`` are by the clock of the event loop; ``seconds``: the deadline.
    """

    loop: asyncio.AbstractEventLoop
    limit: asyncio.Timeout
    since: float
    seconds: float
    has_begun: bool = False
    is_over: bool = False

    def allow(self, seconds: float) -> None:
        """Set the deadline, in the event loop or out of it."""
        self.seconds = seconds
        self.loop.call_soon_threadsafe(self._reschedule)

    def _reschedule(self) -> None:
        if not self.is_over:
            self.limit.reschedule(self.since + self.seconds)

    @property
    def left(self) -> float:
        return self.since + self.seconds - self.loop.time()


@dataclass(eq=False)
class Lane:
    """Threads that wait for one process, the requests in it, and how long one takes, about."""

    threads: int
    most: float = 0.0
    """Seconds of computing after which what is not done is moved to the other lane; 0: never."""
    process: WorkProcess = field(default_factory=WorkProcess)
    requests: int = 0
    cost: float = _FIRST_GUESS

    def __post_init__(self) -> None:
        self.pool = ThreadPoolExecutor(self.threads, "dialogist-work")

    @property
    def wait(self) -> float:
        """The seconds until there is time for one request more, about."""
        return max(0, self.requests + 1 - self.threads) * self.cost / self.threads

    def close(self) -> None:
        """End it once what it has is done."""
        self.pool.submit(self.process.close)
        self.pool.shutdown(wait=False)


async def followed(
    begin: Callable[[Callable[[Statement], None]], Coroutine[Any, Any, T]],
) -> tuple[AsyncIterator[Statement], asyncio.Task[T]]:
    """The statements that some work tells of as they are written, and the task that it is.

    Comes back with the first one; where there is none, once the task is done.
    """
    loop, written = asyncio.get_running_loop(), asyncio.Queue[Statement | None]()

    def tell(statement: Statement) -> None:
        loop.call_soon_threadsafe(written.put_nowait, statement)

    task = loop.create_task(begin(tell))

    def end(task: asyncio.Task[T]) -> None:
        written.put_nowait(None)
        if not task.cancelled():
            task.exception()  # if the client has left, nobody else looks at it

    task.add_done_callback(end)
    first = await written.get()

    async def statements() -> AsyncIterator[Statement]:
        statement = first
        while statement is not None:
            yield statement
            statement = await written.get()

    return statements(), task


_known_summarizer = cache(Summarizer)


def _with_form(shared: Summarizer, form: str | Form | None) -> Summarizer:
    return shared if form is None else Summarizer(shared.writer, shared.verifier, form)


def _read_packed(
    read: Callable[[], SummaryRequest], unsupported: Unsupported
) -> tuple[SummaryRequest, bytes]:
    """A request without its dialogue, and all of it as bytes; ``unsupported``: where it says none.

    The event loop waits while anything is packed or unpacked, so the service passes bytes on.
    """
    request = read()
    if not request.settles:
        request = replace(request, options=replace(request.options, unsupported=unsupported))
    return replace(request, dialogue=Dialogue(())), pickle.dumps(request)


def _summarized(packed: bytes, form: Form | None, names: tuple[str, str]) -> Result:
    request: SummaryRequest = pickle.loads(packed)
    result = request.result(_with_form(_known_summarizer(*names), form))
    # Without what it was worked out with, and what no reply tells.
    return replace(result, dialogue=replace(result.dialogue, metadata={}))


def _unpacked(packed: bytes) -> Any:
    """What a function gives that was packed to be weighed."""
    return pickle.loads(packed)()


class WorkQueue:
    """Takes requests from the event loop, has them worked on elsewhere, and answers in the loop."""

    def __init__(
        self,
        summarizer: Summarizer,
        settings: Settings,
        metrics: Metrics,
        find_form: Callable[[str | Form | None], Form | None],
    ) -> None:
        self._settings, self._metrics, self._find_form = settings, metrics, find_form
        self._lanes: list[Lane] = []
        self._at_work: set[asyncio.Future[Any]] = set()
        self._requests = self._bytes = 0
        self._is_closing = False
        self.use(summarizer)

    def use(self, summarizer: Summarizer) -> None:
        """Use another writer from the next request on."""
        self.summarizer = summarizer
        self.deadline, self._longest_wait, _ = self._settings.times(bool(summarizer.chats))
        self.threads = summarizer.at_once
        # What Python alone computes goes into a process; a model's memory is not taken twice.
        self._is_sent = summarizer.writer.name == "highlights" and not summarizer.chats
        self._writes = threading.BoundedSemaphore(self.threads)
        for lane in self._lanes:
            lane.close()
        self._lanes = [Lane(self.threads, _MOST_SHORT), Lane(self.threads)]

    def start(self) -> None:
        """Have the processes begun, so that the first request does not wait."""
        for lane in self._lanes:
            lane.process.start()

    def lane(self, size: int | None = None) -> Lane:
        """The lane of a request of so many bytes; without a size that of stored batches."""
        return self._lanes[size is None or size > _SHORT]

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken, and nine tenths of the queue are not yet full."""
        return not self._is_closing and self._requests < max(1, 0.9 * self._settings.queue_requests)

    @property
    def has_spare_time(self) -> bool:
        """Whether less than half of the queue is taken: stored batches may go on."""
        return not self._is_closing and self._requests < self._settings.queue_requests / 2

    @contextmanager
    def place(self, size: int) -> Iterator[Lane]:
        """Hold a place in the queue for a request of ``size`` bytes; gives its lane.

        Raises:
            Problem: all are taken, or the service is stopping; says when to come back.
        """
        limits, lane = self._settings, self.lane(size)
        if self._is_closing:
            self._metrics.rejected.labels("draining").inc()
            raise Problem("draining", "another instance may answer", _FIRST_GUESS)
        if self._requests and (
            self._requests >= limits.queue_requests
            or lane.wait > self._longest_wait
            or self._bytes + size > limits.queue_bytes
        ):
            self._metrics.rejected.labels("queue_full").inc()
            raise Problem(*_FULL, lane.wait)
        self._requests, self._bytes = self._requests + 1, self._bytes + size
        lane.requests += 1
        self._metrics.queue.set(self._requests)
        try:
            yield lane
        finally:
            self._requests, self._bytes = self._requests - 1, self._bytes - size
            lane.requests -= 1
            self._metrics.queue.set(self._requests)

    def call(self, function: Callable[[], T]) -> T:
        """What a function gives in a process; a thread that waits for it calls this.

        Raises:
            Problem: it took longer than a request may.
        """
        packed = pickle.dumps(function)
        work: Callable[[], T] = partial(_unpacked, packed)
        lane = self.lane(len(packed))
        try:
            return lane.process.call(work, self.deadline, lane.most)
        except TookTooLong:
            return self.lane().process.call(work, self.deadline)

    async def summarize(
        self,
        read: Callable[[], SummaryRequest],
        lane: Lane,
        left: Callable[[], Coroutine[Any, Any, None]] | None = None,
        on_statement: Callable[[Statement], None] | None = None,
    ) -> tuple[SummaryRequest, Result]:
        """Have a request ``read`` and summarized; ``left`` comes back once the client has left.

        ``read`` can be pickled. ``on_statement`` is called in a thread, see `Summarizer.result`.

        The request comes back without its dialogue.

        Raises:
            Problem: it was not begun in time, the deadline passed, the client left, or ``read``
                raises it.
        """
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(min(self._longest_wait, self.deadline))
        wait = _Wait(loop, limit, loop.time(), self.deadline)
        leaves = None if left is None else loop.create_task(left())
        work = partial(self._work, read, wait, on_statement)
        try:
            async with limit:
                try:
                    return await self._worked(work, lane, leaves)
                except TookTooLong:
                    return await self._worked(work, self.lane(), leaves)
        except TimeoutError:
            is_late = wait.has_begun or self.deadline <= self._longest_wait
            code, detail = _LATE if is_late else _FULL
            self._metrics.rejected.labels(code).inc()
            raise Problem(code, detail, lane.wait) from None
        finally:
            wait.is_over = True
            if leaves is not None:
                leaves.cancel()

    async def _worked(
        self, work: Callable[[Lane], T], lane: Lane, leaves: asyncio.Task[None] | None
    ) -> T:
        """What some work in a lane gives, while the client waits for it."""
        try:
            future = asyncio.get_running_loop().run_in_executor(lane.pool, work, lane)
        except RuntimeError:  # the pool was closed
            raise Problem("draining", "another instance may answer", _FIRST_GUESS) from None
        self._at_work.add(future)
        future.add_done_callback(self._note_done)
        both: set[asyncio.Future[Any]] = {future} if leaves is None else {future, leaves}
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        if future.done():
            return future.result()
        self._metrics.cancelled.inc()
        raise Problem("client_closed")

    def _note_done(self, future: asyncio.Future[Any]) -> None:
        self._at_work.discard(future)
        if not future.cancelled():
            future.exception()  # where nobody waits any more, nobody else looks at it

    def _work(
        self,
        read: Callable[[], SummaryRequest],
        wait: _Wait,
        on_statement: Callable[[Statement], None] | None,
        lane: Lane,
    ) -> tuple[SummaryRequest, Result]:
        """In a thread: have it read and summarized, unless nobody waits any more."""
        GIVEN_UP.set(lambda: "nobody waits for the answer any more" if wait.is_over else "")
        began = time.monotonic()
        try:
            if wait.is_over:
                raise Problem("deadline")
            if not wait.has_begun:
                self._metrics.waited.observe(wait.loop.time() - wait.since)
            wait.has_begun = True
            wait.allow(wait.seconds)
            packs = partial(_read_packed, read, self._settings.unsupported)
            request, packed = self._called(packs, wait, lane)
            if request.seconds:
                wait.allow(min(request.seconds, wait.seconds))
            form = self._find_form(request.form)
            if self._is_sent:
                work = partial(_summarized, packed, form, self._settings.writers)
                result = self._called(work, wait, lane)
            else:
                whole: SummaryRequest = pickle.loads(packed)
                with self._writes:
                    result = whole.result(_with_form(self.summarizer, form), on_statement)
            for sent in result.summary.sent:
                log_event("sent", **to_json(sent))
            if wait.is_over:
                raise Problem("deadline")
            self._metrics.statuses.labels(result.summary.status).inc()
            self._metrics.worked.observe(time.monotonic() - began)
            return request, result
        except ModelError as error:
            log_failure(error)
            raise Problem("writer_unavailable", "try again later", 10) from None
        finally:
            took = time.monotonic() - began
            lane.cost = min(took, 0.8 * lane.cost + 0.2 * took)

    def _called(self, function: Callable[[], T], wait: _Wait, lane: Lane) -> T:
        """What a function gives in the process of a lane."""
        return lane.process.call(function, wait.left, lane.most, lambda: wait.is_over)

    def drain(self) -> None:
        self._is_closing = True

    async def close(self, seconds: float) -> bool:
        """Finish what was taken, in so many seconds; whether all threads are idle."""
        self.drain()
        for lane in self._lanes:
            lane.pool.shutdown(wait=False)
        if self._at_work:
            await asyncio.wait(self._at_work, timeout=seconds)
        for lane in self._lanes:
            lane.process.close()
        return not self._at_work
