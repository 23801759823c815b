"""CSV and TSV: a row per dialogue, or a row per utterance and a column that names the dialogue."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from dialogist.errors import DataError
from dialogist.formats.documents import message_text, plain_text
from dialogist.formats.fields import (
    DIALOGUE_COLUMNS,
    GROUP_KEYS,
    ID_KEYS,
    RECORD_ID_KEYS,
    ROLE_KEYS,
    SEPARATOR,
    SPEAKER_KEYS,
    SUMMARY_KEYS,
    TIME_KEYS,
    UTTERANCE_KEYS,
    RecordSelection,
    delimiter_of,
    normalized_key,
    require_text,
    shortlist,
)
from dialogist.formats.generic import RoleMessage, group_messages, id_refusal
from dialogist.formats.read_options import BadRecord, ProblemReporter, ReadOptions
from dialogist.formats.source import Source, SourceLine
from dialogist.formats.speaker_lines import LINE_END, named_lines
from dialogist.language.roles import role_in_data, role_of
from dialogist.language.tokens import counted
from dialogist.records import Dialogue, Utterance

_DOUBLE = re.compile(r"(?P<name>.+) #\d+")
_CELL_LIMIT = 1 << 28


class TableRow(NamedTuple):
    """The cells of one row under their column names, and the line it ends on."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Which column holds what; an empty name where there is none."""

    id: str
    dialogue: str
    speaker: str
    text: str
    role: str
    summary: str
    time: str


def read_table(source: Source, options: ReadOptions, report: ProblemReporter) -> Iterator[Dialogue]:
    """Read a table whose first row names its columns.

    Raises:
        DataError: a column that is needed, or that the options name, is not there, or it is not
            clear which rows make a dialogue.
    """
    # The module's own limit of 128 kB is below the length of a meeting; it only exists globally.
    csv.field_size_limit(_CELL_LIMIT)
    lines = _Lines(source.lines(report))
    # An unclosed quotation mark would swallow the rest of the file unseen: `strict` refuses it.
    table = csv.reader(lines, delimiter=lines.delimiter(), strict=True)
    header = _header(table, source.name)
    layout = layout_of(header, options.columns, source.name)
    selection = RecordSelection(options)
    rows = (row for row in _rows(table, lines, header, report) if selection.takes(row.cells))
    if layout.dialogue and not options.one_dialogue:
        yield from _whole(rows, layout, source.stem, report)
    else:
        is_own = normalized_key(layout.id) in RECORD_ID_KEYS
        refusal = id_refusal(header, layout.id, options, source.name, is_own, is_table=True)
        messages = _messages(rows, layout, source.stem if options.one_dialogue else "", report)
        yield from group_messages(messages, options, report, refusal)
    selection.tell(report)


def layout_of(header: Sequence[str], columns: Mapping[str, str], name: str) -> TableLayout:
    """Find the columns by the options' mapping, else by their usual names in any case.

    Raises:
        DataError: there is neither a dialogue nor a text column, a mapped one is missing, or two
            columns have the same name.
    """
    by_name = {normalized_key(column): column for column in reversed(header)}

    def missing(wanted: str) -> DataError:
        return DataError(
            f"{name}: no column '{wanted}' (columns found: {shortlist(header)}); name yours with "
            "--column text=NAME, speaker=NAME, id=NAME, or give the table a first row of names"
        )

    def find(key: str, usual: Sequence[str]) -> str:
        if key not in columns:
            return next((by_name[each] for each in usual if each in by_name), "")
        if columns[key] in header:
            return columns[key]
        if normalized_key(columns[key]) not in by_name:
            raise missing(columns[key])
        return by_name[normalized_key(columns[key])]

    speaker, text = find("speaker", SPEAKER_KEYS), find("text", UTTERANCE_KEYS)
    # A text column that somebody names, or a speaker beside one, means a row for each utterance.
    by_rows = "text" in columns or (speaker and text)
    dialogue = find("dialogue", () if by_rows else (*DIALOGUE_COLUMNS, "text"))
    if not dialogue and not text:
        raise missing("dialogue' or 'text")
    usual_ids = ID_KEYS if dialogue else (*GROUP_KEYS, *DIALOGUE_COLUMNS, *RECORD_ID_KEYS)
    identity = find("id", [each for each in usual_ids if by_name.get(each) not in (dialogue, text)])
    times = (by_name[each] for each in TIME_KEYS if each in by_name)
    time = next((column for column in times if column not in (identity, speaker, text)), "")
    role, summary = find("role", ROLE_KEYS), find("summary", SUMMARY_KEYS)
    used = {identity, dialogue, speaker, text, role, summary}
    for column in header:
        double = _DOUBLE.fullmatch(column)
        if double and double["name"] in used and double["name"] in header:
            raise DataError(
                f"{name}: several columns are named '{double['name'][:40]}': rename all but one"
            )
    return TableLayout(identity, dialogue, speaker, text, role, summary, time)


def _header(table: Iterator[list[str]], name: str) -> list[str]:
    """The names of the columns; one that came before has a number behind it."""
    try:
        cells = next((row for row in table if row), [])
    except csv.Error as error:
        raise DataError(f"{name}: the first row names no columns: {error}") from None
    counts: Counter[str] = Counter()
    names = []
    for cell in cells:
        column = cell.strip().lstrip("\ufeff")
        counts[column] += 1
        names.append(column if counts[column] == 1 else f"{column} #{counts[column]}")
    return names


class _Lines:
    """Lines as the csv module wants them; remembers the number of the last one taken."""

    def __init__(self, lines: Iterator[SourceLine]) -> None:
        self._lines = lines
        self.number = 0

    def delimiter(self) -> str:
        """Take a first line that only names the delimiter, and look at the one behind it."""
        first = next((line for line in self._lines if line.text.strip()), None)
        if first is None:
            return ","
        if named := SEPARATOR.fullmatch(first.text):
            return named["sign"]
        self._lines = chain([first], self._lines)
        return delimiter_of(first.text)

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number = line.number
            yield f"{line.text}\n"


def _rows(
    table: Iterator[list[str]], lines: _Lines, header: Sequence[str], report: ProblemReporter
) -> Iterator[TableRow]:
    while True:
        try:
            cells = next(table, None)
        except csv.Error as error:
            report(lines.number, f"not a row of the table: {error}")
            continue
        if cells is None:
            return
        if len(cells) == len(header):
            yield TableRow(lines.number, dict(zip(header, cells, strict=True)))
        elif cells:
            many = counted(len(cells), "cells")
            report(lines.number, f"has {many}, the header has {len(header)}")


def _whole(
    rows: Iterator[TableRow], layout: TableLayout, stem: str, report: ProblemReporter
) -> Iterator[Dialogue]:
    """Each row as a dialogue, with its summary; the other columns are its metadata."""
    lines: dict[str, int] = {}
    for line, cells in rows:
        identity = cells.get(layout.id, "") or f"{stem}:{line}"
        try:
            text = plain_text(cells[layout.dialogue])
            utterances = require_text(named_lines(LINE_END.split(text)))
            if identity in lines and not any(utterance.speaker for utterance in utterances):
                raise BadRecord(
                    f"has the id of line {lines[identity]} and names no speaker: if each row is "
                    "one message, name the text with --column text=NAME"
                )
        except BadRecord as error:
            report(line, str(error))
            continue
        lines.setdefault(identity, line)
        summary = cells.get(layout.summary, "")
        used = (layout.id, layout.dialogue, layout.summary)
        yield Dialogue(
            utterances,
            id=identity,
            references=(summary,) if summary.strip() else (),
            metadata={key: cell for key, cell in cells.items() if key not in used},
        )


def _messages(
    rows: Iterator[TableRow], layout: TableLayout, only: str, report: ProblemReporter
) -> Iterator[RoleMessage]:
    """Each row as one utterance of the dialogue it names, or of the ``only`` one."""
    for line, cells in rows:
        identity = only or cells[layout.id].strip()
        if not identity:
            report(line, f"has no id in column '{layout.id}': it belongs to no dialogue")
            continue
        speaker = cells.get(layout.speaker, "").strip()
        role = cells.get(layout.role, "") if layout.role != layout.speaker else ""
        text = message_text(cells[layout.text or layout.dialogue])
        utterance = Utterance(speaker, text, role_in_data(role) or role_of(speaker))
        time, summary = cells.get(layout.time, ""), cells.get(layout.summary, "")
        yield RoleMessage(identity, line, utterance, time, summary)
