"""Which dialogues were worked on when a process died: one of them may have killed it.

Each process keeps the marks (hashes) of what it works on in a file that it locks. A file that
nobody locks is of a process that died; processes that share the folder count what such files hold.
"""

import contextlib
import fcntl
import os
import secrets
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

_KEPT = 86400.0  # seconds that a mark counts


class CrashLog:
    """The file of this process, and the marks in those of processes that died."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder = folder
        self._path = folder / f"{os.getpid()}-{secrets.token_hex(4)}"
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._changed = -1
        self._left: Counter[str] = Counter()

    def begin(self, marks: Iterable[str]) -> None:
        """Note what is worked on from now; what the system has written survives the process."""
        data = "\n".join(marks).encode("ascii")
        os.ftruncate(self._file, len(data))
        os.pwrite(self._file, data, 0)

    def end(self) -> None:
        """Nothing is worked on."""
        os.ftruncate(self._file, 0)

    def tries(self, mark: str) -> int:
        """How many processes died while they worked on it, in the last day.

        A process that takes the place of another makes a file: then the folder is read again.
        """
        changed = self._folder.stat().st_mtime_ns
        if changed != self._changed:
            self._changed, self._left = changed, Counter()
            for path in self._folder.iterdir():
                self._left.update(self._marks_left(path))
        return self._left[mark]

    def close(self) -> None:
        """Take the file away: the process ends as it should."""
        self._path.unlink(missing_ok=True)
        os.close(self._file)

    def _marks_left(self, path: Path) -> list[str]:
        """The marks in a file of a process that died; one that tells nothing is taken away."""
        with contextlib.suppress(OSError), path.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            marks = file.read().decode("ascii").split()
            if marks and time.time() - os.fstat(file.fileno()).st_mtime < _KEPT:
                return marks
            path.unlink()
        return []
