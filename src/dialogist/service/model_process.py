"""The model in a process of its own: while it computes, the server reads, refuses and answers.

Python runs one thread of a process at a time, and faithful style is Python: beside the event loop
the model would wait for every refusal. What goes through the socket between both is JSON. A model
that dies takes its batch with it, not the service: the next batch starts another. One that hangs is
found by its silence, for a search tells of its steps, and is killed.
"""

import math
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from dialogist.decoding import DecodingOptions, SearchStopped, check_stopped, stopping_when
from dialogist.errors import DialogistError, ModelError
from dialogist.batch.sources import packed, unpacked
from dialogist.batch.workers import receive, send
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Summary
from dialogist.service.metrics import log_as_json, log_event, log_failure

if TYPE_CHECKING:  # the process of the model needs no worker
    from dialogist.service.worker import Model

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Of numpy, not of torch. Faithful style is no faster by two, which spin and take another core."""
_NICE = (
    5  # so that on a full machine refusals and replies come first; what it writes takes far longer
)
_LOOK = 0.01  # seconds between two looks at whether anybody waits
_END = 2.0  # seconds for a process to end by itself
_SIGN = 0.5  # seconds between two signs of life
_LONG = 100_000  # bytes of a dialogue: faithful style gives no sign before its end (2.4 s measured)


class ModelProcess:
    """A `Model` whose work another process does; for one thread at a time."""

    def __init__(self, model: str, stall_seconds: float = 10, with_network: bool = False) -> None:
        """Start the process, and wait until it has loaded ``model`` (a name or folder).

        ``with_network``: also what free style needs, where the model's own style is another.
        After ``stall_seconds`` without a sign of life a process that works is killed; where it
        works on a long dialogue, after proportionally more.

        Raises:
            ModelError: it could not; in the words of `Summarizer.load`.
        """
        self._model, self._network, self._number = model, "network" * with_network, 0
        self._stall = self._patience = stall_seconds
        self._heard = 0.0
        self._connection: Connection | None = None
        self._end: Callable[[], object] = lambda: None
        ready = self._start()
        self.name = str(ready["name"])
        self.options = SummaryOptions.parse(ready["options"], "options")

    def stream(
        self, dialogues: Iterable[Dialogue], options: DecodingOptions, window: int = 64
    ) -> Iterator[Summary]:
        """One summary per dialogue, in order; one dialogue more than ``window`` is sent ahead.

        Raises:
            SearchStopped: nobody waits any more (`dialogist.decoding`).
            ModelError: the process failed, died or hung; the next call starts another.
        """
        if self._connection is None:
            self._start()
        self._number += 1
        self._patience = self._stall
        chosen = options.model_dump(mode="json", include=options.model_fields_set)
        order = {"batch": self._number, "options": chosen, "window": window}
        try:
            self._send(order)
        except ModelError:  # it died while it had nothing to do
            self._start()
            self._send(order)
        remaining, ahead, is_done = iter(dialogues), 0, False
        try:
            while True:
                while not is_done and ahead <= window:
                    dialogue = next(remaining, None)
                    is_done = dialogue is None
                    line = packed(dialogue).decode() if dialogue else ""
                    self._patience = max(self._patience, self._stall * (1 + len(line) / _LONG))
                    self._send({"dialogue": line} if dialogue else {"end": 1})
                    ahead += not is_done
                if is_done and not ahead:
                    return
                answer = self._answer()
                if "summary" not in answer:
                    raise ModelError("the model failed; its own log line says where")
                ahead -= 1
                yield Summary.from_json(answer["summary"])
        finally:
            if (ahead or not is_done) and self._connection is not None:  # stopped, failed, or left
                self._leave()

    def _leave(self) -> None:
        """Have the process end this batch.

        Raises:
            ModelError: it died meanwhile, or hangs.
        """
        self._send({"stop": self._number})
        self._send({"end": 1})
        while "over" not in self._answer_so_far():
            pass

    def _answer(self) -> Any:
        """The next answer of this batch, once it is there."""
        self._heard = time.monotonic()
        while not (answer := self._answer_so_far()):
            check_stopped()
        return answer

    def _answer_so_far(self) -> Any:
        """The next answer of this batch; nothing if it takes longer, or is but a sign of life.

        Raises:
            ModelError: there was no sign for too long.
        """
        if not self._poll():
            if time.monotonic() - self._heard > self._patience:
                raise self._death("hangs")
            return {}
        answer = self._receive()
        if answer["batch"] != self._number:  # the end of the one before
            return {}
        self._heard = time.monotonic()
        return {name: value for name, value in answer.items() if name != "batch"}

    def _start(self) -> Any:
        """Start a process; what it says once its model is loaded."""
        ours, theirs = socket.socketpair()
        # One that hangs in C reads nothing; what is sent to it must not wait for ever.
        limit = struct.pack("ll", math.ceil(self._stall), 0)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        with theirs:
            process = subprocess.Popen(
                [sys.executable, "-m", __name__, str(theirs.fileno()), self._model, self._network],
                pass_fds=[theirs.fileno()],
                env={**_ONE_THREAD, **os.environ},
            )
        self._connection = Connection(ours.detach())
        self._end = weakref.finalize(self, _end, process, self._connection)
        ready = self._receive()
        if "refused" in ready:
            self._close()
            raise ModelError(ready["refused"])
        return ready

    def _send(self, message: dict[str, Any]) -> None:
        try:
            send(self._opened(), message)
        except BlockingIOError:
            raise self._death("hangs") from None
        except OSError:
            raise self._death() from None

    def _poll(self) -> bool:
        try:
            return self._opened().poll(_LOOK)
        except OSError:
            raise self._death() from None

    def _receive(self) -> Any:
        try:
            return receive(self._opened())
        except (EOFError, OSError):
            raise self._death() from None

    def _opened(self) -> Connection:
        if self._connection is None:
            raise BrokenPipeError
        return self._connection

    def _death(self, how: str = "died") -> ModelError:
        self._close()
        log_event(f"the process of the model {how}")
        return ModelError(f"the process of the model {how}")

    def _close(self) -> None:
        self._end()
        self._connection = None


def _end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    """Close the socket, which ends the process; one that goes on computing is killed."""
    connection.close()
    try:
        process.wait(_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class _Orders:
    """What the server sends, read by a thread of its own: the server never waits to send it."""

    def __init__(self, connection: Connection) -> None:
        self.stopped: float = 0
        """The last batch that nobody waits for; all of them once the server is gone."""
        self._orders: SimpleQueue[Any] = SimpleQueue()
        Thread(target=self._read, args=(connection,), daemon=True).start()

    def batches(self) -> Iterator[Any]:
        """The orders that begin a batch, until the server is gone."""
        while (order := self._orders.get()) is not None:
            if "batch" in order:
                yield order

    def dialogues(self, number: int) -> Iterator[Dialogue]:
        """The dialogues of a batch; of one that was stopped no more."""
        while "end" not in (order := self._orders.get()):
            if "dialogue" in order and self.stopped < number:
                dialogue = unpacked(order["dialogue"].encode())
                assert isinstance(dialogue, Dialogue)
                yield dialogue

    def _read(self, connection: Connection) -> None:
        with suppress(EOFError, OSError):
            while True:
                order = receive(connection)
                self.stopped = max(self.stopped, order.get("stop", 0))
                self._orders.put(order)
        self.stopped = math.inf
        self._orders.put({"end": 1})
        self._orders.put(None)


def work(connection: Connection, model: "Model") -> None:
    """Summarize what the server sends, until it is gone."""
    options = model.options.model_dump(mode="json")
    send(connection, {"name": model.name, "options": options})
    orders = _Orders(connection)
    for order in orders.batches():
        _work_on(connection, model, order, orders)


def _work_on(connection: Connection, model: "Model", order: Any, orders: _Orders) -> None:
    """Answer a batch; what fails here is logged here, and the batch is over."""
    number = int(order["batch"])
    dialogues = orders.dialogues(number)
    told = 0.0

    def is_over() -> bool:
        """Asked at each step of a search: now and then the server is told that there was one."""
        nonlocal told
        if time.monotonic() - told > _SIGN:
            told = time.monotonic()
            send(connection, {"batch": number})
        return orders.stopped >= number

    try:
        with stopping_when(is_over):
            options = SummaryOptions.parse(order["options"], "options")
            for summary in model.stream(dialogues, options, order["window"]):
                send(connection, {"batch": number, "summary": summary.to_json()})
    except SearchStopped:
        pass
    except BrokenPipeError:  # the server is gone
        raise
    except Exception as error:
        log_failure(error, "")
        send(connection, {"batch": number, "failed": 1})
    for _ in dialogues:  # those that were sent and not read
        pass
    send(connection, {"batch": number, "over": 1})


def _main(descriptor: str, model: str, network: str) -> None:
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)  # they are for the server, which ends this by its socket
    log_as_json()
    os.nice(_NICE)
    connection = Connection(int(descriptor))
    with suppress(OSError):  # the server is gone
        try:
            loaded = Summarizer.load(model)
            if network:
                loaded.load_network()
        except DialogistError as error:
            send(connection, {"refused": str(error)})
            return
        work(connection, loaded)


if __name__ == "__main__":
    _main(*sys.argv[1:])
