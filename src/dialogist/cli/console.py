"""What the commands say on stderr: notes, failures, and the progress of work that takes a while.

Whatever leaves the process on stderr passes `filtered`: personal data that an input file put into
an id, a name or a quoted value is masked there, unless somebody asked to see it.
"""

import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from typing import TypeVar

from dialogist.language.tokens import counted
from dialogist.plain_text import time_in_words

SHOW_PERSONAL_DATA = "DIALOGIST_SHOW_PERSONAL_DATA"
SILENT_SECONDS = 2.0
"""Work that takes less shows no progress."""
LINE_SECONDS = 10.0
"""Between two lines of progress where stderr is no terminal."""

_SLUG = re.compile(
    r"(?<![\w@.+-])(?=[\w-]{24})[a-z]+(?:[-_](?:[a-z]+[0-9]?|[0-9]{1,6}(?![-_]?[0-9])))+"
    r"(?![\w-]|[\w.+-]*@)"
)
"""A long name of small words and short numbers, of a recipe or a run: it looks like a token."""
_HIDE = {ord(str(n)): chr(0x104A0 + n) for n in range(10)}  # digits of Osmanya
_SHOW = {ord(letter): chr(digit) for digit, letter in _HIDE.items()}

T = TypeVar("T")

_is_silent = False
_shown: "Meter | None" = None
"""Whose line stands on the terminal."""


def silence(silent: bool) -> bool:
    """Show no progress in this process, or show it again; returns what it is given."""
    global _is_silent
    _is_silent = silent
    return silent


def is_silent() -> bool:
    """Whether no progress is shown."""
    return _is_silent


def filtered(text: str) -> str:
    """A line for stderr without personal data, if that is not to be shown."""
    if os.environ.get(SHOW_PERSONAL_DATA, "") in ("1", "true", "yes"):
        return text
    # Every kind holds a digit or an @: most lines need no look.
    if not any(c == "@" or c.isdecimal() for c in text):
        return text
    from dialogist.privacy.masking import masked_line

    if os.environ.get("DIALOGIST_MASK_DENY"):  # it may list such a name
        return masked_line(text)
    hidden = _SLUG.sub(lambda slug: slug[0].translate(_HIDE), text)
    return masked_line(hidden).translate(_SHOW)


def complain(text: str, own: bool = False) -> None:
    """One or more lines on stderr as they are, but for personal data; ``own``: see `note`."""
    if _shown is not None:
        _shown.close()
    masked = text if own else "\n".join(map(filtered, text.split("\n")))
    print(masked, file=sys.stderr, flush=True)


def note(text: str, own: bool = False) -> None:
    """One line on stderr, control characters out (file contents must not steer a terminal).

    ``own``: it holds our words and counts alone, nothing that was read ("2 ADDRESS, 22 CODE").
    """
    line = "dialogist: " + "".join(c if c.isprintable() else " " for c in text)
    complain(line, own)


def code_of(failures: int, unit: str, what: str) -> int:
    """Say how many ``unit`` (records) went wrong, and how; the exit code."""
    if failures:
        note(f"{counted(failures, unit)} {what}; the others are done", own=True)
    return 3 if failures else 0


class _OnStderr(logging.Handler):
    """Tells what the package logs as notes; the traceback below them with DIALOGIST_DEBUG=1."""

    def __init__(self, lines: bool) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        if self._lines:
            note(record.getMessage())
        if record.exc_info and os.environ.get("DIALOGIST_DEBUG"):
            complain("".join(traceback.format_exception(*record.exc_info)).rstrip("\n"))


def tell_failures(lines: bool = True) -> None:
    """Have what the package logs told on stderr; without ``lines`` tracebacks alone."""
    logger = logging.getLogger("dialogist")
    logger.handlers = [_OnStderr(lines)]
    logger.propagate = False


class Meter:
    """Shows on stderr how much of some work is done, with rate and time left, and a closing count.

    ``doing`` is what happens in words (``summarized``), ``unit`` what is counted, in the plural;
    ``total`` None: how many there are is not known, and so neither is the time left. On a terminal
    one line is written over and over, elsewhere one every ten seconds.
    """

    def __init__(self, doing: str, total: int | None, unit: str, quiet: bool = False) -> None:
        self._doing, self.total, self._unit = doing, total, unit
        self._quiet = quiet or _is_silent
        self._started = self._shown = time.monotonic()
        self._done = self._width = 0
        self.failed = 0
        """How many of those done are errors."""

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def update(self, done: int) -> None:
        """So many are done; shows it if it is time."""
        self._done = done
        # A line that is written over must not have output running through it.
        on_terminal = sys.stderr.isatty() and not sys.stdout.isatty()
        wait = 0.1 if on_terminal else LINE_SECONDS
        now = time.monotonic()
        if self._quiet or self.seconds < SILENT_SECONDS or now - self._shown < wait:
            return
        self._shown = now
        if on_terminal:
            global _shown
            _shown, line = self, self.line()
            print(f"\r{line.ljust(self._width)}", end="", file=sys.stderr, flush=True)
            self._width = len(line)
        else:
            note(self.line(), own=True)

    def line(self) -> str:
        """How far it is: ``summarized 128/500 dialogues, 5.4/s, 1:09 left``."""
        rate = self._done / max(self.seconds, 1e-9)
        done = counted(self._done, self._unit)
        if self.total is not None:
            done = f"{self._done:,}/{counted(self.total, self._unit)}"
        parts = [f"{self._doing} {done}", f"{rate:.1f}/s"]
        if self.failed:
            parts.append(counted(self.failed, "errors"))
        if self.total is not None and self._done:
            parts.append(f"{time_in_words(round((self.total - self._done) / rate))} left")
        return ", ".join(parts)

    def finish(self, what: str = "") -> None:
        """Say how many were done, if it took a while; ``what`` stands before."""
        self.close()
        if not self._quiet and self.seconds >= SILENT_SECONDS:
            words = what or f"{self._doing} {counted(self._done, self._unit)}"
            seconds = self.seconds
            took = f"{seconds:.0f} s" if seconds < 120 else f"{time_in_words(round(seconds))} min"
            note(f"{words} in {took} ({self._done / seconds:.1f}/s)", own=True)

    def close(self) -> None:
        global _shown
        if self._width:
            print(f"\r{' ' * self._width}\r", end="", file=sys.stderr, flush=True)
            self._width, _shown = 0, None


def tracked(items: Iterable[T], meter: Meter) -> Iterator[T]:
    """Pass items on and count them; the closing count comes behind the last."""
    try:
        for done, item in enumerate(items, 1):
            yield item
            meter.update(done)
        meter.finish()
    finally:
        meter.close()
