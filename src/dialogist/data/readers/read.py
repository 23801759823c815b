"""The way in: a path or stream and its format, a stream of dialogues out."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from dialogist.data.readers.base import Problem, ReadOptions, Reporter
from dialogist.data.readers.head import Head, head_of
from dialogist.data.readers.registry import READERS
from dialogist.data.readers.source import Source, open_source, source_of_bytes
from dialogist.errors import DataError, UsageError, nearest
from dialogist.records import Dialogue

_LOGGER = logging.getLogger("dialogist")


def _log(problem: Problem) -> None:
    _LOGGER.warning("%s", problem)


def read_dialogues(
    origin: Path | str | BinaryIO,
    options: ReadOptions | None = None,
    on_problem: Callable[[Problem], None] = _log,
) -> Iterator[Dialogue]:
    """Open ``origin`` (a path, ``-`` for standard input, or a binary stream); stream its dialogues.

    ``options``: None for a format and columns found by themselves. ``on_problem`` is told each
    record that cannot be read; without it the logger ``dialogist`` warns of it.

    What can be seen at once is raised by the call; the rest while the dialogues are read. A file
    that breaks off (truncated gzip) gives what it holds before the error.

    Raises:
        DataError: the file cannot be read, is no text, has no known format, or holds no dialogue;
            with ``options.strict`` also at the first bad record.
        UsageError: there is no such format or encoding.
    """
    options = options or ReadOptions()
    source = open_source(Path(origin) if isinstance(origin, str) else origin, options.encoding)
    reader = READERS[options.format if _is_named(options.format) else detect(source)]
    found = _Found(on_problem)
    report = Reporter(source.name, options.strict, found.problem)
    return found.dialogues(source, reader.parse(source, options, report))


class _Found:
    """Notices when a file has given neither a dialogue nor a problem."""

    def __init__(self, on_problem: Callable[[Problem], None]) -> None:
        self._on_problem = on_problem
        self._anything = False

    def problem(self, problem: Problem) -> None:
        self._anything = True
        self._on_problem(problem)

    def dialogues(self, source: Source, dialogues: Iterator[Dialogue]) -> Iterator[Dialogue]:
        for dialogue in dialogues:
            self._anything = True
            yield dialogue
        if source.failure:
            raise source.failure
        if not self._anything:
            raise DataError(f"{source.name}: holds no dialogue")


def _is_named(name: str) -> bool:
    if name != "auto" and name not in READERS:
        choices = ", ".join(READERS)
        raise UsageError(f"unknown format '{name}'{nearest(name, READERS)} (one of: {choices})")
    return name != "auto"


def detect_format(origin: Path | bytes, name: str = "<bytes>") -> str:
    """Return the name of the format of a file, or of the first bytes of one.

    Raises:
        DataError: it cannot be read, or no format is recognised; lists the formats to choose from.
    """
    if isinstance(origin, bytes):
        return detect(source_of_bytes(origin, name))
    return detect(open_source(origin))


def detect(source: Source) -> str:
    """Return the first format of `READERS` that recognises the head of ``source``.

    Raises:
        DataError: none does.
    """
    head = head_of(source)
    for name, reader in READERS.items():
        if reader.sniff(head):
            return name
    choices = ", ".join(name for name in READERS if name != "lines")
    raise DataError(
        f"{source.name}: no format recognised: {_why(head)}; use --format lines to read each line"
        f" as one utterance, or one of: {choices}"
    )


def _why(head: Head) -> str:
    if head.shape:
        keys = ", ".join(sorted(key[:40] for key in head.keys)[:12])
        return f"its first record has none of the usual keys for turns (keys found: {keys})"
    return "no line starts with a speaker ('Name: text')"
