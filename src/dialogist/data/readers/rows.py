"""A stream of JSON records: one per line, one array, or one object, told apart by their look."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import NamedTuple

from dialogist.data.readers.base import BadRecord, Parse, ReadOptions, Reporter
from dialogist.data.readers.parsing import NotParsed, Record, parse_line, parse_value
from dialogist.data.readers.selection import Selection
from dialogist.data.readers.source import Line, Source
from dialogist.records import JSON, Dialogue

Convert = Callable[[Record], Dialogue | None]


class Value(NamedTuple):
    """A JSON value, its first line, and whether it is the only one of its file."""

    line: int
    value: JSON
    alone: bool


def record_reader(convert: Convert) -> Parse:
    """Make a reader of JSON records out of a function from one record to one dialogue."""

    def parse(source: Source, options: ReadOptions, report: Reporter) -> Iterator[Dialogue]:
        selection = Selection(options)

        def selected(record: Record) -> Dialogue | None:
            return convert(record) if selection.takes_whole(record, ()) else None

        yield from converted(json_values(source, report), source, selected, report)
        selection.tell(report)

    return parse


def converted(
    values: Iterator[Value], source: Source, convert: Convert, report: Reporter
) -> Iterator[Dialogue]:
    """Convert each record; what cannot be converted is reported and left out."""
    for line, value, alone in values:
        try:
            if not isinstance(value, dict):
                raise BadRecord(f"holds {kind_of(value)}, not an object of keys and values")
            dialogue = convert(value)
        except BadRecord as error:
            report(line, str(error))
            continue
        if dialogue is not None:
            own = dialogue.id or (source.stem if alone else f"{source.stem}:{line}")
            yield replace(dialogue, id=own)


def kind_of(value: JSON) -> str:
    """What a JSON value is, in the words of an error message."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false"}
    return "nothing (null)" if value is None else names.get(type(value), "a number")


def json_values(source: Source, report: Reporter) -> Iterator[Value]:
    """All values of a file."""
    lines = (line for line in source.lines(report) if line.text.strip(" \t\ufeff"))
    ahead = list(islice(lines, 2))
    everything = chain(ahead, lines)
    if ahead and _is_document(ahead):
        return _document_values(everything, report)
    return _line_values(everything, report)


def _is_document(ahead: list[Line]) -> bool:
    """Whether the first line opens a value that goes on below it, or is an array."""
    first = ahead[0].text.lstrip(" \t\ufeff")
    if first.startswith("["):
        return True
    goes_on = len(ahead) > 1 and not ahead[1].text.lstrip().startswith("{")
    return first.startswith("{") and goes_on and not first.rstrip().endswith("}")


def _line_values(lines: Iterator[Line], report: Reporter) -> Iterator[Value]:
    for number, text in lines:
        try:
            value = parse_line(text.lstrip("\ufeff"))
        except NotParsed as error:
            report(number, str(error))
            continue
        yield Value(number, value, False)


def _document_values(lines: Iterator[Line], report: Reporter) -> Iterator[Value]:
    """Walk through an array element by element, so that one wrong element spoils no other."""
    numbers, texts = zip(*lines, strict=True)
    text = "\n".join(texts).lstrip("\ufeff \t")
    is_array = text.startswith("[")
    position = _skip(text, 1 if is_array else 0)
    counted = index = 0
    while position < len(text) and text[position] != "]":
        index += text.count("\n", counted, position)
        counted, line = position, numbers[index]
        try:
            value, position = parse_value(text, position)
        except NotParsed as error:
            report(numbers[min(error.line, len(numbers)) - 1], str(error))
            return
        yield Value(line, value, not is_array)
        position = _skip(text, position)
    if is_array and position >= len(text):
        report(numbers[-1], "not JSON: the array is never closed")


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\n,":
        position += 1
    return position
