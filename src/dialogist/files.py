"""Files that are complete or absent, whatever moment the process dies at; folders with one worker.

What is being written stands under a temporary name, is synced to disk, and is renamed.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from dialogist.errors import DataError, UsageError

TEMPORARY = ".incomplete-"
"""What every name of something unfinished begins with; it may be removed at any time."""


@contextmanager
def _telling(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be {what}: {error.strerror or error}") from None


def writing(path: Path) -> AbstractContextManager[None]:
    """Say in one line that a file or folder cannot be written: DataError for an OSError within."""
    return _telling(path, "written")


def reading(path: Path) -> AbstractContextManager[None]:
    """Say in one line that a file cannot be read: DataError for an OSError within."""
    return _telling(path, "read")


@contextmanager
def claimed(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Keep other processes from writing a file, by an empty one beside it, which is given.

    Its lock dies with the process; what one that was killed left there is taken over.

    Raises:
        UsageError: another process is writing the file.
        DataError: it cannot be written there.
    """
    temporary = path.with_name(f"{TEMPORARY}{path.name}")
    with writing(path):
        if temporary.is_symlink():
            temporary.unlink()
        made = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, mode)
    with open(made, "ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_free = os.path.samefile(made, temporary)  # nobody has just put it in its place
        except OSError as error:  # some disks have no locks
            is_free = not isinstance(error, BlockingIOError | FileNotFoundError)
        if not is_free:
            raise UsageError(f"{path}: another process is writing this file")
        file.truncate(0)
        try:
            yield temporary
        finally:
            if temporary.exists() and os.path.samefile(made, temporary):
                temporary.unlink()


@contextmanager
def replacing(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """Where to write what takes the place of ``path`` in one rename, if nothing fails within."""
    with claimed(path, mode) as temporary:
        yield temporary
        with writing(path):
            sync(temporary)
            temporary.replace(path)


def write_text_atomically(path: Path, text: str) -> None:
    """Replace a small file in one rename."""
    with writing(path), replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Have the disk hold what was written to a file, or which names a folder has."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal, read as a stream."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def alone_in(folder: Path, work: str) -> Iterator[None]:
    """Keep two processes from writing to one folder; the lock dies with its process.

    Raises:
        UsageError: another process is at ``work`` (``training``) there.
    """
    with (folder / ".lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another process is {work} here") from None
        yield


NETWORK = "DIALOGIST_ALLOW_NETWORK"
"""Set to 1, by a person or by ``--allow-network``: other machines may be talked to."""


def allow_network() -> None:
    """Allow it, for this process and those it starts."""
    os.environ[NETWORK] = "1"


def network_allowed() -> bool:
    """Whether models may be downloaded, and dialogues sent to an endpoint that somebody names."""
    return os.environ.get(NETWORK, "") == "1"
