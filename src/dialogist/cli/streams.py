"""What commands read and write: input files, forms of output, and files complete or absent."""

import errno
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, TypeVar

import typer

from dialogist.cli.console import Meter, code_of, filtered, is_silent, note, tracked
from dialogist.errors import DataError, UsageError
from dialogist.files import replacing
from dialogist.records import Dialogue

if TYPE_CHECKING:
    from dialogist.formats import ReadOptions

OutputFormat = StrEnum("OutputFormat", ["text", "json", "jsonl", "md", "csv"])
"""Forms of summaries."""
Records = StrEnum("Records", ["text", "jsonl"])
"""Forms of dialogues."""
Facts = StrEnum("Facts", ["text", "json"])
"""Forms of what a command finds out."""

_BY_SUFFIX = {".txt": "text"} | {
    f".{form}": form for form in ("json", "jsonl", "md", "csv", "html")
}
_FOREIGN = (
    *(".docx", ".doc", ".odt", ".rtf", ".pdf", ".xlsx", ".xls", ".ods"),
    *(".tsv", ".xml", ".yaml", ".parquet", ".png", ".svg", ".db", ".sqlite", ".sqlite3"),
    *(".gz", ".zst", ".bz2", ".xz", ".zip"),
)
"""Suffixes whose programs could not read any form of ours."""

FormT = TypeVar("FormT", bound=StrEnum)


def output_format_of(output: Path | None, format: FormT | None, usual: FormT) -> FormT:
    """The form to write: --format, else what the suffix of --output says, else ``usual``.

    Call it first: a command that works for an hour must not fail at the end.

    Raises:
        UsageError: the file cannot be made there, or its suffix names a form that the command
            does not have.
    """
    if output is not None:
        if output.is_dir():
            raise UsageError(f"--output {output}: is a folder; name a file in it")
        if not Path(os.path.realpath(output)).parent.is_dir() and not is_special(output):
            raise UsageError(
                f"--output {output}: there is no folder {output.parent}; make it first"
            )
    suffix = "" if output is None else output.suffix.lower()
    named = suffix[1:] if suffix in _FOREIGN else _BY_SUFFIX.get(suffix)
    if format is not None or named is None:
        return format or usual
    forms = type(usual)
    if named not in list(forms):
        raise UsageError(
            f"--output {output}: this command does not write {named}; it writes "
            f"{', '.join(forms)} (choose with --format)"
        )
    return forms(named)


def is_special(output: Path) -> bool:
    """Whether a device, a pipe or a socket is there: what cannot be replaced by a file."""
    return output.exists() and not output.is_file() and not output.is_dir()


@contextmanager
def output_to(output: Path | None, mark: bool = False) -> Iterator[None]:
    """Send what is printed within the block to a file; without one, to standard output.

    A symbolic link is followed; a device or a pipe is written to as it is. ``mark``: the file
    begins with a byte-order mark, by which Excel knows UTF-8.

    Raises:
        DataError: the file cannot be written.
    """
    if output is None:
        yield
        return
    is_replaced = not is_special(output)
    place = replacing(Path(os.path.realpath(output))) if is_replaced else nullcontext(output)
    with _full_told(output), place as path:
        file = path.open("w", encoding="utf-8", errors="replace", newline="\n")
        with file, redirect_stdout(file):
            if mark and is_replaced:
                file.write("\ufeff")
                file.flush()
            yield


def write_facts(
    facts: object, lines: Iterable[str], output: Path | None, format: Facts | None
) -> None:
    """Write what a command finds out: in ``lines``, or as JSON.

    Raises:
        UsageError: as `output_format_of`.
        DataError: the file cannot be written.
    """
    kind = output_format_of(output, format, Facts.text)
    shown = [json.dumps(facts, ensure_ascii=False, indent=2)] if kind is Facts.json else lines
    with output_to(output):
        for line in shown:
            typer.echo(line)


def write_now(text: str) -> None:
    """Write to standard output at once, in UTF-8 whatever the locale."""
    sys.stdout.buffer.write(text.encode("utf-8", errors="backslashreplace"))
    sys.stdout.buffer.flush()


@contextmanager
def _full_told(output: Path) -> Iterator[None]:
    """Say where there is no room; other errors within may be of anything."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise
        raise DataError(
            f"{output}: cannot be written: {error.strerror}; make room, or give another --output"
        ) from None


Files = Annotated[
    list[Path] | None,
    typer.Argument(help="Dialogue files, or - for stdin (the default when piped into)."),
]


def sources_of(files: Sequence[Path] | None, output: Path | str | None = None) -> list[Path]:
    """The files to read, stdin if there are none and something is piped in.

    Raises:
        UsageError: there is no input, or ``output`` is among it or would be the next time.
        DataError: there is no such file.
    """
    if not files and sys.stdin.isatty():
        raise UsageError("no input: give files, or pipe a dialogue in (see --help)")
    sources = list(files or [Path("-")])
    for source in sources:
        if str(source) != "-" and not source.exists():
            raise DataError(f"{source}: no such file")
    check_apart(output, sources)
    return sources


def check_apart(output: Path | str | None, inputs: Sequence[Path | str]) -> None:
    """See that what is written is no other file, nor read as one (of a pattern) the next time.

    Raises:
        UsageError: it is.
    """
    if not output or "://" in str(output):
        return
    target = Path(os.path.realpath(output))
    for name in inputs:
        source = Path(os.path.realpath(name))
        if str(name) == "-" or is_special(source):
            continue
        if source == target or (source.exists() and target.exists() and source.samefile(target)):
            raise UsageError(f"--output {output}: is another file of this call; give another place")
        names = ("part-00000.jsonl", "part-00000.parquet", "manifest.json")
        made = {path for name in names for path in (target / name, *(target / name).parents)}
        depth = 0 if source.exists() else len(target.parts) + 1
        patterns = [str(source).replace("**/", "*/" * n) for n in range(depth)]
        if source in made or any(path.match(pattern) for path in made for pattern in patterns):
            raise UsageError(
                f"--output {output}: lies in the input {name}, and would be read as input; "
                "give a place outside"
            )


class InputReading:
    """Reads files one after the other; what cannot be read is a problem, and the rest goes on."""

    def __init__(self, options: "ReadOptions", watched: bool = True) -> None:
        """``watched``: show progress, counted in dialogues read."""
        self.options, self._watched = options, watched
        self.problems = 0

    def dialogues(self, files: Sequence[Path | BinaryIO]) -> Iterator[Dialogue]:
        """All dialogues of all files.

        Raises:
            DataError: the only file cannot be read at all; with ``strict``, at the first problem.
        """
        dialogues = self._dialogues(files)
        if not self._watched:
            return dialogues
        return tracked(dialogues, Meter("read", expected_records(files), "dialogues"))

    def _dialogues(self, files: Sequence[Path | BinaryIO]) -> Iterator[Dialogue]:
        from dialogist.formats import read_dialogues

        for file in files:
            try:
                yield from read_dialogues(file, self.options, self.report, note_of_reading)
            except DataError as error:
                if len(files) == 1 or self.options.strict:
                    raise
                self.report(error)

    def report(self, problem: object) -> None:
        """Tell of something that cannot be read, and count it."""
        self.problems += 1
        note(str(problem))

    def finish(self) -> int:
        """Say how many problems there were; the exit code."""
        return code_of(self.problems, "records", "could not be read")


def note_of_reading(text: str, each_file: bool = True) -> None:
    """Tell what was read: of a file's own line only its name is looked at for personal data.

    That line is only told for ``each_file``; where nothing is left out, not with --quiet either.
    """
    name, separator, ours = text.partition(": read as ")
    is_count = ": " in ours
    if not is_count or (each_file and ("; left out: " in ours or not is_silent())):
        note(f"{filtered(name)}{separator}{ours}" if separator else text, own=bool(separator))


def expected_records(files: Sequence[Path | BinaryIO]) -> int | None:
    """How many dialogues the files hold, going by their names; None: that cannot be told."""
    total = 0
    for file in files:
        if not (isinstance(file, Path) and file.is_file()):
            return None
        if file.suffix.lower() in (".txt", ".vtt", ".srt", ".docx"):
            total += 1
        elif file.suffix.lower() in (".jsonl", ".ndjson"):
            with file.open("rb") as lines:
                total += sum(1 for _ in lines)
        else:
            return None
    return total
