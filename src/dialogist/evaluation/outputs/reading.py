"""Anyone's predictions file as `Output`s.

JSON lines, a JSON array (of objects or texts), one JSON object of ids and texts, CSV or TSV with a
row of names, or plain text with one output a line. What the fields are called is looked for once,
in the first record, and holds for all: a record without that field is a bad one, and no other
field is read in its stead.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dialogist.data.readers.base import BadRecord, Problem, ProblemReporter
from dialogist.data.readers.fields import ID_KEYS, SUMMARY_KEYS, Record, json_kind
from dialogist.data.readers.json_records import FileHead, head_of, json_values
from dialogist.data.readers.source import Source, open_source
from dialogist.data.readers.table import delimiter_of, header_names
from dialogist.errors import DataError
from dialogist.evaluation.outputs.names import JSON_ENDS, TABLE_ENDS
from dialogist.evaluation.outputs.output import Keys, Output, output_of
from dialogist.records import JSON

PREDICTIONS = (
    *("prediction", "predictions", "pred", "hypothesis", "hyp", "candidate", "output", "outputs"),
    *("generated", "generated_summary", "generated_text", "system_summary", "system_output"),
    *("model_output", "model_summary", "response", "decoded", "summary_text", "summary", "text"),
)
"""What people call an output; the first of these that is there is taken."""

_REFERENCES = (*SUMMARY_KEYS, "ref", "refs", "gold", "target", "targets", "highlights")
_NUMBERED = re.compile(r"(?:summary|reference|ref|gold|target)[ _-]?\d+", re.IGNORECASE)
_CELL_LIMIT = 1 << 28

Records = Iterator[tuple[int, Record]]


@dataclass(frozen=True, slots=True)
class Placed:
    """An output and the line it stands on, for whoever has to look for it."""

    file: str
    line: int
    output: Output

    @property
    def place(self) -> str:
        """``file:line``."""
        return f"{self.file}:{self.line}"


def read_outputs(
    path: Path,
    on_problem: Callable[[Problem], None],
    prediction: str = "",
    dialogues: bool = True,
) -> Iterator[Placed]:
    """Stream the outputs of a file in their order; bad records are reported and left out.

    ``prediction`` names the key or column that holds them (without: the usual names).
    ``dialogues`` False: those in the file are not looked at.

    Raises:
        DataError: the file cannot be read, is no text, or no field in it is an output.
    """
    source = _open(path)
    report = ProblemReporter(source.name, False, on_problem)
    keys: Keys | None = None
    for line, record in _records(source, report):
        keys = keys or _keys(record, prediction, dialogues, f"{source.name}:{line}")
        try:
            yield Placed(source.name, line, output_of(record, keys))
        except BadRecord as error:
            report(line, str(error))
    if source.failure:
        raise source.failure
    if keys is None:
        raise DataError(f"{source.name}: holds no output that can be read")


def _open(path: Path) -> Source:
    try:
        return open_source(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


def _keys(record: Record, prediction: str, dialogue: bool, place: str) -> Keys:
    """What the fields are called, by the first record."""
    names = {name.lower(): name for name in reversed(list(record))}
    usual = (names[name] for name in PREDICTIONS if name in names)
    said = prediction or next(usual, "")
    if said not in record:
        what = f"'{said}'" if said else "output"
        found = ", ".join(sorted(name[:40] for name in record)[:12])
        raise DataError(
            f"{place}: has no {what} (found: {found}); say which it is with --prediction-key"
        )
    several = [name for name in record if _NUMBERED.fullmatch(name) and name != said]
    single = (names[name] for name in _REFERENCES if names.get(name, said) != said)
    return Keys(
        prediction=said,
        identity=next((names[name] for name in ID_KEYS if name in names), ""),
        references=tuple(several or [*single][:1]),
        dialogue=dialogue,
    )


def _records(source: Source, report: ProblemReporter) -> Records:
    head = head_of(source)
    if head.suffix in JSON_ENDS or head.record:
        return _json_records(source, report)
    if head.suffix in TABLE_ENDS or _is_table(head):
        return _rows(source, report)
    return ((number, {"prediction": text}) for number, text in source.lines(report))


def _is_table(head: FileHead) -> bool:
    names = [name.lower() for name in header_names(head.lines[0])] if head.lines else []
    return len(names) > 1 and any(name in names for name in PREDICTIONS)


def _json_records(source: Source, report: ProblemReporter) -> Records:
    for line, value, alone in json_values(source, report):
        if isinstance(value, str):
            yield line, {"prediction": value}
        elif not isinstance(value, dict):
            report(line, f"holds {json_kind(value)}, neither an object nor a text")
        elif alone and _is_table_of_texts(value):
            yield from ((line, {"id": key, "prediction": text}) for key, text in value.items())
        else:
            yield line, value


def _is_table_of_texts(value: dict[str, JSON]) -> bool:
    """An object of ids and outputs, not of fields."""
    texts = all(text is None or isinstance(text, str) for text in value.values())
    return texts and not any(name in value for name in PREDICTIONS)


def _rows(source: Source, report: ProblemReporter) -> Records:
    csv.field_size_limit(_CELL_LIMIT)  # the module's own is 128 kB, and global
    lines = (f"{line.text}\n" for line in source.lines(report))
    table = csv.reader(lines, delimiter=delimiter_of(source.head), strict=True)
    header: list[str] = []
    for number, cells in _cells(table, report):
        if not header:
            header = [cell.strip().lstrip("\ufeff") for cell in cells]
        elif len(cells) == len(header):
            yield number, dict(zip(header, cells, strict=True))
        elif cells:
            report(number, f"has {len(cells)} cells, the header has {len(header)}")


def _cells(table: Iterable[list[str]], report: ProblemReporter) -> Iterator[tuple[int, list[str]]]:
    rows = iter(table)
    while True:
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            report(getattr(table, "line_num", 0), f"not a row of the table: {error}")
            continue
        yield getattr(table, "line_num", 0), cells
