"""The input files of a command: the flags that say how they are read, and reading them."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from dialogist.cli.console import Meter, filtered, is_silent, note, tracked
from dialogist.errors import DataError, UsageError
from dialogist.language.tokens import counted
from dialogist.records import Dialogue

if TYPE_CHECKING:
    from dialogist.formats import ReadOptions, ReadProblem

_PANEL = "Input"

Files = Annotated[
    list[Path] | None,
    typer.Argument(help="Dialogue files, or - for stdin (the default when piped into)."),
]
InputFormat = Annotated[
    str,
    typer.Option(
        help="Format of the input: auto, or a name that `data check` lists.",
        rich_help_panel=_PANEL,
    ),
]
Column = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=KEY",
        help="Which key or column holds id, dialogue, turns, speaker, text, role, summary. KEY may "
        "be a path (author.name). Repeatable.",
        rich_help_panel=_PANEL,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Read only such records, rows or turns; KEY!=VALUE: only others. Repeatable.",
        rich_help_panel=_PANEL,
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        help="Encoding of the input (default: found by its bytes).", rich_help_panel=_PANEL
    ),
]
OneDialogue = Annotated[
    bool,
    typer.Option("--one-dialogue", help="Each whole file is one dialogue.", rich_help_panel=_PANEL),
]
Sorted = Annotated[
    bool,
    typer.Option(
        "--sorted",
        help="Rows of a dialogue follow each other: read as a stream, not in memory.",
        rich_help_panel=_PANEL,
    ),
]
InternalNotes = Annotated[
    bool,
    typer.Option(
        "--include-internal",
        "--internal-notes",
        help="Tell internal and private notes, too.",
        rich_help_panel=_PANEL,
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Stop at the first bad record.", rich_help_panel=_PANEL),
]


def read_options(
    input_format: str = "auto",
    column: Sequence[str] | None = None,
    where: Sequence[str] | None = None,
    encoding: str = "",
    **switches: bool,
) -> "ReadOptions":
    """The reading flags as options; ``switches`` are those of `ReadOptions`.

    Raises:
        UsageError: a --column is not NAME=KEY, or names no known column; a --where is none.
    """
    from dialogist.formats import Condition, ReadOptions

    return ReadOptions(
        format=input_format,
        columns=pairs(column, "--column", "NAME=KEY"),
        where=tuple(map(Condition.parse, where or [])),
        encoding=encoding,
        **switches,
    )


def pairs(entries: Sequence[str] | None, flag: str, form: str) -> dict[str, str]:
    """A repeated flag of ``NAME=VALUE`` as a mapping.

    Raises:
        UsageError: one has another form, or a name comes twice.
    """
    values: dict[str, str] = {}
    for entry in entries or []:
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals or not name or not value:
            raise UsageError(f"{flag} {entry}: write it as {form}")
        if name in values:
            raise UsageError(f"{flag} {entry}: '{name}' is given twice")
        values[name] = value
    return values


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
    """See that what is written is neither an input nor read as one the next time.

    Raises:
        UsageError: it is.
    """
    if output is None or str(output) in ("", "-") or "://" in str(output):
        return
    target = Path(os.path.realpath(output))
    for name in inputs:
        source = Path(os.path.realpath(name))
        if str(name) == "-" or not source.exists():
            continue
        if source.is_file() and (source == target or (target.exists() and source.samefile(target))):
            raise UsageError(f"--output {output}: is an input, too; give another place")
        if source.is_dir() and target.is_relative_to(source):
            raise UsageError(
                f"--output {output}: lies in the input folder {name}, and would be read as input; "
                "give a place outside"
            )


class InputReading:
    """Reads files one after the other; what cannot be read is a problem, and the rest goes on."""

    def __init__(self, options: "ReadOptions", watched: bool = True) -> None:
        """``watched``: show progress, counted in dialogues read."""
        self.options = options
        self._watched = watched
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
                yield from read_dialogues(file, self.options, self._report, note_of_reading)
            except DataError as error:
                if len(files) == 1 or self.options.strict:
                    raise
                self.problems += 1
                note(str(error))

    def _report(self, problem: "ReadProblem") -> None:
        self.problems += 1
        note(str(problem))

    def finish(self) -> int:
        """Say how many problems there were; the exit code."""
        if self.problems:
            count = counted(self.problems, "records")
            note(f"{count} could not be read; the others are done", own=True)
        return 3 if self.problems else 0


def note_of_reading(text: str, each_file: bool = True) -> None:
    """Tell what was read: of a file's own line only its name is looked at for personal data.

    That line is only told for ``each_file``; where nothing is left out, not with --quiet either.
    """
    name, found, ours = text.partition(": read as ")
    is_count = ": " in ours
    if not is_count or (each_file and ("; left out: " in ours or not is_silent())):
        note(f"{filtered(name)}{found}{ours}" if found else text, own=bool(found))


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
