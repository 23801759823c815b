"""The worker: one thread that alone calls the model, fed by a bounded queue.

Places are counted before anything of a request is read, so what is refused costs nothing. The
thread takes the most urgent request and others like it (same options, similar length), leaves out
those whose deadline has passed or whose client has left, and summarizes the rest together. Where
all of these leave while a network writes, it stops at its next step.

A dialogue that was worked on when the model failed, died or hung is a suspect: it is tried once
more, alone and behind the others, and refused after that. One that is answered is none any more.

What asks for a network that is not loaded waits for it aside: a thread loads a model with it, and
the others are answered meanwhile.
"""

import asyncio
import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from dialogist.decoding import DecodingOptions, SearchStopped, stopping_when
from dialogist.model_folder.options import SummaryOptions
from dialogist.present import PresentedSummary
from dialogist.records import Dialogue, Summary
from dialogist.service.crashes import CrashLog
from dialogist.service.metrics import Metrics, log_failure
from dialogist.service.problems import Problem
from dialogist.service.requests import SummaryRequest
from dialogist.service.settings import Settings

_MOST_TRIES = 2
_BYTES_OF_TOKEN = 4  # about, until a request is read
_REMEMBERED = 1000  # dialogues that failed
_NO_NETWORK = "options: style: the network of this model cannot be loaded"
_FIRST_GUESS = 0.05  # seconds for a dialogue, until some were measured


class Model(Protocol):
    """What the worker needs of a `Summarizer`."""

    @property
    def name(self) -> str:
        """The model's name."""
        ...

    @property
    def options(self) -> SummaryOptions:
        """The options the model was made for."""
        ...

    def stream(
        self, dialogues: Iterable[Dialogue], options: DecodingOptions, window: int = 64
    ) -> Iterator[Summary]:
        """One summary per dialogue, in order."""
        ...


@dataclass(slots=True, eq=False)
class _Item:
    """A request in the queue; ``mark`` is its dialogue's, ``order`` its place among others."""

    request: SummaryRequest
    deadline: float
    done: Callable[[PresentedSummary | Problem], None]
    is_background: bool
    model: Model
    mark: str = field(init=False)
    order: float = field(init=False)
    is_cancelled: bool = False
    since: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.mark, self.order = _mark_of(self.request.dialogue), self.deadline

    @property
    def is_over(self) -> bool:
        """Whether nobody waits for it."""
        return self.is_cancelled or time.monotonic() > self.deadline


@dataclass(slots=True)
class Place:
    """A place in the queue, and how much of it a request takes."""

    worker: "Worker"
    size: int
    tokens: int

    def fill(self, tokens: int) -> None:
        """Count the tokens that the request turned out to have.

        Raises:
            Problem: there is no room for so many beside the others.
        """
        self.worker.refill(self, tokens)


class Worker:
    """Takes requests from the event loop, works on them in its thread, and answers in the loop."""

    def __init__(
        self,
        model: Model,
        settings: Settings,
        metrics: Metrics,
        crashes: CrashLog | None = None,
        load_network: Callable[[], Model] | None = None,
    ) -> None:
        """``load_network`` gives the model with its network; None: each has what it needs."""
        self.model, self._settings, self._metrics = model, settings, metrics
        self._crashes = crashes
        self._load_network = load_network
        self._networked: Model | None = None
        self._is_loading = False
        self._queue: list[_Item] = []
        self._changed = threading.Condition()
        self._requests = self._bytes = self._tokens = 0
        self._costs: dict[str, float] = {}  # seconds for a dialogue, by style
        self._seen: set[str] = set()  # styles
        self._began = 0.0
        self._is_closing = False
        self._failures: OrderedDict[str, int] = OrderedDict()
        self._thread = threading.Thread(target=self._run, name="dialogist-worker", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self, seconds: float) -> None:
        """Take no more requests, finish those that were taken, and end the thread in time."""
        self.drain()
        self._thread.join(seconds)
        if self._crashes is not None and not self._thread.is_alive():
            self._crashes.close()

    def drain(self) -> None:
        """Take no more requests."""
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()

    @property
    def is_ready(self) -> bool:
        """Whether requests are taken, and nine tenths of the queue are not yet full."""
        is_alive = self._thread.is_alive() and not self._is_closing
        return is_alive and self._requests < max(1, 0.9 * self._settings.queue_requests)

    @property
    def has_spare_time(self) -> bool:
        """Whether less than half of the queue is taken: stored batches may go on."""
        return not self._is_closing and self._requests < self._settings.queue_requests / 2

    def replace(self, model: Model) -> None:
        """Use another model from the next request on; what was taken is done by the old one."""
        self.model = model
        self._metrics.use(model.name)

    def full(self) -> Problem | None:
        """Why even the smallest request is refused now; None: it is not.

        The event loop asks it for every request, so it takes no lock: `place` decides.
        """
        settings = self._settings
        if self._is_closing:
            self._metrics.rejected.labels("draining").inc()
            return Problem("draining", "another instance may answer", _FIRST_GUESS)
        if self._requests and (
            self._requests >= settings.queue_requests or self._wait() > settings.queue_seconds
        ):
            return self._no_room()
        return None

    def _wait(self) -> float:
        """The seconds that those who hold places will take, about.

        One whose request is not yet read counts as the quickest style known: a free summary
        takes long, but tells nothing of the faithful ones behind it.
        """
        queued = [*self._queue]  # the event loop asks without the lock
        usual = min(self._costs.values(), default=_FIRST_GUESS)
        known = sum(self._costs.get(item.request.options.style, _FIRST_GUESS) for item in queued)
        return known + max(0, self._requests - len(queued)) * usual

    @contextmanager
    def place(self, size: int) -> Iterator[Place]:
        """Hold a place in the queue for a request of ``size`` bytes.

        Raises:
            Problem: all are taken, or the service is stopping; says when to come back.
        """
        settings = self._settings
        with self._changed:
            problem = self.full()
            if problem is not None:
                raise problem
            place = Place(self, size, size // _BYTES_OF_TOKEN)
            if self._requests and (
                self._bytes + size > settings.queue_bytes
                or self._tokens + place.tokens > settings.queue_tokens
            ):
                raise self._no_room()
            self._count(1, size, place.tokens)
        try:
            yield place
        finally:
            with self._changed:
                self._count(-1, -size, -place.tokens)
                self._changed.notify_all()

    def refill(self, place: Place, tokens: int) -> None:
        """See `Place.fill`."""
        with self._changed:
            others = self._tokens - place.tokens
            if self._requests > 1 and others + tokens > self._settings.queue_tokens:
                raise self._no_room()
            self._count(0, 0, tokens - place.tokens)
            place.tokens = tokens

    def _no_room(self) -> Problem:
        self._metrics.rejected.labels("queue_full").inc()
        return Problem("queue_full", "try again after the time given", self._wait())

    def _count(self, requests: int, size: int, tokens: int) -> None:
        self._requests += requests
        self._bytes += size
        self._tokens += tokens
        self._metrics.queue.set(self._requests)
        self._metrics.queue_bytes.set(self._bytes)
        self._metrics.queue_tokens.set(self._tokens)

    async def summarize(
        self,
        request: SummaryRequest,
        seconds: float,
        leaves: asyncio.Task[None] | None = None,
        is_background: bool = False,
    ) -> PresentedSummary:
        """The summary of one dialogue; ``leaves`` ends when the client does.

        Raises:
            Problem: the deadline passed, the client left, or the dialogue failed twice before.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[PresentedSummary | Problem] = loop.create_future()

        def settle(result: PresentedSummary | Problem) -> None:
            if not future.done():
                future.set_result(result)

        def done(result: PresentedSummary | Problem) -> None:
            loop.call_soon_threadsafe(settle, result)

        item = _Item(request, time.monotonic() + seconds, done, is_background, self.model)
        self._add(item)
        waited: set[asyncio.Future[Any]] = {future} if leaves is None else {future, leaves}
        try:
            await asyncio.wait(waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            item.is_cancelled = not future.done()
        if not future.done():
            if leaves is not None and leaves.done():
                self._metrics.cancelled.inc()
                raise Problem("client_closed")
            self._metrics.rejected.labels("deadline").inc()
            raise Problem("deadline", "send less, or allow more time", self._wait())
        result = future.result()
        if isinstance(result, Problem):
            raise result
        return result

    def _add(self, item: _Item) -> None:
        """Put a request into the queue; the first that needs the network begins to load it."""
        with self._changed:
            if not self._thread.is_alive():
                raise Problem("draining", "another instance may answer", _FIRST_GUESS)
            self._queue.append(item)
            if self._lacks_network(item) and not self._is_loading:
                self._is_loading = True
                threading.Thread(target=self._load, daemon=True).start()
            self._changed.notify_all()

    def _lacks_network(self, item: _Item) -> bool:
        if self._load_network is None or _needs_no_network(item):
            return False
        return item.model is not self._networked and item.model.options.style == "faithful"

    def _load(self) -> None:
        """Use the model with its network, and let those go on who wait for it."""
        assert self._load_network is not None
        before, loaded = self.model, None
        try:
            loaded = self._load_network()
        except Exception as error:  # there is none, it is damaged, or there is no room
            log_failure(error, "")
        with self._changed:
            self._is_loading = False
            if loaded is not None:
                self._networked = loaded
                self.model = loaded if self.model is before else self.model
            for item in filter(self._lacks_network, [*self._queue]):
                if loaded is not None:
                    item.model = loaded
                else:
                    self._queue.remove(item)
                    item.done(Problem("invalid_options", _NO_NETWORK))
            self._changed.notify_all()

    def _run(self) -> None:
        while batch := self._next():
            self._began = time.monotonic()
            self._metrics.batches.observe(len(batch))
            for item in batch:
                self._metrics.waited.observe(self._began - item.since)
            if self._crashes is not None:
                self._crashes.begin(item.mark for item in batch)
            is_usual = self._work(batch)
            if self._crashes is not None:
                self._crashes.end()
            seconds = time.monotonic() - self._began
            self._metrics.worked.observe(seconds)
            if is_usual:  # a failure may cost the start of a process, which the next does not
                self._note_cost(batch[0].request.options.style, seconds / len(batch))

    def _note_cost(self, style: str, seconds: float) -> None:
        """Learn what a dialogue takes; the first of a style may have loaded its network."""
        if style in self._seen:
            before = self._costs.get(style, seconds)
            self._costs[style] = min(seconds, 0.8 * before + 0.2 * seconds)
        elif style == "faithful":  # it loads nothing
            self._costs[style] = 0.8 * _FIRST_GUESS + 0.2 * seconds
        self._seen.add(style)

    def _next(self) -> list[_Item]:
        """The next requests to work on together; none when the service stops."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: bool(self._able()) or self._is_finished())
                self._changed.wait_for(self._is_enough, self._settings.batch_wait)
                self._queue = [item for item in self._queue if not item.is_over]
                if able := self._able():
                    return self._batch(able)
                if self._is_finished():
                    return []

    def _able(self) -> list[_Item]:
        """The requests that can be worked on now."""
        return [item for item in self._queue if not self._lacks_network(item)]

    def _batch(self, able: Sequence[_Item]) -> list[_Item]:
        """Take the most urgent request from the queue, and those most like it; suspects alone."""
        first = min(able, key=lambda item: (item.is_background, item.order))
        if self._tries(first):
            self._queue.remove(first)
            return [first]
        alike = [
            item
            for item in able
            if item.model is first.model
            and item.request.options == first.request.options
            and not self._tries(item)
        ]
        alike.sort(
            key=lambda item: (item is not first, abs(item.request.size - first.request.size))
        )
        batch = alike[: self._settings.batch_requests]
        self._queue = [item for item in self._queue if item not in batch]
        return batch

    def _is_finished(self) -> bool:
        is_idle = self._requests == 0 and all(item.is_over for item in self._queue)
        return self._is_closing and is_idle

    def _is_enough(self) -> bool:
        """Whether no more requests are waited for: without a network nothing is gained together."""
        is_full = len(self._queue) >= self._settings.batch_requests
        return is_full or self._is_closing or all(map(_needs_no_network, self._able()))

    def _work(self, batch: list[_Item]) -> bool:
        """Summarize together; what a failure leaves undone is put back. Whether there was none."""
        left = list(batch)  # unanswered
        read: list[_Item] = []  # of these, and in order, what the model was given
        # Without a network each is answered as soon as it is done.
        window = 1 if _needs_no_network(batch[0]) else len(batch)
        dialogues, options = self._given(batch, left, read), batch[0].request.options
        try:
            with stopping_when(lambda: all(item.is_over for item in read)):
                for summary in batch[0].model.stream(dialogues, options, window):
                    self._answer(read[0], summary)
                    left.remove(read.pop(0))
        except SearchStopped:  # all who waited for it have left, or their deadlines have passed
            self._metrics.stopped.inc()
            self._put_back(left, ())
        except Exception as error:  # a bug of ours, or of a library, or a dead process
            log_failure(error, "")
            if read:
                self._put_back(left, read[:window])
            else:  # no process could be started: no dialogue is to blame
                for item in left:
                    item.done(Problem("internal"))
            return False
        return True

    def _given(
        self, batch: Sequence[_Item], left: list[_Item], read: list[_Item]
    ) -> Iterator[Dialogue]:
        """The dialogues of a batch that somebody waits for, each when the model takes it."""
        self._began = time.monotonic()  # a process that had to be started first is no usual cost
        for item in batch:
            if item.is_over:
                left.remove(item)
            elif self._tries(item) >= _MOST_TRIES:
                left.remove(item)
                item.done(Problem("quarantined", "it was tried twice; report it to us"))
            else:
                read.append(item)
                yield item.request.read()

    def _put_back(self, left: Sequence[_Item], suspects: Sequence[_Item]) -> None:
        """Have what is left of a batch worked on again; a suspect's last try was its last."""
        for mark in {item.mark for item in suspects}:  # the same dialogue may be in it twice
            self._note_failure(mark)
        with self._changed:
            for item in sorted(left, key=lambda item: item in suspects):
                if item.is_over:
                    continue
                if item in suspects:
                    item.order = max((one.order for one in self._queue), default=item.order)
                if self._tries(item) >= _MOST_TRIES:
                    item.done(Problem("internal"))
                else:
                    self._queue.append(item)

    def _answer(self, item: _Item, summary: Summary) -> None:
        try:
            presented = item.request.shown(summary)
        except Problem as problem:
            item.done(problem)
            return
        status = presented.summary.status
        self._metrics.statuses.labels(status).inc()
        if status == "error":
            self._note_failure(item.mark)
        else:
            self._failures.pop(item.mark, None)
        item.done(presented)

    def _tries(self, item: _Item) -> int:
        """How often its dialogue failed, and how often a process died of it or beside it."""
        died = 0 if self._crashes is None else self._crashes.tries(item.mark)
        return self._failures.get(item.mark, 0) + died

    def _note_failure(self, mark: str) -> None:
        self._failures[mark] = self._failures.pop(mark, 0) + 1
        while len(self._failures) > _REMEMBERED:
            self._failures.popitem(last=False)


def _needs_no_network(item: _Item) -> bool:
    return item.request.options.style == "faithful"


def _mark_of(dialogue: Dialogue) -> str:
    """A dialogue that failed is remembered by a hash, not by its words."""
    said = "\0".join(f"{one.speaker}\1{one.text}" for one in dialogue.utterances)
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()
