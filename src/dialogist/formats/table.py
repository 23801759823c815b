"""CSV and TSV: a row per dialogue, or a row per utterance and a column that names the dialogue."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from dialogist.errors import DataError
from dialogist.formats.documents import message_text, plain_text
from dialogist.formats.fields import (
    KEYS,
    SEPARATOR,
    RecordSelection,
    delimiter_of,
    normalized_key,
    require_text,
    shortlist,
)
from dialogist.formats.generic import RoleMessage, group_messages, id_refusal
from dialogist.formats.read_options import BadRecord, Dialogues, ProblemReporter, ReadOptions
from dialogist.formats.source import Source
from dialogist.formats.speaker_lines import LINE_END, named_lines
from dialogist.language.roles import role_in_data, role_of
from dialogist.language.tokens import counted
from dialogist.records import Dialogue, Utterance

_DOUBLE = re.compile(r"(?<=.) #\d+\Z")
_CELL_LIMIT = 1 << 28


Rows = Iterator[tuple[int, dict[str, str]]]
"""The cells of rows under their column names, each with the line that the row ends on."""


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


def read_table(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a table whose first row names its columns.

    Raises:
        DataError: a column that is needed, or that the options name, is not there, or it is not
            clear which rows make a dialogue.
    """
    # The module's own limit of 128 kB is below the length of a meeting; it only exists globally.
    csv.field_size_limit(_CELL_LIMIT)
    table = _rows(source, report)
    header: list[str] = []
    for cell in next(table, (0, []))[1]:
        column = cell.strip().lstrip("\ufeff")
        before = sum(_DOUBLE.sub("", name) == column for name in header)
        header.append(f"{column} #{before + 1}" if before else column)
    layout = layout_of(header, options.columns, source.name)
    selection = RecordSelection(options)

    def selected() -> Rows:
        for line, cells in table:
            row = dict(zip(header, cells, strict=False))
            if len(cells) != len(header):
                report(line, f"has {counted(len(cells), 'cells')}, the header has {len(header)}")
            elif selection.takes(row):
                yield line, row

    if layout.dialogue and not options.one_dialogue:
        yield from _whole(selected(), layout, source.stem, report)
    else:
        is_own = normalized_key(layout.id) in KEYS["own_id"]
        refusal = id_refusal(header, layout.id, options, source.name, is_own, is_table=True)
        messages = _messages(
            selected(), layout, source.stem if options.one_dialogue else "", report
        )
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

    speaker, text = find("speaker", KEYS["speaker"]), find("text", KEYS["text"])
    # A text column that somebody names, or a speaker beside one, means a row for each utterance.
    by_rows = "text" in columns or (speaker and text)
    dialogue = find("dialogue", () if by_rows else (*KEYS["column"], "text"))
    if not dialogue and not text:
        raise missing("dialogue' or 'text")
    usual_ids = KEYS["id"] if dialogue else (*KEYS["group"], *KEYS["column"], *KEYS["own_id"])
    identity = find("id", [each for each in usual_ids if by_name.get(each) not in (dialogue, text)])
    times = (by_name[each] for each in KEYS["time"] if each in by_name)
    time = next((column for column in times if column not in (identity, speaker, text)), "")
    role, summary = find("role", KEYS["role"]), find("summary", KEYS["summary"])
    used = {identity, dialogue, speaker, text, role, summary}
    for column in header:
        first = _DOUBLE.sub("", column)
        if first != column and first in used and first in header:
            raise DataError(f"{name}: several columns are named '{first[:40]}': rename all but one")
    return TableLayout(identity, dialogue, speaker, text, role, summary, time)


def _rows(source: Source, report: ProblemReporter) -> Iterator[tuple[int, list[str]]]:
    """The rows, first the names of the columns, each with the number of its last line.

    Raises:
        DataError: the first row is none.
    """
    lines = source.lines(report)
    first = next((line for line in lines if line.text.strip()), None)
    if first is None:
        return
    named = SEPARATOR.fullmatch(first.text)
    number = 0

    def texts() -> Iterator[str]:
        nonlocal number
        for line in lines if named else chain([first], lines):
            number = line.number
            yield f"{line.text}\n"

    delimiter = named["sign"] if named else delimiter_of(first.text)
    # An unclosed quotation mark would swallow the rest of the file unseen: `strict` refuses it.
    table = csv.reader(texts(), delimiter=delimiter, strict=True)
    is_header = True
    while True:
        try:
            cells = next(table, None)
        except csv.Error as error:
            if is_header:
                reason = f"the first row names no columns: {error}"
                raise DataError(f"{source.name}: {reason}") from None
            report(number, f"not a row of the table: {error}")
            continue
        if cells is None:
            return
        if cells:
            is_header = False
            yield number, cells


def _whole(rows: Rows, layout: TableLayout, stem: str, report: ProblemReporter) -> Dialogues:
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
    rows: Rows, layout: TableLayout, only: str, report: ProblemReporter
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
