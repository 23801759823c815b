"""What the commands say on stderr, and how training shows its progress.

Whatever leaves the process on stderr passes `filtered`: personal data that an input file put into
an id, a name or a quoted value is masked there, unless somebody asked to see it.
"""

import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from dialogist.records import JSON
from dialogist.language.tokens import counted

if TYPE_CHECKING:
    from dialogist.training.base import Progress as TrainingProgress


_SHOWN = ("train_loss", "dev_loss", "dev_rouge1", "dev_rouge2", "dev_rougeL", "train_rougeL")


SHOW_PERSONAL_DATA = "DIALOGIST_SHOW_PERSONAL_DATA"

_shown: list[bool] = []


def show_personal_data(shown: bool | None) -> None:
    """Decide for this process; None: as the environment variable says."""
    _shown[:] = [] if shown is None else [shown]


def filtered(text: str) -> str:
    """A line for stderr without personal data, if that is not to be shown."""
    if _shown[-1] if _shown else os.environ.get(SHOW_PERSONAL_DATA, "") in ("1", "true", "yes"):
        return text
    from dialogist.privacy.masking import masked_line

    return masked_line(text)


def complain(text: str) -> None:
    """One or more lines on stderr as they are, but for personal data."""
    masked = "\n".join(map(filtered, text.split("\n")))
    print(masked, file=sys.stderr, flush=True)


def note(text: str, own: bool = False) -> None:
    """One line on stderr, control characters out (file contents must not steer a terminal).

    ``own``: it holds our words and counts alone, nothing that was read ("2 ADDRESS, 22 CODE").
    """
    line = "".join(c if c.isprintable() else " " for c in text)
    if own:
        print(f"dialogist: {line}", file=sys.stderr, flush=True)
    else:
        complain(f"dialogist: {line}")


class TrainingDisplay:
    """Shows a run: a bar on a terminal; elsewhere a line now and then. Both on stderr.

    The bar is of an epoch; with ``epochs`` it is of the whole run, with the time that is left.
    """

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self.epochs: int | None = None
        self._console = Console(stderr=True)
        self._bar: Progress | None = None
        self._last_line = time.monotonic()

    def __enter__(self) -> "TrainingDisplay":
        if self._console.is_terminal and not self.quiet:
            self._bar = Progress(
                TextColumn("epoch {task.fields[epoch]}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("loss {task.fields[loss]:.3f}"),
                TimeRemainingColumn(),
                console=self._console,
            )
            self._task = self._bar.add_task("", epoch=1, loss=float("nan"))
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, progress: "TrainingProgress", updates: int, loss: float) -> None:
        """After every update."""
        if self._bar is not None:
            whole = self.epochs is not None
            self._bar.update(
                self._task,
                completed=progress.step if whole else progress.batch,
                total=updates * (self.epochs or 1),
                epoch=progress.epoch + 1,
                loss=loss,
            )
        elif not self.quiet and time.monotonic() - self._last_line > 30:
            self._last_line = time.monotonic()
            note(f"epoch {progress.epoch + 1}, update {progress.batch}/{updates}, loss {loss:.3f}")

    def epoch(self, record: Mapping[str, JSON]) -> None:
        """After every validation."""
        shown = [f"{name} {record[name]:.3f}" for name in _SHOWN if name in record]
        self.note(f"epoch {record['epoch']} done: {', '.join(shown)}")

    def note(self, text: str) -> None:
        """Something a person should know."""
        if self._bar is not None:
            self._bar.console.print(filtered(text), highlight=False, markup=False)
        elif not self.quiet:
            note(text)


# Failures of single dialogues on stderr: one line each, the traceback with DIALOGIST_DEBUG=1.


class _OnStderr(logging.Handler):
    """Tells what the package logs as the notes of a command, or nothing but tracebacks."""

    def __init__(self, lines: bool) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, with the traceback below it where somebody debugs."""
        if self._lines:
            note(record.getMessage())
        if record.exc_info and os.environ.get("DIALOGIST_DEBUG"):
            complain("".join(traceback.format_exception(*record.exc_info)).rstrip("\n"))


def tell_failures(lines: bool = True) -> None:
    """Have what the package logs told on stderr; without ``lines`` the caller tells it itself."""
    logger = logging.getLogger("dialogist")
    logger.handlers = [_OnStderr(lines)]
    logger.propagate = False


# Progress of work that takes a while: on stderr, with rate and time left, and a closing count.
#
# On a terminal a bar, elsewhere a line every ten seconds. Work of less than two seconds shows
# nothing, nor does any work with ``--quiet``.


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
