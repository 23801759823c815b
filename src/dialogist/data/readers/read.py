"""The way in: a path or stream and its format, a stream of dialogues out."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from dialogist.data.readers.base import Problem, Reader, ReadOptions, Reporter
from dialogist.data.readers.columnar import dataset_files
from dialogist.data.readers.folders import files_in, stem_in
from dialogist.data.readers.head import Head, head_of
from dialogist.data.readers.keys import some
from dialogist.data.readers.registry import ENDINGS, READERS
from dialogist.data.readers.slack import is_slack_export, read_slack_folder
from dialogist.data.readers.source import Source, open_source, source_of_bytes
from dialogist.errors import DataError, UsageError, nearest
from dialogist.records import Dialogue

OnProblem = Callable[[Problem], None]
OnNote = Callable[[str], None]
_LOGGER = logging.getLogger("dialogist")


def _log(problem: Problem) -> None:
    _LOGGER.warning("%s", problem)


def _log_note(text: str) -> None:
    _LOGGER.info("%s", text)


def read_dialogues(
    origin: Path | str | BinaryIO,
    options: ReadOptions | None = None,
    on_problem: OnProblem = _log,
    on_note: OnNote = _log_note,
) -> Iterator[Dialogue]:
    """Open ``origin`` (a path, ``-`` for standard input, or a binary stream); stream its dialogues.

    ``options``: None for a format and columns found by themselves. ``on_problem`` is told each
    record that cannot be read; without it the logger ``dialogist`` warns of it.

    A folder stands for the files in it. What can be seen at once is raised by the call; the rest
    while the dialogues are read. A file that breaks off (truncated gzip) gives what it holds before
    the error. ``on_note`` is told what was decided: a detected encoding, what a condition left out.

    Raises:
        DataError: the file cannot be read, is no text, has no known format, or holds no dialogue;
            with ``options.strict`` also at the first bad record.
        UsageError: there is no such format or encoding.
    """
    options = options or ReadOptions()
    origin = Path(origin) if isinstance(origin, str) else origin
    _check_format(options.format)
    if isinstance(origin, Path) and origin.is_dir():
        return _folder(origin, options, on_problem, on_note)
    return _file(open_source(origin, options.encoding), options, on_problem, on_note)


def _file(
    source: Source, options: ReadOptions, on_problem: OnProblem, on_note: OnNote
) -> Iterator[Dialogue]:
    name = detect(source) if options.format == "auto" else options.format
    reader = READERS[name]
    _refuse_conditions(reader, name, source, options)
    found = _Found(on_problem)
    report = Reporter(source.name, options.strict, found.problem, on_note)
    if source.detected not in ("", "utf-8"):
        report.note(f"read as {source.detected}, its likely encoding; --encoding names another")
    return found.dialogues(source, reader.parse(source, options, report))


def _folder(
    folder: Path, options: ReadOptions, on_problem: OnProblem, on_note: OnNote
) -> Iterator[Dialogue]:
    """Read the files of a folder; one that cannot be read is a problem, and the rest goes on.

    Raises:
        DataError: there is no file to read.
    """
    report = Reporter(str(folder), options.strict, on_problem, on_note)
    if options.format in ("auto", "slack") and is_slack_export(folder):
        return read_slack_folder(folder, options, report)
    if saved := dataset_files(folder):
        return _files(saved, folder, options, report)
    listing = files_in(folder, ENDINGS)
    if not listing.files:
        raise DataError(f"{folder}: no file with a known ending ({', '.join(sorted(ENDINGS))})")
    if listing.skipped:
        report.note(listing.described())
    return _files(listing.files, folder, options, report)


def _files(
    files: list[Path], folder: Path, options: ReadOptions, report: Reporter
) -> Iterator[Dialogue]:
    for file in files:
        try:
            source = open_source(file, options.encoding, stem_in(folder, file))
            yield from _file(source, options, report.on_problem, report.on_note)
        except DataError as error:
            if options.strict:
                raise
            reason = str(error).removeprefix(f"{file}: ")
            report.on_problem(Problem(str(file), 0, reason))


def _refuse_conditions(reader: Reader, name: str, source: Source, options: ReadOptions) -> None:
    if options.where and not reader.has_fields:
        raise DataError(
            f"{source.name}: --where is for JSON and tables, and this is read as '{name}'"
        )


class _Found:
    """Notices when a file has given neither a dialogue nor a problem."""

    def __init__(self, on_problem: OnProblem) -> None:
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


def _check_format(name: str) -> None:
    if name != "auto" and name not in READERS:
        choices = ", ".join(READERS)
        raise UsageError(f"unknown format '{name}'{nearest(name, READERS)} (one of: {choices})")


def detect_format(origin: Path | bytes, name: str = "<bytes>") -> str:
    """Return the name of the format of a file, or of the first bytes of one.

    Raises:
        DataError: it cannot be read, or no format is recognised; says what to do.
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
    raise DataError(f"{source.name}: no format recognised: {_advice(head)}")


def _advice(head: Head) -> str:
    """What was seen in a file that no format fits, and which flags may help."""
    if head.shape:
        return (
            f"its first record has none of the usual keys for turns (keys found: "
            f"{some(sorted(head.keys), 12)}); name the one with the turns by --column turns=KEY, "
            "and the keys in a turn by --column speaker=KEY --column text=KEY"
        )
    first = " ".join(head.lines[0].split())[:60] if head.lines else ""
    return (
        f"no line starts with a speaker ('Name: text'); the first line is '{first}'; "
        "--input-format transcript reads it all the same, --input-format lines takes each line "
        "as one utterance, --input-format csv a table (see docs/formats.md)"
    )
