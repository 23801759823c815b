"""The input files of a command, and reading them."""

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
