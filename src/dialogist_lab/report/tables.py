"""Tables of the report: figures with intervals, outputs, differences; for page and Markdown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialogist.evaluation.report_card import Card, CardRow, RowKind
from dialogist.evaluation.significance import Difference, Interval
from dialogist.metrics.base import Column

GROUPS = {
    RowKind.system: "Systems",
    RowKind.train: "The same on a sample of their training data",
    RowKind.floor: "Floors: baselines",
    RowKind.ceiling: "Ceilings: people, and extracts chosen by the references",
}
_ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}
_SAID = {"higher": "more is better", "lower": "less is better", "neither": ""}


@dataclass(frozen=True, slots=True)
class Head:
    """A column's title; ``arrow`` and ``said`` tell which way is better."""

    title: str
    arrow: str = ""
    said: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure and, small, where it may lie and its p. ``best``: to be seen first."""

    figure: str
    between: str = ""
    p: str = ""
    best: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A row; ``number``: the system's, for its colour, None for what is no system."""

    name: str
    cells: tuple[Cell, ...]
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Rows under one heading."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Heads of all columns but the first, and groups of rows."""

    caption: str
    heads: tuple[Head, ...]
    groups: tuple[Group, ...]


def figures_table(card: Card, keys: Sequence[str], caption: str) -> Table | None:
    """The figures of some columns, systems first; None where none has a figure in any row."""
    columns = [
        column
        for key in keys
        for column in card.columns
        if column.key == key and any(_has(row, key) for row in card.rows)
    ]
    if not columns:
        return None
    systems = [row.name for row in card.of_kind(RowKind.system)]
    measured = [row for row in card.rows if any(_has(row, c.key) for c in columns)]
    best = {column.key: _best(card, column) for column in columns}
    groups = []
    for kind, title in GROUPS.items():
        rows = [row for row in measured if row.kind is kind]
        if rows:
            lines = (
                Line(
                    name=row.name,
                    cells=tuple(
                        _cell(row.figures.get(c.key), c, best[c.key] == (kind, row.name))
                        for c in columns
                    ),
                    number=systems.index(row.name) if kind is RowKind.system else None,
                )
                for row in rows
            )
            groups.append(Group(title, tuple(lines)))
    return Table(caption, tuple(_head(column) for column in columns), tuple(groups))


def outputs_table(card: Card) -> Table:
    """How many outputs there are, how long, and how many are empty, cut or of half a dialogue."""
    heads = ("outputs", "words", "empty", "cut at the limit", "input not read whole")
    groups = tuple(
        Group(title, tuple(_counted(row) for row in card.of_kind(kind)))
        for kind, title in GROUPS.items()
        if card.of_kind(kind)
    )
    return Table("What the outputs are like", tuple(map(Head, heads)), groups)


def differences_table(card: Card, keys: Sequence[str]) -> Table | None:
    """How far every other system is from the one that they are compared with."""
    columns = [c for key in keys for c in card.columns if c.key == key]
    if not card.differences or not columns:
        return None
    lines = [
        Line(_name(found), tuple(_difference(found.get(c.key)) for c in columns))
        for found in card.differences
    ]
    caption = f"Difference from {card.against}, its 95% interval, and p (corrected by Holm)"
    return Table(caption, tuple(_head(c) for c in columns), (Group("", tuple(lines)),))


def number(value: float, unit: str = "%", sign: str = "") -> str:
    """A figure with a real minus: one decimal for scores, none for counts."""
    if math.isnan(value):
        return "–"
    digits = 1 if unit == "%" or abs(value) >= 10 else 2
    if unit != "%" and value.is_integer():
        digits = 0  # a count
    return f"{value:{sign}.{digits}f}".replace("-", "−")


def _head(column: Column) -> Head:
    unit = "" if column.unit == "%" or column.unit in column.title else f" ({column.unit})"
    return Head(f"{column.title}{unit}", _ARROWS[column.better], _SAID[column.better])


def _has(row: CardRow, key: str) -> bool:
    return key in row.figures and not math.isnan(row.figures[key].figure)


def _best(card: Card, column: Column) -> tuple[RowKind, str] | None:
    """The best system of several; none where two are."""
    found = sorted(
        (row.figures[column.key].figure, row.name)
        for row in card.of_kind(RowKind.system)
        if _has(row, column.key)
    )
    if column.better == "higher":
        found.reverse()
    if len(found) < 2 or column.better == "neither" or found[0][0] == found[1][0]:
        return None
    return RowKind.system, found[0][1]


def _cell(found: Interval | None, column: Column, best: bool) -> Cell:
    if found is None or math.isnan(found.figure):
        return Cell("–")
    if math.isnan(found.low):
        return Cell(number(found.figure, column.unit), best=best)
    low, high = (number(bound, column.unit) for bound in (found.low, found.high))
    return Cell(number(found.figure, column.unit), f"{low} to {high}", best=best)


def _counted(row: CardRow) -> Line:
    counts = (row.empty, row.cut, row.partial)
    cells = (str(row.outputs), f"{row.words:.1f}", *map(str, counts))
    return Line(row.name, tuple(map(Cell, cells)))


def _difference(found: Difference | None) -> Cell:
    if found is None or math.isnan(found.difference):
        return Cell("–")
    p = found.p_corrected
    said = "p < 0.001" if p < 0.001 else f"p {p:.2g}" if not math.isnan(p) else ""
    low, high = (number(bound, sign="+") for bound in (found.low, found.high))
    return Cell(number(found.difference, sign="+"), f"{low} to {high}", said, best=p < 0.05)


def _name(found: Mapping[str, Difference]) -> str:
    return next(one.one for one in found.values())
