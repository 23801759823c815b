"""The input files of a command: the flags that say how they are read, and reading them."""

import inspect
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, BinaryIO, get_type_hints

import typer

from dialogist.cli.console import Meter, note, tracked
from dialogist.formats import READERS, Condition, ReadOptions, ReadProblem, read_dialogues
from dialogist.errors import DataError, UsageError
from dialogist.records import Dialogue
from dialogist.language.tokens import counted

# The flags that say how input files are read: one list for all commands that read dialogues.


Command = Callable[..., Any]
_FORMAT_HELP = f"Format of the input: auto, {', '.join(READERS)}."


@dataclass(frozen=True, kw_only=True)
class ReadFlags:
    """The flags as typer gives them; see `read_options`."""

    input_format: Annotated[str, typer.Option("--input-format", help=_FORMAT_HELP)] = "auto"
    column: Annotated[
        list[str] | None,
        typer.Option(
            "--column",
            help="NAME=KEY: which key or column holds id, dialogue, turns, speaker, text, role, "
            "summary. KEY may be a path (author.name). Repeatable.",
        ),
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            help="KEY=VALUE or KEY!=VALUE: read only such records, rows or turns. Repeatable.",
        ),
    ] = None
    encoding: Annotated[
        str, typer.Option("--encoding", help="Encoding of the input (default: found by its bytes).")
    ] = ""
    one_dialogue: Annotated[
        bool, typer.Option("--one-dialogue", help="Each whole file is one dialogue.")
    ] = False
    by_neighbours: Annotated[
        bool,
        typer.Option(
            "--sorted",
            help="Rows of a dialogue follow each other: read as a stream, not in memory.",
        ),
    ] = False
    internal_notes: Annotated[
        bool, typer.Option("--internal-notes", help="Read internal notes (public=false), too.")
    ] = False
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first bad record.")] = False


def with_flags(*, strict: bool = True) -> Callable[[Command], Command]:
    """Give a command the flags of each group that is the default of one of its parameters.

    A group is a dataclass whose fields are annotated as typer wants them; `ReadOptions` are made of
    `ReadFlags`. ``strict=False``: without --strict, for a command that goes on in any case.
    """

    def decorate(command: Command) -> Command:
        own = inspect.signature(command).parameters
        groups: dict[str, Any] = {
            name: ReadFlags if isinstance(each.default, ReadOptions) else type(each.default)
            for name, each in own.items()
            if is_dataclass(each.default)
        }
        flags = {name: _parameters(group) for name, group in groups.items()}
        if not strict:
            del flags["read"]["strict"]

        @wraps(command)
        def run(**given: Any) -> Any:
            _check_apart(given.get("output"), given.get("files") or given.get("inputs") or ())
            for name, group in groups.items():
                values = group(**{flag: given.pop(flag) for flag in flags[name]})
                given[name] = read_options(values) if isinstance(values, ReadFlags) else values
            return command(**given)

        parameters: list[inspect.Parameter] = []
        for each in own.values():
            parameters += flags[each.name].values() if each.name in flags else [each]
        ordered = sorted(parameters, key=lambda each: each.default is not inspect.Parameter.empty)
        run.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        run.__annotations__ = {each.name: each.annotation for each in ordered}
        return run

    return decorate


def _parameters(group: type) -> dict[str, inspect.Parameter]:
    return {
        name: inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=getattr(group, name),
            annotation=hint,
        )
        for name, hint in get_type_hints(group, include_extras=True).items()
    }


def read_options(flags: ReadFlags) -> ReadOptions:
    """The reading flags as options.

    Raises:
        UsageError: a --column is not NAME=KEY, or names no known column; a --where is none.
    """
    pairs = {}
    for entry in flags.column or []:
        name, equals, key = entry.partition("=")
        if not equals or not key:
            raise UsageError(f"--column {entry}: write it as NAME=KEY")
        pairs[name] = key
    return ReadOptions(
        format=flags.input_format,
        strict=flags.strict,
        columns=pairs,
        encoding=flags.encoding,
        where=tuple(map(Condition.parse, flags.where or [])),
        one_dialogue=flags.one_dialogue,
        by_neighbours=flags.by_neighbours,
        internal_notes=flags.internal_notes,
    )


def _check_apart(output: Path | str | None, inputs: Sequence[Path | str]) -> None:
    """See that what is written is neither an input nor read as one the next time.

    Raises:
        UsageError: it is.
    """
    if output is None or str(output) in ("", "-") or "://" in str(output):
        return
    target = Path(os.path.realpath(output))
    for one in inputs:
        source = Path(os.path.realpath(one))
        if str(one) == "-" or not source.exists():
            continue
        if source.is_file() and (source == target or (target.exists() and source.samefile(target))):
            raise UsageError(f"--output {output}: is an input, too; give another place")
        if source.is_dir() and target.is_relative_to(source):
            raise UsageError(
                f"--output {output}: lies in the input folder {one}, and would be read as input; "
                "give a place outside"
            )


# Reading the input files of a command: problems are said, counted, and decide the exit code.


class InputReading:
    """Reads files one after the other; what cannot be read is a problem, and the rest goes on."""

    def __init__(self, options: ReadOptions, watched: bool = True) -> None:
        """``watched``: show progress, counted in dialogues read."""
        self.options = options
        self._watched = watched
        self.problems = 0

    def dialogues(self, files: Sequence[Path | BinaryIO]) -> Iterator[Dialogue]:
        """All dialogues of all files.

        Raises:
            DataError: the only file cannot be read at all; with ``strict``, at the first problem.
        """
        found = self._found(files)
        if not self._watched:
            return found
        return tracked(found, Meter("read", expected_records(files), "dialogues"))

    def _found(self, files: Sequence[Path | BinaryIO]) -> Iterator[Dialogue]:
        for file in files:
            try:
                yield from read_dialogues(file, self.options, self._report, note)
            except DataError as error:
                if len(files) == 1 or self.options.strict:
                    raise
                self._say(str(error))

    def finish(self) -> int:
        """Say how many problems there were; the exit code."""
        if self.problems:
            count = counted(self.problems, "records")
            note(f"{count} could not be read; the others are done", own=True)
        return 3 if self.problems else 0

    def _report(self, problem: ReadProblem) -> None:
        self._say(str(problem))

    def _say(self, problem: str) -> None:
        self.problems += 1
        note(problem)


_ONE_RECORD = (".txt", ".vtt", ".srt", ".docx")
_A_RECORD_PER_LINE = (".jsonl", ".ndjson")


def expected_records(files: Sequence[Path | BinaryIO]) -> int | None:
    """How many dialogues the files hold, going by their names; None: that cannot be told."""
    total = 0
    for file in files:
        if not (isinstance(file, Path) and file.is_file()):
            return None
        if file.suffix.lower() in _ONE_RECORD:
            total += 1
        elif file.suffix.lower() in _A_RECORD_PER_LINE:
            with file.open("rb") as lines:
                total += sum(1 for _ in lines)
        else:
            return None
    return total
