"""Untrusted JSON (and Python literals) into plain values, whatever the text holds."""

import ast
import json
import math
import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from dialogist.errors import DataError
from dialogist.records import JSON

Record: TypeAlias = Mapping[str, JSON]

LONGEST_LITERAL = 1 << 22
DEEPEST_LITERAL = 50
_NO_RECORD: Record = MappingProxyType({})


class NotParsed(DataError):
    """A text is no JSON value; ``line`` says where, counted from the text's first line."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


# NaN is what pandas writes for an empty cell: it means "nothing here", as null does.
_DECODER = json.JSONDecoder(parse_constant=lambda name: None, parse_float=_finite)


def parse_value(text: str, start: int = 0) -> tuple[JSON, int]:
    """Parse the JSON value at ``start``; return it and the position behind it.

    Raises:
        NotParsed: no JSON there, nested too deeply, or with text that is not valid Unicode.
    """
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at line {error.lineno} column {error.colno}"
        if "\n" not in text:
            reason = f"not JSON: {error.msg} at column {error.colno}"
        raise NotParsed(reason, error.lineno) from None
    except RecursionError:
        raise NotParsed("JSON nested too deeply") from None
    except ValueError as error:  # an integer of thousands of digits
        raise NotParsed(f"not JSON: {error}") from None
    _refuse_surrogates(value, text)
    return value, end


def parse_line(text: str) -> JSON:
    """Parse a line that is one JSON value, or one Python dict (the first DialogSum release).

    Raises:
        NotParsed: it is neither.
    """
    stripped = text.strip()
    if stripped.startswith("{'"):
        return _parse_literal(stripped)
    value, end = parse_value(stripped)
    if end != len(stripped):
        raise NotParsed(f"not JSON: more text behind the value, at column {end + 1}")
    return value


def _parse_literal(text: str) -> JSON:
    if len(text) > LONGEST_LITERAL or _depth(text) > DEEPEST_LITERAL:
        raise NotParsed("a Python literal too large to be read safely")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # unknown escapes such as '\d' are text here
            literal = ast.literal_eval(text)
        # Tuples become lists and keys text; bytes, sets and complex numbers are refused.
        value: JSON = json.loads(json.dumps(literal, allow_nan=False))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        reason = getattr(error, "msg", None) or type(error).__name__
        raise NotParsed(f"neither JSON nor a Python literal: {reason}") from None
    _refuse_surrogates(value, text)
    return value


def _depth(text: str) -> int:
    """The deepest nesting of brackets, those inside strings counted too (an upper bound)."""
    depth = deepest = 0
    for character in text:
        if character in "[{(":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]})":
            depth = max(0, depth - 1)
    return deepest


def _refuse_surrogates(value: JSON, text: str) -> None:
    if "\\ud" not in text and "\\uD" not in text:
        return
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except RecursionError:
        raise NotParsed("JSON nested too deeply") from None
    except UnicodeEncodeError:
        raise NotParsed("holds half a character (a lone surrogate such as \\ud83d)") from None


def first_record(text: str) -> tuple[str, Record]:
    """The shape of a text (``rows``, ``document`` or neither) and its first record, if complete."""
    body = text.lstrip()
    first, _, after = body.partition("\n")
    if body.startswith("{"):
        record = _record_at(body, 0, first)
        is_document = first.strip() == "{" or not (first.rstrip().endswith("}") or not after)
        return "document" if is_document else "rows", record
    inner = body[1:].lstrip()
    if body.startswith("[") and inner.startswith("{"):
        return "document", _record_at(inner, 0, inner)
    return "", _NO_RECORD


def _record_at(text: str, start: int, line: str) -> Record:
    try:
        value = parse_line(line) if line.startswith("{'") else parse_value(text, start)[0]
    except NotParsed:
        return _NO_RECORD
    return value if isinstance(value, dict) else _NO_RECORD
