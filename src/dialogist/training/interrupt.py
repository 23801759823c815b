"""SIGINT and SIGTERM during training: finish the update, save, leave; a second one leaves now."""

import os
import signal
import threading
from types import FrameType

_WATCHED = (signal.SIGINT, signal.SIGTERM)


class Interrupted(Exception):
    """Training stopped on a signal after saving a checkpoint.

    ``exit_code`` is 128 + the signal's number: 130 for SIGINT, 143 for SIGTERM.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class SignalWatch:
    """Remembers the first SIGINT or SIGTERM while active, and lets the second one through.

    Python runs handlers in the main thread only. While that is inside a library which calls us
    back in a thread of its own (the tokenizer trainer), `check` learns of a signal from the
    descriptor to which Python writes its number at once.
    """

    def __init__(self, second_leaves: bool = True) -> None:
        """``second_leaves`` False: torchrun repeats a signal that came to all its processes."""
        self._second_leaves = second_leaves
        self.received: int | None = None
        self._previous: dict[int, signal.Handlers | object] = {}
        self._wakeup: tuple[int, int, int] | None = None  # ours to read, ours to write, the former

    def __enter__(self) -> "SignalWatch":
        if threading.current_thread() is not threading.main_thread():
            return self  # Python lets only the main thread set handlers
        for number in _WATCHED:
            self._previous[number] = signal.getsignal(number)
            signal.signal(number, self._remember)
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        os.set_blocking(writing, False)
        former = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self._wakeup = reading, writing, former
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        if self._wakeup is not None:
            reading, writing, former = self._wakeup
            self._wakeup = None
            signal.set_wakeup_fd(former)
            os.close(reading)
            os.close(writing)

    def _remember(self, number: int, _: FrameType | None) -> None:
        self.received = number
        if self._second_leaves:
            signal.signal(number, signal.SIG_DFL)

    def check(self) -> None:
        """Raise `Interrupted` if a signal came; any thread may ask."""
        if self.received is None:
            self.received = self._announced()
        if self.received is not None:
            raise Interrupted(self.received)

    def _announced(self) -> int | None:
        """A signal of ours whose handler has not run yet."""
        if self._wakeup is None:
            return None
        try:
            numbers = os.read(self._wakeup[0], 64)
        except BlockingIOError:
            return None
        return next((number for number in numbers if number in _WATCHED), None)
