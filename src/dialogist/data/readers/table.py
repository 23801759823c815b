"""CSV and TSV: a row per dialogue, or a row per utterance with the rows of a dialogue together."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dialogist.data.readers.base import BadRecord, ReadOptions, Reporter
from dialogist.data.readers.fields import said
from dialogist.data.readers.generic import IDS, SPEAKERS, SUMMARIES, TEXTS
from dialogist.data.readers.roles import role_of
from dialogist.data.readers.source import Line, Source
from dialogist.data.readers.speaker_lines import LINE_END, named_lines
from dialogist.errors import DataError
from dialogist.records import Dialogue, Utterance

DIALOGUES = ("dialogue", "dialog", "transcript", "conversation")
DELIMITERS = ",\t;|"
_CELL_LIMIT = 1 << 28
_IDS = (*IDS, "dialog_id", "encounter_id", "dialogue", "conversation")


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row under their column names, and the line it ends on."""

    line: int
    cells: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column holds what; an empty name where there is none."""

    id: str
    dialogue: str
    speaker: str
    text: str
    role: str
    summary: str


def read_table(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
    """Read a table whose first row names its columns.

    Raises:
        DataError: a column that is needed, or that the options name, is not there.
    """
    # The module's own limit of 128 kB is below the length of a meeting; it only exists globally.
    csv.field_size_limit(_CELL_LIMIT)
    delimiter = delimiter_of(source.head)
    # An unclosed quotation mark would swallow the rest of the file unseen: `strict` refuses it.
    lines = _Lines(source.lines(report))
    table = csv.reader(lines, delimiter=delimiter, strict=True)
    header = _header(table, source.name)
    layout = layout_of(header, options.columns, source.name)
    rows = _rows(table, lines, header, report)
    if layout.dialogue:
        yield from _whole(rows, layout, source.stem, report)
    else:
        yield from _grouped(rows, layout, source.stem, report)


def delimiter_of(text: str) -> str:
    """The delimiter that occurs most often in the first line."""
    first = text.lstrip("\ufeff\r\n").split("\n", 1)[0]
    return max(DELIMITERS, key=first.count)


def names_of(line: str) -> list[str]:
    """The column names in a header line, or nothing where it is no row at all."""
    try:
        cells = next(csv.reader([line], delimiter=delimiter_of(line), strict=True), [])
    except csv.Error:
        return []
    return [cell.strip().lstrip("\ufeff") for cell in cells]


def layout_of(header: Sequence[str], columns: Mapping[str, str], name: str) -> Layout:
    """Find the columns by the options' mapping, else by their usual names in any case.

    Raises:
        DataError: there is neither a dialogue nor a text column, or a mapped one is missing.
    """
    by_name = {column.lower(): column for column in reversed(header)}

    def find(key: str, usual: Sequence[str]) -> str:
        if key not in columns:
            return next((by_name[each] for each in usual if each in by_name), "")
        if columns[key] not in header:
            raise _no_column(columns[key], header, name)
        return columns[key]

    speaker, text = find("speaker", SPEAKERS), find("text", TEXTS)
    dialogue = find("dialogue", () if speaker and text else (*DIALOGUES, "text"))
    if not dialogue and not text:
        raise _no_column("dialogue' or 'text", header, name)
    identity = find("id", [each for each in _IDS if by_name.get(each) != dialogue])
    return Layout(
        identity, dialogue, speaker, text, find("role", ("role",)), find("summary", SUMMARIES)
    )


def _no_column(wanted: str, header: Sequence[str], name: str) -> DataError:
    found = ", ".join(column[:40] for column in header[:20])
    return DataError(
        f"{name}: no column '{wanted}' (columns found: {found}); map one with --column"
    )


def _header(table: Iterator[list[str]], name: str) -> list[str]:
    try:
        cells = next((row for row in table if row), [])
    except csv.Error as error:
        raise DataError(f"{name}: the first row names no columns: {error}") from None
    return [cell.strip().lstrip("\ufeff") for cell in cells]


class _Lines:
    """Lines as the csv module wants them; remembers the number of the last one taken."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number = line.number
            yield f"{line.text}\n"


def _rows(
    table: Iterator[list[str]], lines: _Lines, header: Sequence[str], report: Reporter
) -> Iterator[Row]:
    while True:
        try:
            cells = next(table)
        except StopIteration:
            return
        except csv.Error as error:
            report(lines.number, f"not a row of the table: {error}")
            continue
        if len(cells) == len(header):
            yield Row(lines.number, dict(zip(header, cells, strict=True)))
        elif cells:
            report(lines.number, f"has {len(cells)} cells, the header has {len(header)}")


def _whole(rows: Iterator[Row], layout: Layout, stem: str, report: Reporter) -> Iterator[Dialogue]:
    for row in rows:
        try:
            utterances = said(named_lines(LINE_END.split(row.cells[layout.dialogue])))
        except BadRecord as error:
            report(row.line, str(error))
            continue
        yield _dialogue(utterances, row, layout, f"{stem}:{row.line}")


def _grouped(
    rows: Iterator[Row], layout: Layout, stem: str, report: Reporter
) -> Iterator[Dialogue]:
    """Rows that follow each other under one id are one dialogue; without ids the file is one."""
    for _, group in groupby(rows, key=lambda row: row.cells.get(layout.id, "")):
        turns = list(group)
        try:
            utterances = said(_turn(row.cells, layout) for row in turns)
        except BadRecord as error:
            report(turns[0].line, str(error))
            continue
        fallback = f"{stem}:{turns[0].line}" if layout.id else stem
        first = next((r for r in turns if r.cells.get(layout.summary)), turns[0])
        yield _dialogue(utterances, first, layout, fallback)


def _turn(cells: Mapping[str, str], layout: Layout) -> Utterance:
    speaker = cells.get(layout.speaker, "").strip()
    role = cells.get(layout.role, "") if layout.role != layout.speaker else ""
    return Utterance(speaker, cells[layout.text], role_of(role) or role or role_of(speaker))


def _dialogue(
    utterances: tuple[Utterance, ...], row: Row, layout: Layout, fallback: str
) -> Dialogue:
    """The dialogue with its id and summary; a table of whole dialogues keeps its other columns."""
    summary = row.cells.get(layout.summary, "")
    used = (layout.id, layout.dialogue, layout.summary)
    rest = {key: cell for key, cell in row.cells.items() if key not in used}
    return Dialogue(
        utterances,
        id=row.cells.get(layout.id, "") or fallback,
        references=(summary,) if summary.strip() else (),
        metadata=dict(rest) if layout.dialogue else {},
    )
