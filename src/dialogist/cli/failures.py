"""Failures of single dialogues on stderr: one line each, the traceback with DIALOGIST_DEBUG=1."""

import logging
import os
import traceback

from dialogist.cli.console import complain, note


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
