"""Files that are complete or absent, whatever moment the process dies at; folders with one worker.

What is being written stands under a temporary name, is synced to disk, and is renamed.
"""

import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dialogist.errors import ConfigError, DataError, UsageError

TEMPORARY = ".incomplete-"
"""What every name of something unfinished begins with; it may be removed at any time."""

LOCK = ".lock"

_PACKAGE = "package:"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one line that a file or folder cannot be written.

    Raises:
        DataError: what is done within ends with an OSError.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Say in one line that a file cannot be read.

    Raises:
        DataError: what is done within ends with an OSError.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty where there is none that can be read."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def temporary_for(path: Path) -> Path:
    """The name under which ``path`` is written until it is complete."""
    return path.with_name(f"{TEMPORARY}{path.name}")


def write_text_atomically(path: Path, text: str) -> None:
    """Replace a small file in one rename."""
    temporary = temporary_for(path)
    temporary.write_text(text, encoding="utf-8")
    sync(temporary)
    temporary.replace(path)


def write_folder_atomically(folder: Path, write: Callable[[Path], object]) -> None:
    """Make a folder that has all the files that ``write`` puts into it, or is not there.

    One that is there already is removed just before.
    """
    temporary = temporary_for(folder)
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    write(temporary)
    for path in temporary.iterdir():
        sync(path)
    sync(temporary)
    if folder.exists():
        shutil.rmtree(folder)
    temporary.rename(folder)
    sync(folder.parent)


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


def located(path: str) -> Path:
    """A path as a recipe names it; ``package:NAME/...`` lies in an installed Python package.

    Nothing of the package is run.

    Raises:
        ConfigError: it is not installed.
    """
    if not path.startswith(_PACKAGE):
        return Path(path)
    name, _, inside = path.removeprefix(_PACKAGE).partition("/")
    spec = importlib.util.find_spec(name) if name.isidentifier() else None
    if spec is None or not spec.submodule_search_locations:
        raise ConfigError(
            f"{path}: there is no Python package {name} here: install it "
            f"(pip install --no-deps {name.replace('_', '-')}) or name a folder"
        )
    return Path(spec.submodule_search_locations[0]) / inside


@contextmanager
def alone_in(folder: Path, work: str) -> Iterator[None]:
    """Keep two processes from writing to one folder; the lock dies with its process.

    Raises:
        UsageError: another process is at ``work`` (``training``) there.
    """
    with (folder / LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"{folder}: another process is {work} here") from None
        yield


JSON_ENDS = (".jsonl", ".json", ".ndjson")


TABLE_ENDS = (".csv", ".tsv")


_ENDS = (".gz", *JSON_ENDS, *TABLE_ENDS, ".txt", ".predictions")


def bare_name(file_name: str) -> str:
    """A file's name without the ends that say what it is."""
    name = file_name
    for end in _ENDS:
        if name.lower().endswith(end):
            name = name[: -len(end)]
    return name or file_name


def short_names(names: Sequence[str]) -> list[str]:
    """The last part of each, without what says the kind of file; more parts where these are alike.

    Those that stay alike, for they are the same path, stay as they are.
    """
    parts = [Path(_without_kind(name)).parts or (name,) for name in names]
    lengths = [1] * len(names)
    while True:
        found = ["/".join(own[-n:]) for own, n in zip(parts, lengths, strict=True)]
        counts = Counter(found)
        longer = [
            min(n + 1, len(own)) if counts[name] > 1 else n
            for name, own, n in zip(found, parts, lengths, strict=True)
        ]
        if longer == lengths:
            return found
        lengths = longer


def _without_kind(name: str) -> str:
    path = Path(name)
    if not path.is_file():
        return name.rstrip("/") or name
    return str(path.with_name(bare_name(path.name)))


NETWORK = "DIALOGIST_ALLOW_NETWORK"
"""Set to 1, by a person or by ``--allow-network``: other machines may be talked to."""


def allow_network() -> None:
    """Allow it, for this process and those it starts."""
    os.environ[NETWORK] = "1"


def network_allowed() -> bool:
    """Whether models may be downloaded, and dialogues sent to an endpoint that somebody names."""
    return os.environ.get(NETWORK, "") == "1"


# Pretrained models by their names; told apart without transformers or torch.


def is_pretrained_source(name: str) -> bool:
    """Whether a name can only be a pretrained model's: a GGUF file, a folder of transformers, or
    ``owner/name`` where nothing here is called so."""
    path = Path(name)
    if path.is_dir():
        return _architecture_of(path) is not None
    if path.suffix.lower() == ".gguf":
        return True
    owner, slash, rest = name.partition("/")
    return (
        bool(slash and owner and rest)
        and "/" not in rest
        and not path.exists()
        and (not owner.startswith((".", "~")))
    )


def _architecture_of(folder: Path) -> str | None:
    values = json_object(folder / "config.json")
    kind = values.get("model_type") if values.get("format") != "dialogist" else None
    return kind if isinstance(kind, str) else None
