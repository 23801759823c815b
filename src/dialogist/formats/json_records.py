"""Untrusted JSON text into records, one by one, and what detection sees of a file's head."""

import ast
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple

from dialogist.errors import DataError
from dialogist.formats.fields import Record, json_kind
from dialogist.formats.moments import format_table
from dialogist.formats.read_options import BadRecord, Columns, Parse, ProblemReporter
from dialogist.formats.source import Source, SourceLine, without_compression
from dialogist.language.tokens import LINE_END
from dialogist.records import JSON, Dialogue

LONGEST_LITERAL = 1 << 22
_LITERAL = re.compile(r"""\{'|\[(?:"[^"]*",\s*)*'""")


class NotParsed(DataError):
    """A text is no JSON value; ``line`` says where, counted from the text's first line."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


# NaN is what pandas writes for an empty cell: it means "nothing here", as null does.
_DECODER = json.JSONDecoder(
    parse_constant=lambda name: None,
    parse_float=lambda text: value if math.isfinite(value := float(text)) else None,
)


def parse_value(text: str, start: int = 0) -> tuple[JSON, int]:
    """The JSON value at ``start``, and the position behind it, or a `NotParsed`."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        fault = error.msg.removesuffix(" at")  # "Unterminated string starting at"
        line = f"line {error.lineno} " if "\n" in text else ""
        reason = f"not JSON: {fault} at {line}column {error.colno}"
        raise NotParsed(reason, error.lineno) from None
    except RecursionError:
        raise NotParsed("JSON nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise NotParsed(f"not JSON: {error}") from None
    _refuse_surrogates(value, text[start:end])
    return value, end


def parse_line(text: str) -> JSON:
    """A line that is JSON, or a dict (the first DialogSum) or list of Python, or a `NotParsed`."""
    stripped = text.strip()
    if not _LITERAL.match(stripped):
        parsed, end = parse_value(stripped)
        if end != len(stripped):
            raise NotParsed(f"not JSON: more text behind the value, at column {end + 1}")
        return parsed
    if len(stripped) > LONGEST_LITERAL:
        raise NotParsed("a Python literal too large to be read safely")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown escapes such as '\d' are text here
            literal = ast.literal_eval(stripped)
        # Tuples become lists and keys text; bytes, sets and complex numbers are refused.
        value: JSON = json.loads(json.dumps(literal, allow_nan=False))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        raise NotParsed(f"neither JSON nor a Python literal: {reason}") from None
    _refuse_surrogates(value, stripped)
    return value


def _refuse_surrogates(value: JSON, text: str) -> None:
    if "\\ud" not in text and "\\uD" not in text:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise NotParsed("JSON nested too deeply") from None
    except UnicodeEncodeError:
        raise NotParsed("holds half a character (a lone surrogate such as \\ud83d)") from None


_SIGNS = 1 << 18  # characters of the head in which the keys of programs are looked for
_KEY = re.compile(r"""["']([^"'\\]{1,40})["']\s*:""")


@dataclass(frozen=True, slots=True)
class FileHead:
    """What detection knows: the first lines, and the first JSON record where there is one.

    ``shape``: ``rows`` (a record per line), ``document`` (one JSON value), or empty. ``keys``: the
    first record's, if it is whole; ``signs``: all that occur, at whatever depth.
    """

    text: str
    lines: tuple[str, ...]
    suffix: str
    shape: str
    record: Record
    keys: frozenset[str]
    signs: frozenset[str] = frozenset()


def head_of(source: Source) -> FileHead:
    """Look at the head of ``source`` without using it up."""
    text = source.head.lstrip("\ufeff")
    lines = LINE_END.split(text)
    if not source.head_is_all and len(lines) > 1:
        lines.pop()  # the last one may be cut
    suffix = "." + without_compression(source.name.lower()).rpartition(".")[2]
    filled = tuple(line for line in lines if line.strip())
    body = text.lstrip()
    first, _, after = body.partition("\n")
    is_rows = first.strip() != "{" and (first.rstrip().endswith("}") or not after)
    if body.startswith("["):
        body, is_rows = body[1:].lstrip(), False
    if not body.startswith("{"):
        return FileHead(text, filled, suffix, "", {}, frozenset())
    try:
        value = parse_line(first) if body.startswith("{'") else parse_value(body)[0]
    except NotParsed:
        value = None
    record = value if isinstance(value, dict) else {}
    signs = frozenset(_KEY.findall(text[:_SIGNS]))
    shape = "rows" if is_rows else "document"
    return FileHead(text, filled, suffix, shape, record, frozenset(record or signs), signs)


@dataclass(frozen=True, slots=True)
class Reader:
    """One format: what turns its lines into dialogues, and how another package's is recognised.

    ``parse``: a function, or ``module:name``. ``has_fields``: keys that ``--where`` can ask for.
    """

    parse: Parse | str
    doc: str
    extensions: tuple[str, ...] = (".json", ".jsonl", ".ndjson")
    has_fields: bool = False
    sniff: Callable[[FileHead], bool] | None = None


@dataclass(frozen=True, slots=True)
class Program:
    """What is special in the exports of a program; assets/formats/programs.yaml says of what."""

    doc: str = ""
    signs: Sequence[Sequence[str]] = ()
    dialogues: str = ""
    turns: str = ""
    words: str = ""
    opening: str = ""
    instead: str = ""
    prepare: str = ""
    columns: Columns = field(default_factory=dict)
    said: Mapping[str, Sequence[object]] = field(default_factory=dict)
    internal: Mapping[str, Sequence[object]] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)
    clean: str = ""
    notice: str = ""
    one_channel: str = ""
    unit: float = 1.0
    tagged: bool = False
    labels: bool = False
    joined: bool = False
    order: str = ""
    llm: bool = False
    table: bool = False


@lru_cache
def programs() -> dict[str, Program]:
    """The programs whose exports are known, in the order in which they are asked for."""
    return {name: Program(**row) for name, row in format_table("programs").items()}


def program_of(keys: Collection[str], is_table: bool = False) -> str:
    """The name of the program that writes such keys, or columns; empty where none is known."""
    for name, program in programs().items():
        if program.table == is_table and any(all(k in keys for k in s) for s in program.signs):
            return name
    return ""


Convert = Callable[[Record], Dialogue | None]


class JsonValue(NamedTuple):
    """A JSON value and its first line; ``alone``: of its file; ``listed``: in an array."""

    line: int
    value: JSON
    alone: bool
    listed: bool = False


def convert_records(
    values: Iterator[JsonValue], source: Source, convert: Convert, report: ProblemReporter
) -> Iterator[Dialogue]:
    """Convert each record; what cannot be converted is reported and left out.

    One without an id has that of its line; on the same line ``:1`` is followed by ``:1.2``.
    """
    nameless: Counter[int] = Counter()
    for line, value, alone, _ in values:
        try:
            if not isinstance(value, dict):
                raise BadRecord(f"holds {json_kind(value)}, not an object of keys and values")
            dialogue = convert(value)
        except BadRecord as error:
            report(line, str(error))
            continue
        if dialogue is not None:
            nameless[line] += not dialogue.id
            more = f".{nameless[line]}" if nameless[line] > 1 else ""
            place = source.stem if alone else f"{source.stem}:{line}{more}"
            yield replace(dialogue, id=dialogue.id or place)


def json_values(source: Source, report: ProblemReporter) -> Iterator[JsonValue]:
    """All values of a file: of its lines, or of one document or array that goes over many."""
    lines = (line for line in source.lines(report) if line.text.strip(" \t\ufeff"))
    ahead = list(islice(lines, 3))
    if _is_document([line.text.strip(" \t\ufeff") for line in ahead]):
        yield from _document_values(chain(ahead, lines), report)
        return
    for number, text in chain(ahead, lines):
        try:
            value = parse_line(text.lstrip("\ufeff"))
        except NotParsed as error:
            report(number, str(error))
        else:
            yield JsonValue(number, value, False)


def _is_document(texts: Sequence[str]) -> bool:
    """Whether a file's first lines, three at most, begin one value that goes over many lines."""
    first, *others = texts or [""]
    goes_on = bool(others) and not (first.endswith("}") or others[0].startswith("{"))
    if goes_on or not first.startswith("{"):
        return first.startswith(("{", "["))
    try:  # what is open after the third line fails at the mark behind it
        return parse_value("\n".join([*texts, "?" * (len(texts) > 2)]))[1] > len(first)
    except NotParsed as error:
        return error.line > 3


def _document_values(lines: Iterator[SourceLine], report: ProblemReporter) -> Iterator[JsonValue]:
    """Walk through an array element by element, so that one wrong element spoils no other."""
    numbers, texts = zip(*lines, strict=True)
    text = "\n".join(texts).lstrip("\ufeff \t")
    is_array = text.startswith("[")
    position, counted, index = int(is_array), 0, 0
    while True:
        while position < len(text) and text[position] in " \t\n,":
            position += 1
        if position >= len(text) or text[position] == "]":
            break
        index += text.count("\n", counted, position)
        counted, line = position, numbers[index]
        try:
            value, position = parse_value(text, position)
        except NotParsed as error:
            report(numbers[min(error.line, len(numbers)) - 1], str(error))
            return
        yield JsonValue(line, value, not is_array, is_array)
    if is_array and position >= len(text):
        report(numbers[-1], "not JSON: the array is never closed")
