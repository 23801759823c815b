"""Summaries as text, Markdown, CSV, JSON and JSON lines, written as they come.

Nothing that was said runs as a formula of a spreadsheet. Utterances are numbered from 1 for people,
from 0 in JSON. Filled forms: `dialogist.forms`.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING

from dialogist.plain_text import (
    PROVED,
    labels_of,
    plain,
    printable,
    quotations,
    time_in_words,
    verdict_of,
)
from dialogist.records import PROFILE_PREFIX, Summary

if TYPE_CHECKING:
    from dialogist.summarizer import Result

CSV_COLUMNS = ("id", "status", "reason", "text", "verdicts", "warnings")
"""The usual ones; a form adds its sections."""
MORE_COLUMNS = ("writer", "ready")

_BELOW = "    "
_LONG = 1_800  # seconds
_DAY = 86_400  # seconds
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def rendered(
    results: "Iterable[Result]",
    format: str,
    columns: Sequence[str] = CSV_COLUMNS,
    bare: bool = False,
) -> Iterator[str]:
    """The text of each summary as soon as it is there.

    ``format``: text, md, csv, jsonl or json. ``bare``: text has the summaries alone, for pipes.
    ``columns``: those of CSV.
    """
    if format == "text":
        remaining = iter(results)
        first = list(islice(remaining, 2))
        for number, result in enumerate(chain(first, remaining)):
            if len(first) > 1:  # several: each under a line with its id
                yield f"{chr(10) * bool(number)}== {printable(result.summary.id)} ==\n"
            yield text_of(result, bare)
    elif format == "md":
        for result in results:
            yield markdown_of(result)
    elif format == "csv":
        yield csv_row(columns)
        for result in results:
            cells = _cells(result)
            yield csv_row(cells.get(column) for column in columns)
    elif format == "jsonl":
        for result in results:
            yield json.dumps(result.to_json(), ensure_ascii=False) + "\n"
    else:
        separator = "[\n"
        for result in results:
            yield separator + json.dumps(result.to_json(), ensure_ascii=False)
            separator = ",\n"
        yield "[]\n" if separator == "[\n" else "\n]\n"


def text_of(result: "Result", bare: bool = False) -> str:
    """One summary: each statement with its verdict, and what it rests on below it."""
    summary = result.summary
    if result.filled is not None:
        from dialogist.forms.fill import form_as_text  # takes a while to load

        lines = [form_as_text(result.filled, result.dialogue.utterances).rstrip("\n")]
    elif bare:
        lines = [printable(statement.text) for statement in summary.statements]
    else:
        lines = []
        for statement, behind, quotes in _shown(result):
            lines += [printable(statement) + behind, *(f"{_BELOW}{quote}" for quote in quotes)]
    if not bare:
        notes = (f"Note: {printable(message)}" for message in _messages(summary))
        lines += [*_times(result), *notes]
    if summary.status == "error" or not bare:
        lines += [*[""] * bool(lines), f"Status: {status_of(summary)}"]
    return "".join(f"{line}\n" for line in lines)


def markdown_of(result: "Result") -> str:
    """One summary under a heading; nothing that was said is markup."""
    summary = result.summary
    if result.filled is not None:
        from dialogist.forms.fill import form_as_markdown  # takes a while to load

        lines = [form_as_markdown(result.filled, result.dialogue.utterances).rstrip("\n")]
    else:
        lines = [f"## {plain(summary.id) or 'Dialogue'}", ""]
        for statement, behind, quotes in _shown(result, "*"):
            below = (f"{_BELOW}- {plain(quote)}" for quote in quotes)
            lines += [f"- {plain(statement)}{behind}", *below]
    lines += [text for line in _times(result) for text in ("", plain(line))]
    lines += ["", f"> **Status: {plain(status_of(summary))}**"]
    for message in (*_messages(summary), *(summary.reading.warnings if summary.reading else ())):
        lines += ["", f"> **Note:** {plain(message)}"]
    return "\n".join((*lines, "", ""))


def _messages(summary: Summary) -> list[str]:
    return [w.message for w in summary.warnings if w.message != summary.reason]


def _shown(result: "Result", emphasis: str = "") -> Iterator[tuple[str, str, list[str]]]:
    """Of each statement its text; where it was said, or its verdict, with the fields that it rests
    on; and the quotes below one that is not proved."""
    utterances, profile = result.dialogue.utterances, result.dialogue.profile
    escape, labels = plain if emphasis else printable, labels_of(utterances)
    for statement in result.summary.statements:
        quotes: list[str] = []
        if statement.verdict in PROVED:
            numbers = [span.utterance for span in statement.evidence]
            if statement.verdict == "supported":  # a quote has them in its own order
                numbers.sort()
            cited = dict.fromkeys(labels[number] for number in numbers)
            parts = [escape(f"[{label}]") for label in cited]
        else:
            verdict = escape(verdict_of(statement.verdict, statement.reasons))
            parts = [f"{emphasis}{verdict}{emphasis}"]
            quotes = quotations(statement.evidence, utterances)
        for name in statement.profile:
            value = profile.get(name.removeprefix(PROFILE_PREFIX), "")
            parts.append(escape(f"({name.replace('.', ': ', 1)} {value})"))
        yield statement.text, "".join(f" {part}" for part in parts), quotes


def _times(result: "Result") -> list[str]:
    """For a long conversation a line: how long it is, and when what the summary tells was said."""
    known = [u.start for u in result.dialogue.utterances if u.start is not None]
    if not known or max(known) - min(known) < _LONG:
        return []
    spans = (span for statement in result.summary.statements for span in statement.evidence)
    moments = sorted({span.time for span in spans if span.time is not None})
    days = max(known) // _DAY > min(known) // _DAY
    shown = ", ".join(dict.fromkeys(time_in_words(moment, days) for moment in moments))
    first, last = (time_in_words(moment, days) for moment in (min(known), max(known)))
    return [f"Times: {first} to {last}{f'; told: {shown}' if shown else ''}"]


def status_of(summary: Summary) -> str:
    """The status in words, how likely the summary would be filed unread, and why it is that."""
    words = summary.status.replace("_", " ")
    if summary.ready is not None:
        words += f" ({summary.ready:.0%} likely to be filed unread)"
    return f"{words}: {printable(summary.reason)}" if summary.reason else words


def csv_row(cells: Iterable[object]) -> str:
    """One line; None is an empty cell, and what begins like a formula gets an apostrophe."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(map(_cell, cells))
    return line.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return "" if math.isnan(value) else str(round(value, 6))
    text = "".join(c if c.isprintable() or c in "\n\t" else " " for c in str(value))
    return f"'{text}" if text.startswith(_FORMULA) else text


def _cells(result: "Result") -> dict[str, object]:
    summary, sections = result.summary, {}
    if result.filled is not None:
        from dialogist.forms.fill import section_as_cell  # takes a while to load

        sections = {section.title: section_as_cell(section) for section in result.filled.sections}
    own = {column: getattr(summary, column, None) for column in (*CSV_COLUMNS, *MORE_COLUMNS)}
    verdicts = ", ".join(sorted({statement.verdict for statement in summary.statements}))
    return {**sections, **own, "verdicts": verdicts, "warnings": len(summary.warnings)}
