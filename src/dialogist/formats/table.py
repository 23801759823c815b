"""CSV and TSV: a row per dialogue, or a row per utterance and a column that names the dialogue."""

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

from dialogist.errors import DataError
from dialogist.formats import fields
from dialogist.formats.fields import KEYS, RecordSelection, folded_key, keys_of, shortlist
from dialogist.formats.generic import RoleMessage, as_list, group_messages, id_refusal
from dialogist.formats.json_records import Program, program_of, programs
from dialogist.formats.read_options import BadRecord, Dialogues, ProblemReporter, ReadOptions
from dialogist.formats.source import Source
from dialogist.formats.turns import TurnReader
from dialogist.language.tokens import counted
from dialogist.records import Dialogue

_BAR = re.compile(r"(?<!\\)\|")
_SEPARATOR = re.compile(r'\ufeff?"?sep=(?P<sign>.)"?\s*', re.IGNORECASE)
"""Excel's line that names the delimiter of a table."""
_CELL_LIMIT = 1 << 28
_WEAK = ("type", "direction", "channel")
"""Columns that may tell the speaker of a turn, but do not make a row one."""


Rows = Iterator[tuple[int, dict[str, str]]]
"""The cells of rows under their column names, each with the line that the row ends on."""


Layout = Mapping[str, str]
"""Which column holds what (`COLUMNS`, ``start``); an empty name where there is none."""


def is_table(lines: Sequence[str], is_named: bool) -> bool:
    """Whether a header row has the columns needed, or any where the file is named as a table."""
    named = _SEPARATOR.fullmatch(lines[0])
    header = next(iter(lines[1 if named else 0 :]), "")
    try:
        cells = next(csv.reader([header], delimiter=_delimiter_of(header), strict=True), [])
    except csv.Error:
        return False
    known = {name for name in ("column", "speaker", "text", "start") if keys_of(cells, name)}
    has_turns = "column" in known or {"speaker", "text"} <= known
    is_program = bool(program_of(set(map(folded_key, cells)), is_table=True))
    return is_program or (len(set(map(folded_key, cells))) > 1 and (has_turns or is_named))


def _delimiter_of(text: str) -> str:
    """The delimiter that occurs most often in the first line of a table."""
    return max(",\t;|", key=text.lstrip("\ufeff\r\n").split("\n", 1)[0].count)


def read_table(source: Source, options: ReadOptions, report: ProblemReporter) -> Dialogues:
    """Read a table with names of columns, or a `DataError`: some are not there or unclear."""
    # The module's own limit of 128 kB is below the length of a meeting; it only exists globally.
    csv.field_size_limit(_CELL_LIMIT)
    table = _rows(source, report)
    header: list[str] = []
    counts: Counter[str] = Counter()
    for cell in next(table, (0, []))[1]:
        column = cell.strip().lstrip("\ufeff")
        counts[column] += 1
        header.append(f"{column} #{counts[column]}" if counts[column] > 1 else column)
    program = programs().get(program_of({*map(folded_key, header)}, is_table=True), Program())
    layout = _layout_of(header, {**program.columns, **options.columns}, source.name)
    selection = RecordSelection(options, report)

    def selected() -> Rows:
        for line, cells in table:
            row = {name: cell for name, cell in zip(header, cells, strict=False) if name}
            if len(cells) != len(header):
                report(line, f"has {counted(len(cells), 'cells')}, the header has {len(header)}")
            elif selection.takes(row):
                yield line, row

    is_own = folded_key(layout["id"]) in KEYS["own_id"]
    is_whole = program.table or _is_recording(header)
    is_one = options.one_dialogue or (
        is_whole and "id" not in options.columns and (is_own or not layout["id"])
    )
    if layout["dialogue"] and not is_one:
        yield from _whole(selected(), layout, source.stem, report)
    else:
        refusal = ""
        if not is_one:
            refusal = id_refusal(header, layout["id"], options, source.name, is_own, is_table=True)
        given = {name: layout[name] for name in ("speaker", "role", "start")}
        given["text"] = layout["text"] or layout["dialogue"]
        given["role"] *= layout["role"] != layout["speaker"]
        reader = TurnReader(given, replace(program, order="time"), report.leave_out)
        messages = _messages(selected(), layout, source.stem if is_one else "", reader, report)
        yield from group_messages(messages, options, report, refusal, reader)
    selection.tell()


def _is_recording(header: Sequence[str]) -> bool:
    """Whether rows are of one recording: begin and end, or a time and a speaker's column."""
    starts, ends, times = (keys_of(header, name) for name in ("start", "end", "time"))
    is_spoken = any(folded_key(column).startswith("speaker") for column in header)
    return bool(starts and ends) or (is_spoken and bool(starts or times))


def _layout_of(header: Sequence[str], columns: Mapping[str, str], name: str) -> Layout:
    """Find columns by the options, else by usual names; a `DataError`: missing, or there twice."""
    by_name = {folded_key(column): column for column in reversed(header)}

    def missing(wanted: str) -> DataError:
        return DataError(
            f"{name}: no column '{wanted}' (columns found: {shortlist(header)}); name yours with "
            "--column text=NAME, speaker=NAME, id=NAME, or give the table a first row of names"
        )

    def find(key: str, usual: Sequence[str]) -> str:
        if not columns.get(key):
            return "" if key in columns else next(iter(usual), "")
        if columns[key] in header:
            return columns[key]
        if folded_key(columns[key]) not in by_name:
            raise missing(columns[key])
        return by_name[folded_key(columns[key])]

    speakers = [c for c in keys_of(header, "speaker") if folded_key(c) not in _WEAK]
    whole, is_recording = keys_of(header, "column"), _is_recording(header)
    is_by_turn = is_recording or any(folded_key(c).startswith("speaker") for c in speakers)
    texts = [c for c in keys_of(header, "text") if is_by_turn or c not in whole]
    speaker, text = find("speaker", speakers), find("text", texts)
    # A text column that somebody names, or a speaker beside one, means a row for each utterance.
    by_rows = "text" in columns or (text and (speaker or is_recording))
    plain = [by_name["text"]] if "text" in by_name else []
    dialogue = find("dialogue", () if by_rows else (*whole, *plain))
    if not dialogue and not text:
        raise missing("dialogue' or 'text")
    ids = ("own_id", "group") if dialogue else ("group", "column", "own_id")
    usual_ids = [c for name in ids for c in keys_of(header, name) if c not in (dialogue, text)]
    identity = find("id", usual_ids)
    times = [*keys_of(header, "start"), *keys_of(header, "time")]
    start = find("start", [c for c in times if c not in (identity, speaker, text)])
    layout = {"id": identity, "dialogue": dialogue, "speaker": speaker, "text": text}
    layout |= {key: find(key, keys_of(header, key)) for key in ("role", "summary")}
    for column in header:
        first, _, number = column.rpartition(" #")
        if first and number.isdecimal() and first in layout.values() and first in header:
            raise DataError(f"{name}: several columns are named '{first[:40]}': rename all but one")
    return {**layout, "start": start}


def _rows(source: Source, report: ProblemReporter) -> Iterator[tuple[int, list[str]]]:
    """The rows, first the names of the columns, each with the number of its last line."""
    lines = source.lines(report)
    first = next((line for line in lines if line.text.strip()), None)
    if first is None:
        return
    named, number = _SEPARATOR.fullmatch(first.text), 0

    def texts() -> Iterator[str]:
        nonlocal number
        for line in lines if named else chain([first], lines):
            number = line.number
            yield f"{line.text}\n"

    delimiter = named["sign"] if named else _delimiter_of(first.text)
    # An unclosed quotation mark would swallow the rest of the file unseen: `strict` refuses it.
    table: Iterator[list[str]] = csv.reader(texts(), delimiter=delimiter, strict=True)
    is_markdown = first.text[0] == first.text.rstrip()[-1] == "|"
    if is_markdown:
        table = (_BAR.split(text.strip()) for text in texts())
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
        if is_markdown:  # bars stand around each row, and a line of dashes below the names
            cells = cells[not cells[0] : len(cells) - (not cells[-1])]
            cells = [cell.strip().replace("\\|", "|") for cell in cells]
            cells = cells if "".join(cells).strip("-: ") else []
        if cells:
            is_header = False
            yield number, cells


def _whole(rows: Rows, layout: Layout, stem: str, report: ProblemReporter) -> Dialogues:
    """Each row as a dialogue, with its summary; the other columns are its metadata."""
    lines: dict[str, int] = {}
    for line, cells in rows:
        identity = cells.get(layout["id"], "") or f"{stem}:{line}"
        try:
            turns = as_list(cells[layout["dialogue"]])
            turns = turns if isinstance(turns, list) else cells[layout["dialogue"]]
            reader = TurnReader({}, Program(), report.leave_out)
            utterances = fields.require_text(reader.read(turns, layout["dialogue"]))
            if identity in lines and not any(utterance.speaker for utterance in utterances):
                raise BadRecord(
                    f"has the id of line {lines[identity]} and names no speaker: if each row is "
                    "one message, name the text with --column text=NAME"
                )
        except BadRecord as error:
            report(line, str(error))
            continue
        lines.setdefault(identity, line)
        summary = cells.get(layout["summary"], "")
        used = [layout[name] for name in ("id", "dialogue", "summary")]
        rest = {key: cell for key, cell in cells.items() if key not in used}
        references = (summary,) if summary.strip() else ()
        yield Dialogue(utterances, id=identity, references=references, metadata=rest)


def _messages(
    rows: Rows, layout: Layout, only: str, reader: TurnReader, report: ProblemReporter
) -> Iterator[RoleMessage]:
    """Each row as one utterance of the dialogue it names, or of the ``only`` one."""
    for line, cells in rows:
        identity = only or cells[layout["id"]].strip()
        if not identity:
            report(line, f"has no id in column '{layout['id']}': it belongs to no dialogue")
            continue
        for utterance in reader.turn(cells, "the row"):
            summary, number = cells.get(layout["summary"], ""), fields.number_of(cells)
            yield RoleMessage(identity, line, utterance, summary, number)
