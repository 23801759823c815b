"""What every reader shares: options, conditions, and how a bad record is reported."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

from dialogist.errors import DataError, UsageError, nearest
from dialogist.formats.source import Source
from dialogist.records import JSON, Dialogue

_MISSING = object()


@dataclass(frozen=True, slots=True)
class Condition:
    """``key=value`` or ``key!=value``; the case of letters does not count."""

    key: str
    value: str
    equal: bool = True

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Read a condition as it is written on the command line.

        Raises:
            UsageError: it is not written as KEY=VALUE or KEY!=VALUE.
        """
        key, equals, value = text.partition("=")
        equal = not key.rstrip().endswith("!")
        key = key.rstrip().removesuffix("!").strip()
        if not equals or not key:
            raise UsageError(f"--where {text}: write it as NAME=VALUE or NAME!=VALUE")
        return cls(key, value.strip(), equal)

    def holds(self, record: Mapping[str, JSON]) -> bool:
        """Whether a record meets the condition; a missing value equals nothing."""
        if not has_path(record, self.key):
            return not self.equal
        value = value_at(record, self.key)
        values = value if isinstance(value, list) else [value]
        texts = ["" if each is None else str(each).strip().lower() for each in values]
        return (self.value.lower() in texts) == self.equal

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.equal else '!='}{self.value}"


def value_at(record: Mapping[str, JSON], path: str, default: Any = None) -> Any:
    """The value under a key, or under a path of keys and list positions (``a.b.0``)."""
    if path in record:
        return record[path]
    value: JSON = dict(record)
    for step in path.split(".") if "." in path else ():
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return default
    return value if "." in path else default


def has_path(record: Mapping[str, JSON], path: str) -> bool:
    """Whether `value_at` finds anything, be it null."""
    return value_at(record, path, _MISSING) is not _MISSING


Columns: TypeAlias = Mapping[str, str]
"""Our names of columns (`COLUMNS`), and the keys or columns of a file that hold them."""
COLUMNS = ("id", "dialogue", "turns", "speaker", "text", "role", "summary")


@dataclass(frozen=True, slots=True)
class ReadProblem:
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
    """One record cannot be read; the reading loop turns it into a `ReadProblem`."""


def no_note(text: str) -> None:
    """Ignore a note: for a caller who does not want to know."""


@dataclass(frozen=True, slots=True)
class ProblemReporter:
    """Passes problems and notes on, or stops at the first problem."""

    file: str
    strict: bool
    on_problem: Callable[[ReadProblem], None]
    on_note: Callable[[str], None] = no_note
    left_out: Counter[str] = field(default_factory=Counter)
    """What was left out since the last dialogue; `read_dialogues` hands it on in its reading."""

    def leave_out(self, what: str, count: int = 1) -> None:
        """Count what is read but not told: ``notices``, ``reactions``; the plural of its kind."""
        if count:
            self.left_out[what] += count

    def __call__(self, line: int, reason: str) -> None:
        problem = ReadProblem(self.file, line, reason)
        if self.strict:
            raise DataError(str(problem))
        self.on_problem(problem)

    def note(self, text: str) -> None:
        """Tell what was decided about the file; no record is lost by it."""
        self.on_note(f"{self.file}: {text}")


Dialogues: TypeAlias = Iterator[Dialogue]
Parse = Callable[[Source, ReadOptions, ProblemReporter], Dialogues]
