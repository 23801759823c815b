"""SIGINT and SIGTERM during training: finish the update, save, leave; a second one leaves now."""

import signal
import threading
from types import FrameType


class Interrupted(Exception):
    """Training stopped on a signal after saving a checkpoint.

    ``exit_code`` is 128 + the signal's number: 130 for SIGINT, 143 for SIGTERM.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.exit_code = 128 + number


class SignalWatch:
    """Remembers the first SIGINT or SIGTERM while active, and lets the second one through."""

    def __init__(self) -> None:
        self.received: int | None = None
        self._previous: dict[int, signal.Handlers | object] = {}

    def __enter__(self) -> "SignalWatch":
        if threading.current_thread() is not threading.main_thread():
            return self  # Python lets only the main thread set handlers
        for number in (signal.SIGINT, signal.SIGTERM):
            self._previous[number] = signal.getsignal(number)
            signal.signal(number, self._remember)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _remember(self, number: int, _: FrameType | None) -> None:
        self.received = number
        signal.signal(number, signal.SIG_DFL)

    def check(self) -> None:
        """Raise `Interrupted` if a signal came."""
        if self.received is not None:
            raise Interrupted(self.received)
