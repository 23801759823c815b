"""Summaries as text, JSON, JSON lines, Markdown or CSV, written as they come."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from dialogist.cli.forms import OutputFormat, csv_row
from dialogist.errors import UsageError, nearest
from dialogist.present import Shape, Shaped, markdown_of, text_of
from dialogist.template.filled import FilledSection, legend, plain, printable

# Summaries as CSV, for spreadsheets: a row each, a column per section of the template.


_USUAL = ("id", "status", "reason", "text", "kinds", "warnings")
_MORE = ("model", "score", "key_points")


def columns_of(wanted: str, shape: Shape) -> tuple[str, ...]:
    """Return the columns of a table of summaries: the wanted ones, or all usual ones.

    ``wanted``: names with commas. A template adds a column per section.

    Raises:
        UsageError: there is no such column; names the nearest.
    """
    sections = tuple(one.title for one in shape.template.sections) if shape.template else ()
    names = [name.strip() for name in wanted.split(",") if name.strip()]
    known = (*_USUAL, *sections, *_MORE)
    for name in names:
        if name not in known:
            choices = ", ".join(known)
            raise UsageError(f"--columns {name}: no such column{nearest(name, known)} ({choices})")
    return tuple(names) or (*_USUAL, *sections)


def summaries_as_csv(summaries: Iterable[Shaped], columns: Sequence[str]) -> Iterator[str]:
    """Yield the line of titles, then a line per summary."""
    yield csv_row(columns)
    for shown in summaries:
        cells = _cells(shown)
        yield csv_row(cells.get(column) for column in columns)


def _cells(shown: Shaped) -> Mapping[str, object]:
    summary = shown.summary
    sections = shown.filled.sections if shown.filled is not None else ()
    return {
        **{section.title: _entries(section) for section in sections},
        "id": summary.id,
        "status": summary.status,
        "reason": summary.reason,
        "text": summary.text,
        "kinds": ", ".join(sorted(shown.kinds - {""})),
        "warnings": len(summary.warnings),
        "model": summary.model,
        "score": summary.score,
        "key_points": ", ".join(point.label for point in summary.key_points),
    }


def _entries(section: FilledSection) -> str:
    """What a section holds, an entry per line of the cell."""
    return "\n".join(entry.text.strip() for entry in section.entries)


# Summaries as text, JSON, JSON lines or Markdown, written as they come.


def _text(summaries: Iterable[Shaped]) -> Iterator[str]:
    """One summary: its lines alone. Several: each under a line with its id."""
    remaining = iter(summaries)
    first = list(islice(remaining, 2))
    several = len(first) > 1
    kinds: set[str] = set()
    for number, shown in enumerate(chain(first, remaining)):
        if several:
            yield f"{'' if number == 0 else chr(10)}== {printable(shown.summary.id)} ==\n"
        yield from text_of(shown)
        kinds |= shown.kinds if shown.with_evidence or shown.filled else set()
    if told := legend(kinds):
        yield f"\n{told}\n"


def _markdown(summaries: Iterable[Shaped]) -> Iterator[str]:
    kinds: set[str] = set()
    for shown in summaries:
        yield from markdown_of(shown)
        kinds |= shown.kinds
    if told := legend(kinds):
        yield f"*{plain(told)}*\n"


def _json(summaries: Iterable[Shaped]) -> Iterator[str]:
    separator = "[\n"
    for summary in summaries:
        yield separator + json.dumps(summary.to_json(), ensure_ascii=False)
        separator = ",\n"
    yield "[]\n" if separator == "[\n" else "\n]\n"


def _jsonl(summaries: Iterable[Shaped]) -> Iterator[str]:
    for summary in summaries:
        yield json.dumps(summary.to_json(), ensure_ascii=False) + "\n"


_FORMS: dict[OutputFormat, Callable[[Iterable[Shaped]], Iterator[str]]] = {
    OutputFormat.text: _text,
    OutputFormat.json: _json,
    OutputFormat.jsonl: _jsonl,
    OutputFormat.md: _markdown,
}


def pieces_of(
    summaries: Iterable[Shaped], form: OutputFormat, columns: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the text of each summary as soon as it is there; ``columns``: those of CSV."""
    if form is OutputFormat.csv:
        return summaries_as_csv(summaries, columns)
    return _FORMS[form](summaries)


def write_summaries(
    summaries: Iterable[Shaped], form: OutputFormat, columns: Sequence[str] = ()
) -> None:
    """Write `pieces_of` to stdout, UTF-8 whatever the locale."""
    for piece in pieces_of(summaries, form, columns):
        sys.stdout.buffer.write(piece.encode("utf-8", errors="backslashreplace"))
        sys.stdout.buffer.flush()
