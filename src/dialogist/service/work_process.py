"""Work in a process that can be ended: a thread cannot, and one pattern that backtracks keeps all
threads of its process waiting.
"""

import atexit
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from threading import Lock
from typing import TypeVar, cast

from dialogist.service.problems import Problem
from dialogist.service.prometheus import log_as_json, log_failure

T = TypeVar("T")
_LOOK = 0.05  # seconds between two looks at whether somebody still waits
_TRIES = 2  # of work whose process died
_CONTEXT = get_context("forkserver")
PRELOADED = "dialogist.service.preloaded"
"""What is imported once, before processes are forked; it loads all that work may need."""
_CONTEXT.set_forkserver_preload(["dialogist.service.server", PRELOADED])


class TookTooLong(Exception):
    """Work took more time than it may; its process was ended."""


class WorkProcess:
    """A process that calls functions, one after the other; another one takes the place of one that
    was ended or has died.

    Processes are forked from a server that has our code and its files loaded, and no thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: ForkServerProcess | None = None
        self._connection: Connection
        self._is_closed = False
        atexit.register(self.close)

    def call(
        self,
        function: Callable[[], T],
        seconds: float,
        most: float = 0.0,
        is_over: Callable[[], bool] = lambda: False,
    ) -> T:
        """What a function gives that can be pickled, as its result can.

        Raises:
            TookTooLong: it took more than ``most`` seconds of computing; 0 for no limit.
            Problem: it raises it, it was not done within ``seconds``, ``is_over`` became true, or
                the process died of it.
        """
        with self._lock:
            for _ in range(_TRIES):
                try:
                    return self._called((function, seconds, most), is_over)
                except (EOFError, OSError):
                    code = self._end()
                if code == -signal.SIGPROF:
                    raise TookTooLong
                if code == -signal.SIGALRM or self._is_closed:
                    break  # else somebody killed it, or it died of this
        raise Problem("deadline" if code == -signal.SIGALRM else "internal")

    def start(self) -> None:
        """Have the process begun, so that the first one who calls it does not wait."""
        with self._lock:
            if self._process is None:
                self._start()

    def close(self) -> None:
        """End the process for good, whatever it is doing."""
        self._is_closed = True
        if self._process is not None:
            self._process.kill()

    def _called(self, work: tuple[Callable[[], T], float, float], is_over: Callable[[], bool]) -> T:
        process = self._process or self._start()
        self._connection.send(work)
        while not self._connection.poll(_LOOK):
            if is_over():
                process.kill()
                self._end()
                raise Problem("deadline")
        result = self._connection.recv()
        if isinstance(result, Problem):
            raise result
        return cast(T, result)

    def _start(self) -> ForkServerProcess:
        self._connection, theirs = _CONTEXT.Pipe()
        self._process = _CONTEXT.Process(target=_work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        return self._process

    def _end(self) -> int | None:
        """End the process; gives its exit code."""
        assert self._process is not None
        process, self._process = self._process, None
        self._connection.close()  # one that has broken off ends by itself
        process.join(_LOOK)
        process.kill()
        process.join()
        return process.exitcode


def _work(connection: Connection) -> None:
    """Call what comes until the other side is gone.

    Timers end this process: they need no interpreter, which a pattern would not let go of, and
    nobody who waits.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # both are for the one who waits
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    log_as_json()
    while True:
        try:
            function, seconds, most = connection.recv()
        except EOFError:
            return
        signal.setitimer(signal.ITIMER_REAL, max(_LOOK, seconds))
        signal.setitimer(signal.ITIMER_PROF, most)
        result: object
        try:
            result = function()
        except Problem as problem:
            result = problem
        except Exception as error:  # a bug of ours: its message may quote a dialogue
            log_failure(error)
            result = Problem("internal")
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        connection.send(result)
