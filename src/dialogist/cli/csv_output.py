"""Summaries as CSV, for spreadsheets: a row each, a column per section of the template."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from dialogist.cli.csv_cells import csv_row
from dialogist.errors import UsageError, nearest
from dialogist.present.shaping import Shape, Shaped
from dialogist.template.filled import FilledSection

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
