"""What becomes of a dialogue that something goes wrong with: a record that says so, and a log line.

A failure has an id, made of what went wrong and where: the same fault has the same id, in the
record, in the log and in a report to us.
"""

import hashlib
import logging
import traceback
from pathlib import Path

from dialogist.records import Coverage, Dialogue, Summary

LOGGER = logging.getLogger("dialogist")
"""Where failures are told, each with its traceback."""

_PACKAGE = Path(__file__).resolve().parents[1]
_LONGEST = 200
"""Characters of an error's own message that are told: it may quote a whole dialogue."""


def failed(dialogue: Dialogue, error: Exception, model: str = "") -> Summary:
    """Log what went wrong with a dialogue, and return the record that stands for its summary."""
    place = _place(error)
    number = hashlib.sha256(f"{type(error).__name__} {place}".encode()).hexdigest()[:8]
    message = " ".join(str(error).split())[:_LONGEST]
    what = f"{type(error).__name__}: {message}" if message else type(error).__name__
    named = f"{dialogue.id}: " if dialogue.id else ""
    LOGGER.error("%serror %s at %s: %s", named, number, place, what, exc_info=error)
    return Summary(
        text="",
        id=dialogue.id,
        status="error",
        reason=f"{what} (error {number})",
        coverage=Coverage(utterances=len(dialogue.utterances)),
        model=model,
    )


def _place(error: Exception) -> str:
    """File and line where our own code failed, such as ``text/quantities.py:126``."""
    found = "an unknown place"
    for frame in traceback.extract_tb(error.__traceback__):
        path = Path(frame.filename)
        if path.is_relative_to(_PACKAGE):
            found = f"{path.relative_to(_PACKAGE).as_posix()}:{frame.lineno}"
    return found
