"""The queue: requests are read and summarized by a few threads, and what is too much is refused.

Places are counted before anything of a request is read, so what is refused costs next to nothing.
As many threads work as the writer takes dialogues at a time: one for highlights, which are Python.
"""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from dialogist.errors import ModelError
from dialogist.records import Statement, to_json
from dialogist.service.problems import Problem
from dialogist.service.prometheus import Metrics, log_event, log_failure
from dialogist.service.requests import SummaryRequest
from dialogist.service.settings import Settings
from dialogist.summarizer import Result, Summarizer
from dialogist.writers import GIVEN_UP

T = TypeVar("T")
_FIRST_GUESS = 0.05  # seconds for a dialogue, until some were measured
_LOOK = 0.02  # seconds between two looks at whether all work is done


@dataclass(slots=True)
class _Wait:
    """Somebody who waits for an answer, until it comes, the deadline passes or the client leaves.

    ``since`` and ``limit`` are by the clock of the event loop.
    """

    loop: asyncio.AbstractEventLoop
    limit: asyncio.Timeout
    since: float
    is_over: bool = False

    def shorten(self, seconds: float) -> None:
        """Set the deadline that the request itself has."""
        if not self.is_over:
            self.limit.reschedule(self.since + seconds)


async def followed(
    begin: Callable[[Callable[[Statement], None]], Coroutine[Any, Any, T]],
) -> tuple[AsyncIterator[Statement], asyncio.Task[T]]:
    """The statements that some work tells of as they are written, and the task that it is.

    Comes back with the first one; where there is none, once the task is done.
    """
    loop, told = asyncio.get_running_loop(), asyncio.Queue[Statement | None]()

    def tell(statement: Statement) -> None:
        loop.call_soon_threadsafe(told.put_nowait, statement)

    task = loop.create_task(begin(tell))

    def end(task: asyncio.Task[T]) -> None:
        told.put_nowait(None)
        if not task.cancelled():
            task.exception()  # if the client has left, nobody else looks at it

    task.add_done_callback(end)
    first = await told.get()

    async def statements() -> AsyncIterator[Statement]:
        statement = first
        while statement is not None:
            yield statement
            statement = await told.get()

    return statements(), task


class WorkQueue:
    """Takes requests from the event loop, has threads work on them, and answers in the loop."""

    def __init__(self, summarizer: Summarizer, settings: Settings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self.threads = 0
        self._pool = ThreadPoolExecutor(1)
        self._lock = threading.Lock()
        self._requests = self._bytes = self._at_work = 0
        self._cost = _FIRST_GUESS
        self._is_closing = False
        self.use(summarizer)

    def use(self, summarizer: Summarizer) -> None:
        """Use another writer from the next request on."""
        self.summarizer = summarizer
        self._by_form: dict[str | None, Summarizer] = {None: summarizer}
        self.deadline, self._longest_wait, _ = self._settings.times(bool(summarizer.chats))
        if self.threads != summarizer.at_once:
            self.threads, before = summarizer.at_once, self._pool
            self._pool = ThreadPoolExecutor(self.threads, "dialogist-work")
            before.shutdown(wait=False)  # it ends what it has

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken, and nine tenths of the queue are not yet full."""
        return not self._is_closing and self._requests < max(1, 0.9 * self._settings.queue_requests)

    @property
    def has_spare_time(self) -> bool:
        """Whether less than half of the queue is taken: stored batches may go on."""
        return not self._is_closing and self._requests < self._settings.queue_requests / 2

    def _wait(self) -> float:
        """The seconds until a thread is free for one request more, about."""
        return max(0, self._requests + 1 - self.threads) * self._cost / self.threads

    @contextmanager
    def place(self, size: int) -> Iterator[None]:
        """Hold a place in the queue for a request of ``size`` bytes; of the event loop.

        Raises:
            Problem: all are taken, or the service is stopping; says when to come back.
        """
        limits = self._settings
        if self._is_closing:
            self._metrics.rejected.labels("draining").inc()
            raise Problem("draining", "another instance may answer", _FIRST_GUESS)
        if self._requests and (
            self._requests >= limits.queue_requests
            or self._wait() > self._longest_wait
            or self._bytes + size > limits.queue_bytes
        ):
            self._metrics.rejected.labels("queue_full").inc()
            raise Problem("queue_full", "try again after the time given", self._wait())
        self._requests, self._bytes = self._requests + 1, self._bytes + size
        self._metrics.queue.set(self._requests)
        try:
            yield
        finally:
            self._requests, self._bytes = self._requests - 1, self._bytes - size
            self._metrics.queue.set(self._requests)

    async def summarize(
        self,
        read: Callable[[], SummaryRequest],
        seconds: float,
        leaves: asyncio.Task[None] | None = None,
        on_statement: Callable[[Statement], None] | None = None,
    ) -> tuple[SummaryRequest, Result]:
        """Have a thread ``read`` a request and summarize it; ``leaves`` ends when the client does.

        ``on_statement`` is called in that thread, see `Summarizer.result`.

        Raises:
            Problem: the deadline passed, the client left, or ``read`` raises it.
        """
        loop = asyncio.get_running_loop()
        limit = asyncio.timeout(seconds)
        wait = _Wait(loop, limit, loop.time())
        with self._lock:
            self._at_work += 1
        try:
            future = loop.run_in_executor(self._pool, self._work, read, wait, on_statement)
        except RuntimeError:  # the pool was closed
            with self._lock:
                self._at_work -= 1
            raise Problem("draining", "another instance may answer", _FIRST_GUESS) from None
        both: set[asyncio.Future[Any]] = {future} if leaves is None else {future, leaves}
        try:
            with suppress(TimeoutError):
                async with limit:
                    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            wait.is_over = True
            if not future.done():
                future.add_done_callback(lambda late: late.cancelled() or late.exception())
        if future.done():
            return future.result()
        if leaves is not None and leaves.done():
            self._metrics.cancelled.inc()
            raise Problem("client_closed")
        self._metrics.rejected.labels("deadline").inc()
        raise Problem("deadline", "send less, or allow more time", self._wait())

    def _work(
        self,
        read: Callable[[], SummaryRequest],
        wait: _Wait,
        on_statement: Callable[[Statement], None] | None,
    ) -> tuple[SummaryRequest, Result]:
        """In a thread: read and summarize, unless nobody waits any more."""
        GIVEN_UP.set(lambda: "nobody waits for the answer any more" if wait.is_over else "")
        began = time.monotonic()
        try:
            if wait.is_over:
                raise Problem("deadline")
            self._metrics.waited.observe(wait.loop.time() - wait.since)
            request = read()
            if request.seconds:
                wait.loop.call_soon_threadsafe(wait.shorten, request.seconds)
                if wait.loop.time() > wait.since + request.seconds:
                    raise Problem("deadline", "send less, or allow more time")
            by_form, shared = self._by_form, self.summarizer  # `use` may replace both meanwhile
            if request.form not in by_form:
                by_form[request.form] = Summarizer(shared.writer, shared.verifier, request.form)
            unsupported = self._settings.unsupported
            result = request.result(by_form[request.form], unsupported, on_statement)
            for sent in result.summary.sent:
                log_event("sent", **to_json(sent))
            if wait.is_over:
                raise Problem("deadline")
            self._metrics.statuses.labels(result.summary.status).inc()
            took = time.monotonic() - began
            self._metrics.worked.observe(took)
            self._cost = min(took, 0.8 * self._cost + 0.2 * took)
        except ModelError as error:
            log_failure(error, "")
            raise Problem("writer_unavailable", "try again later", 10) from None
        finally:
            with self._lock:
                self._at_work -= 1
        return request, result

    def drain(self) -> None:
        self._is_closing = True

    async def close(self, seconds: float) -> bool:
        """Finish what was taken, in so many seconds; whether all threads are idle."""
        self.drain()
        self._pool.shutdown(wait=False)
        end = time.monotonic() + seconds
        while self._at_work and time.monotonic() < end:
            await asyncio.sleep(_LOOK)
        return not self._at_work
