"""What every reader shares: options, conditions, and how it is told what was read and what not."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from dialogist.errors import DataError, UsageError, nearest
from dialogist.formats.moments import line_patterns
from dialogist.formats.source import Source
from dialogist.formats.speaker_lines import HEADER_WORDS
from dialogist.language.tokens import counted
from dialogist.records import JSON, Dialogue, ReadReport, check_kind

_MISSING = object()
INTERNAL_NOTES = "internal notes"
"""What they are counted as, where they are left out."""


@dataclass(frozen=True, slots=True)
class Condition:
    """``key=value`` or ``key!=value``; the case of letters does not count."""

    key: str
    value: str
    equal: bool = True

    @classmethod
    def parse(cls, text: str) -> "Condition":
        """Read a condition as it is written on the command line, or raise a `UsageError`."""
        key, equals, value = text.partition("=")
        equal = not key.rstrip().endswith("!")
        key = key.rstrip().removesuffix("!").strip()
        if not equals or not key:
            raise UsageError(f"--where {text}: write it as NAME=VALUE or NAME!=VALUE")
        return cls(key, value.strip(), equal)

    def holds(self, record: Mapping[str, JSON]) -> bool:
        """Whether a record meets the condition; a missing value equals nothing."""
        value = value_at(record, self.key, [])
        values = value if isinstance(value, list) else [value]
        texts = ["" if each is None else str(each).strip().lower() for each in values]
        return (self.value.lower() in texts) == self.equal

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.equal else '!='}{self.value}"


def value_at(record: Mapping[str, JSON], path: str, default: Any = None) -> Any:
    """The value under a key, or under a path of keys and list positions (``a.b.0``)."""
    if not path:  # a table of pandas has a column without a name
        return default
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

    @property
    def place(self) -> str:
        """Where it stands: ``calls.jsonl:17``."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read a file.

    ``format``: a name in `READERS`, or ``auto``. ``strict``: the first bad record is a `DataError`.
    ``columns``: our names (`COLUMNS`), and the keys or paths (``author.name``) that hold them.
    ``encoding``: empty: found by the bytes. ``where``: what a record, row or turn must meet.
    ``one_dialogue``: the whole file is one. ``by_neighbours``: rows of a dialogue follow each
    other, and are not held in memory. ``internal_notes``: read them as any other message.

    Raises:
        UsageError: ``columns`` has a name not in `COLUMNS`, or two options exclude each other.
    """

    format: str = "auto"
    strict: bool = False
    columns: Mapping[str, str] = field(default_factory=dict, hash=False)
    encoding: str = ""
    where: tuple[Condition, ...] = ()
    one_dialogue: bool = False
    by_neighbours: bool = False
    internal_notes: bool = False

    def __post_init__(self) -> None:
        for name in ("format", "encoding"):
            check_kind(f"ReadOptions: {name}", getattr(self, name), "text", str)
        check_kind("ReadOptions: columns", self.columns, "a dict", Mapping)
        for condition in self.where:
            check_kind("ReadOptions: where", condition, "Conditions", Condition)
        for name in self.columns:
            if name not in COLUMNS:
                hint = f" (one of {', '.join(COLUMNS)}){nearest(name, COLUMNS)}"
                raise UsageError(f"unknown column '{name}'{hint}")
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


# What is said of a file that was read: how much, what was left out, and what looks misread.

_LONG = 150  # words of an utterance that may be a whole file
_CLOCK, _CODE = line_patterns("clock_line", "code")
_SEEN = 2_000  # characters of a text that are looked at


def report_of(dialogue: Dialogue, format: str, left_out: Mapping[str, int]) -> ReadReport:
    """What a reader of ``format`` made of a dialogue: what was left out, and what looks misread."""
    count = sum(bool(u.text.strip()) for u in dialogue.utterances)
    texts = [u.text[:_SEEN] for u in dialogue.utterances]
    names = Counter(u.speaker for u in dialogue.utterances if u.speaker)
    remedy = "--column speaker=KEY names the key or column, --input-format another format"
    warnings = []
    if count == 1 and len(texts[0].split()) > _LONG:
        warnings.append(f"the whole file is one utterance: if it has turns, {remedy}")
    elif count > 2 and not names:
        warnings.append(f"no speaker is named: if the file names them, {remedy}")
    elif count > 3 and len(names) == 1:
        warnings.append(f"only one speaker is named: if there are more, {remedy}")
    clocks = sum(bool(_CLOCK.search(text)) for text in texts)
    if clocks > 1 and 5 * clocks >= count:
        warnings.append(
            f"{counted(clocks, 'texts')} with a clock alone on a line: times may be read as words; "
            "--input-format names another format"
        )
    if any(map(_CODE.search, texts)):
        what = "a text holds JSON, timings or header lines"
        warnings.append(f"{what}: --input-format names another format")
    if any(times == 1 and name.lower() in HEADER_WORDS for name, times in names.items()):
        what = "a speaker that speaks once looks like a header"
        warnings.append(f"{what}: remove the lines above the dialogue")
    return ReadReport(format, count, len(dialogue.speakers), dict(left_out), tuple(warnings))


def told_left_out(left_out: Mapping[str, int]) -> str:
    """What was left out, as the end of a line."""
    remedies = {INTERNAL_NOTES: " (--include-internal tells them)"}
    left = (f"{counted(count, what)}{remedies.get(what, '')}" for what, count in left_out.items())
    return f"; left out: {', '.join(left)}"


def reported(
    dialogues: Iterator[Dialogue], name: str, report: ProblemReporter
) -> Iterator[Dialogue]:
    """The dialogues with what is said of their reading; the notes behind the last sum it up."""
    count = utterances = 0
    left_out: Counter[str] = Counter()
    warnings: Counter[str] = Counter()
    for dialogue in map(repaired, dialogues):
        reading = report_of(dialogue, name, report.left_out)
        report.left_out.clear()
        count, utterances = count + 1, utterances + reading.utterances
        left_out.update(reading.left_out)
        warnings.update(reading.warnings)
        yield replace(dialogue, reading=reading)
    if count:
        spoken, people = counted(utterances, "utterances"), counted(reading.speakers, "speakers")
        amount = f"{spoken}, {people}" if count == 1 else f"{counted(count, 'dialogues')}, {spoken}"
        left_out += report.left_out
        report.note(f"read as {name}: {amount}{told_left_out(left_out) if left_out else ''}")
    for warning, times in warnings.items():
        more = f" (in {counted(times, 'dialogues')})" if times > 1 else ""
        report.note(f"warning: {warning}{more}")


_TWICE = re.compile("[\u00c2-\u00f4][\u0080-\u00bf\u0152-\u0178\u02c6-\u2122]")
"""Bytes of UTF-8 that were read as Latin-1, or as Windows reads them."""


def repaired(dialogue: Dialogue) -> Dialogue:
    """The dialogue with ``cafÃ©`` put right: what is UTF-8 from end to end, taken for bytes."""
    if not any(_TWICE.search(u.text) or _TWICE.search(u.speaker) for u in dialogue.utterances):
        return dialogue
    utterances = tuple(
        replace(u, speaker=_repaired(u.speaker), text=_repaired(u.text))
        for u in dialogue.utterances
    )
    return replace(dialogue, utterances=utterances, is_verbatim=False)


def _repaired(text: str) -> str:
    for encoding in ("latin-1", "cp1252") if _TWICE.search(text) else ():
        with suppress(UnicodeError):
            right = text.encode(encoding).decode("utf-8")
            return text if any("\x7f" < c < "\xa0" for c in right) else right
    return text
