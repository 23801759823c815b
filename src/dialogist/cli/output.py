"""Summaries as text, JSON, JSON lines or Markdown, written as they come."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from enum import StrEnum
from itertools import chain, islice

from dialogist.records import Summary

SCHEMA_VERSION = 1


class Output(StrEnum):
    """The forms of output."""

    text = "text"
    json = "json"
    jsonl = "jsonl"
    md = "md"


def summary_to_json(summary: Summary) -> dict[str, object]:
    """The fields of a summary, with the version of their meaning."""
    return {"schema_version": SCHEMA_VERSION, **asdict(summary)}


def _text(summaries: Iterable[Summary]) -> Iterator[str]:
    """One summary: its text alone. Several: each under a line with its id."""
    remaining = iter(summaries)
    first = list(islice(remaining, 2))
    several = len(first) > 1
    for number, summary in enumerate(chain(first, remaining)):
        if several:
            yield f"{'' if number == 0 else chr(10)}== {_printable(summary.id)} ==\n"
        if summary.key_points:
            yield from (f"[{p.label}] {_printable(p.text).strip()}\n" for p in summary.key_points)
            continue
        for text in (summary.text, *summary.alternatives):
            yield f"{_printable(text)}\n"


def _markdown(summaries: Iterable[Summary]) -> Iterator[str]:
    for summary in summaries:
        yield f"## {_printable(summary.id) or 'Dialogue'}\n\n"
        if summary.key_points:
            yield from (
                f"**{p.label}**: {_printable(p.text).strip()}\n\n" for p in summary.key_points
            )
        else:
            yield f"{_printable(summary.text)}\n\n"
        for text in summary.alternatives:
            yield f"*or:* {_printable(text)}\n\n"
        for warning in summary.warnings:
            yield f"> **Note:** {_printable(warning)}\n\n"


def _json(summaries: Iterable[Summary]) -> Iterator[str]:
    separator = "[\n"
    for summary in summaries:
        yield separator + json.dumps(summary_to_json(summary), ensure_ascii=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _jsonl(summaries: Iterable[Summary]) -> Iterator[str]:
    for summary in summaries:
        yield json.dumps(summary_to_json(summary), ensure_ascii=False) + "\n"


_FORMS: dict[Output, Callable[[Iterable[Summary]], Iterator[str]]] = {
    Output.text: _text,
    Output.json: _json,
    Output.jsonl: _jsonl,
    Output.md: _markdown,
}


def write_summaries(summaries: Iterable[Summary], form: Output) -> None:
    """Write to stdout, UTF-8 whatever the locale, each summary as soon as it is there."""
    for piece in _FORMS[form](summaries):
        sys.stdout.buffer.write(piece.encode("utf-8", errors="replace"))
        sys.stdout.buffer.flush()


def _printable(text: str) -> str:
    """No control characters: text must not steer a terminal."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)
