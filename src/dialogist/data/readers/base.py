"""What every reader shares: its options, its face, and how a bad record is reported."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from dialogist.data.readers.head import Head
from dialogist.data.readers.source import Source
from dialogist.errors import DataError, UsageError, nearest
from dialogist.records import Dialogue

COLUMNS = ("id", "dialogue", "turns", "speaker", "text", "role", "summary")


@dataclass(frozen=True, slots=True)
class Problem:
    """One bad line or record: where it is and what is wrong with it."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a file.

    ``format`` is a name in `READERS` or ``auto``. ``strict`` turns the first bad record into a
    `DataError`. ``columns`` maps our names (`COLUMNS`) to the keys or columns of a JSON or CSV
    file. ``encoding`` is only needed where the text is neither UTF-8 nor UTF-16 with its mark.

    Raises:
        UsageError: ``columns`` has a name that is not in `COLUMNS`.
    """

    format: str = "auto"
    strict: bool = False
    columns: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    encoding: str = ""

    def __post_init__(self) -> None:
        for name in self.columns:
            if name not in COLUMNS:
                choices = ", ".join(COLUMNS)
                raise UsageError(
                    f"unknown column '{name}' (one of {choices}){nearest(name, COLUMNS)}"
                )


class BadRecord(DataError):
    """One record cannot be read; the reading loop turns it into a `Problem`."""


@dataclass(frozen=True, slots=True)
class Reporter:
    """Passes problems on, or stops at the first one."""

    file: str
    strict: bool
    on_problem: Callable[[Problem], None]

    def __call__(self, line: int, reason: str) -> None:
        problem = Problem(self.file, line, reason)
        if self.strict:
            raise DataError(str(problem))
        self.on_problem(problem)


Parse = Callable[[Source, ReadOptions, Reporter], Iterator[Dialogue]]


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: how to recognise it, and how to turn its lines into dialogues."""

    parse: Parse
    sniff: Callable[[Head], bool]
    doc: str
    extensions: tuple[str, ...] = (".jsonl",)
