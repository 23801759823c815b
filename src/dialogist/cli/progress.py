"""Progress of work that takes a while: on stderr, with rate and time left, and a closing count.

On a terminal a bar, elsewhere a line every ten seconds. Work of less than two seconds shows
nothing, nor does any work with ``--quiet``.
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from dialogist.cli.console import note
from dialogist.text.listing import counted

SILENT_SECONDS = 2.0
LINE_SECONDS = 10.0

T = TypeVar("T")

_silent: list[bool] = []
_open: list["Meter"] = []


def silence(silent: bool) -> bool:
    """Show no progress in this process, or show it again; returns what it is given."""
    _silent[:] = [True] if silent else []
    return silent


def is_silent() -> bool:
    """Whether nothing is to be said but what went wrong."""
    return bool(_silent)


def close_all() -> None:
    """Take away the bars of work that was interrupted."""
    for meter in list(_open):
        meter.close()


class Meter:
    """Shows how much of some work is done.

    ``doing`` is what happens in words (``summarized``), ``unit`` what is counted, in the plural;
    ``total`` None: how many there are is not known, and so neither is the time left.
    """

    def __init__(self, doing: str, total: int | None, unit: str, quiet: bool = False) -> None:
        self._doing, self._total, self._unit = doing, total, unit
        self._quiet = quiet or bool(_silent)
        self._started = self._shown = time.monotonic()
        self._done = 0
        self.failed = 0
        """How many of those done are errors."""
        self._bar: Progress | None = None
        self._task = TaskID(0)

    @property
    def seconds(self) -> float:
        """Time since the work began."""
        return time.monotonic() - self._started

    def count(self, done: int) -> None:
        """So many are done; shows nothing."""
        self._done = done

    def update(self, done: int) -> None:
        """So many are done; shows it if it is time."""
        self.count(done)
        if self._quiet or self.seconds < SILENT_SECONDS:
            return
        if self._bar is None and _has_terminal():
            self._start_bar()
        if self._bar is not None:
            self._bar.update(self._task, completed=done, line=self.line())
        elif time.monotonic() - self._shown >= LINE_SECONDS:
            self._shown = time.monotonic()
            note(self.line(), own=True)

    def line(self) -> str:
        """How far it is: ``summarized 128/500 dialogues, 5.4/s, 1:09 left``."""
        rate = self._done / max(self.seconds, 1e-9)
        done = counted(self._done, self._unit)
        if self._total is not None:
            done = f"{self._done:,}/{counted(self._total, self._unit)}"
        parts = [f"{self._doing} {done}", f"{rate:.1f}/s"]
        if self.failed:
            parts.append(counted(self.failed, "errors"))
        if self._total is not None and self._done:
            parts.append(f"{_clock((self._total - self._done) / rate)} left")
        return ", ".join(parts)

    def finish(self, what: str = "") -> None:
        """Close the bar and say how many were done, if it took a while; ``what`` stands before."""
        self.close()
        if self._quiet or self.seconds < SILENT_SECONDS:
            return
        rate = self._done / self.seconds
        said = what or counted(self._done, self._unit)
        note(f"{said} in {_duration(self.seconds)} ({rate:.1f}/s)", own=True)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            _open.remove(self)
            self._bar = None

    def _start_bar(self) -> None:
        console = Console(stderr=True)
        columns = (BarColumn(), TextColumn("{task.fields[line]}", markup=False))
        self._bar = Progress(*columns, console=console, transient=True, redirect_stdout=False)
        self._task = self._bar.add_task("", total=self._total, line="")
        self._bar.start()
        _open.append(self)


def tracked(items: Iterable[T], meter: Meter) -> Iterator[T]:
    """Pass items on and count them; the closing count comes behind the last."""
    done = 0
    try:
        for item in items:
            yield item
            done += 1
            meter.update(done)
        meter.finish()
    finally:
        meter.close()


def progress(what: str, total: int, quiet: bool = False) -> Callable[[int], None]:
    """Return a function that hears how many of ``total`` dialogues are done."""
    meter = Meter(what, total, "dialogues", quiet)

    def tell(done: int) -> None:
        meter.update(done)
        if done == total:
            meter.finish(f"{what} {counted(total, 'dialogues')}")

    return tell


def _has_terminal() -> bool:
    """Whether a bar can stand on stderr without what is printed running through it."""
    return sys.stderr.isatty() and not sys.stdout.isatty()


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{_clock(seconds)} min"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
