"""Progress of work that takes a while, as a line on stderr now and then."""

import sys
import time
from collections.abc import Callable

from dialogist.cli.console import note

_SECONDS = 15.0  # between two lines; on a terminal somebody is waiting
_SECONDS_SEEN = 5.0


def progress(what: str, total: int, quiet: bool = False) -> Callable[[int], None]:
    """Who hears how many of ``total`` are done: ``default: 128/500 dialogues``."""
    last = time.monotonic()
    seconds = _SECONDS_SEEN if sys.stderr.isatty() else _SECONDS

    def tell(done: int) -> None:
        nonlocal last
        if not quiet and time.monotonic() - last > seconds:
            last = time.monotonic()
            note(f"{what} {done}/{total} dialogues")

    return tell
