"""What every reader shares: its options, its interface, and how a bad record is reported."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dialogist.data.readers.head import Head
from dialogist.data.readers.source import Source
from dialogist.data.readers.where import Condition
from dialogist.errors import DataError, UsageError, nearest
from dialogist.records import Dialogue

COLUMNS = ("id", "dialogue", "turns", "speaker", "text", "role", "summary")


@dataclass(frozen=True, slots=True)
class Problem:
    """One bad line or record: where it is and what is wrong with it. Line 0 is the whole file."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a file.

    ``format`` is a name in `READERS` or ``auto``. ``strict`` turns the first bad record into a
    `DataError`. ``columns`` maps our names (`COLUMNS`) to the keys or columns of a JSON or CSV
    file; a key may be a path such as ``author.name``. ``encoding`` is the text's encoding; empty:
    UTF-8, UTF-16, or what is detected. ``where`` are conditions that a record, row or turn must
    meet. ``one_dialogue``: the whole file is one dialogue. ``by_neighbours``: the rows of a
    dialogue follow each other, so that a table need not be held in memory. ``internal_notes``:
    read them as any other message.

    Raises:
        UsageError: ``columns`` has a name that is not in `COLUMNS`, or two options exclude each
            other.
    """

    format: str = "auto"
    strict: bool = False
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    encoding: str = ""
    where: tuple[Condition, ...] = ()
    one_dialogue: bool = False
    by_neighbours: bool = False
    internal_notes: bool = False

    def __post_init__(self) -> None:
        for name in self.columns:
            if name not in COLUMNS:
                choices = ", ".join(COLUMNS)
                raise UsageError(
                    f"unknown column '{name}' (one of {choices}){nearest(name, COLUMNS)}"
                )
        if self.one_dialogue and self.by_neighbours:
            raise UsageError("--one-dialogue and --sorted exclude each other")


class BadRecord(DataError):
    """One record cannot be read; the reading loop turns it into a `Problem`."""


def no_note(text: str) -> None:
    """Ignore a note: for a caller who does not want to know."""


@dataclass(frozen=True, slots=True)
class Reporter:
    """Passes problems and notes on, or stops at the first problem."""

    file: str
    strict: bool
    on_problem: Callable[[Problem], None]
    on_note: Callable[[str], None] = no_note

    def __call__(self, line: int, reason: str) -> None:
        problem = Problem(self.file, line, reason)
        if self.strict:
            raise DataError(str(problem))
        self.on_problem(problem)

    def note(self, text: str) -> None:
        """Tell what was decided about the file; no record is lost by it."""
        self.on_note(f"{self.file}: {text}")


Parse = Callable[[Source, ReadOptions, Reporter], Iterator[Dialogue]]


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: how to recognise it, and how to turn its lines into dialogues.

    ``has_fields``: its records or rows have keys that ``ReadOptions.where`` can ask for.
    """

    parse: Parse
    sniff: Callable[[Head], bool]
    doc: str
    extensions: tuple[str, ...] = (".jsonl",)
    has_fields: bool = False
