"""Tables of a report, and its verdict in a few sentences."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialogist.evaluation.report_card import Card, CardRow, RowKind
from dialogist.evaluation.significance import Difference, Interval, compare_scores
from dialogist.evaluation.upper_bounds import HUMAN
from dialogist.metrics.base import Column
from dialogist.recipe.evaluation_run import REFERENCES_NAME
from dialogist.language.tokens import counted
from dialogist_lab.report.subject import ShownSystem, Subject, shown_alone

TABLE_GROUPS = {
    RowKind.system: "Systems",
    RowKind.train: "The same on a sample of their training data",
    RowKind.floor: "Baselines",
    RowKind.ceiling: "Upper bounds: people, and extracts chosen by the references",
}
_ARROWS = {"higher": "↑", "lower": "↓", "neither": ""}


@dataclass(frozen=True, slots=True)
class TableCell:
    """A figure and, small, where it may lie and its p. ``best``: to be seen first."""

    figure: str
    between: str = ""
    p: str = ""
    best: bool = False


@dataclass(frozen=True, slots=True)
class TableLine:
    """A row; ``number_text``: the system's, for its colour, None for what is no system."""

    name: str
    cells: tuple[TableCell, ...]
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Rows under one heading."""

    title: str
    lines: tuple[TableLine, ...]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Heads of all columns but the first, each with an arrow to what is better; groups of rows."""

    caption: str
    heads: tuple[tuple[str, str], ...]
    groups: tuple[Group, ...]


def figures_table(card: Card, keys: Sequence[str], caption: str) -> ReportTable | None:
    """The figures of some columns, systems first; None where none has a figure in any row."""
    columns = [
        column
        for key in keys
        for column in card.columns
        if column.key == key and any(has_figure(row.figures, key) for row in card.rows)
    ]
    if not columns:
        return None
    systems = [row.name for row in card.of_kind(RowKind.system)]
    measured = [row for row in card.rows if any(has_figure(row.figures, c.key) for c in columns)]
    best = {column.key: _best(card, column) for column in columns}
    groups = []
    for kind, title in TABLE_GROUPS.items():
        rows = [row for row in measured if row.kind is kind]
        if rows:
            lines = (
                TableLine(
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
    return ReportTable(caption, tuple(column_head(column) for column in columns), tuple(groups))


def outputs_table(card: Card) -> ReportTable:
    """How many outputs there are, how long, and how many are empty, cut or of half a dialogue."""
    heads = ("outputs", "words", "empty", "cut at the limit", "input not read whole")
    groups = tuple(
        Group(title, tuple(_counted(row) for row in card.of_kind(kind)))
        for kind, title in TABLE_GROUPS.items()
        if card.of_kind(kind)
    )
    return ReportTable("What the outputs are like", tuple((one, "") for one in heads), groups)


def differences_table(card: Card, keys: Sequence[str]) -> ReportTable | None:
    """How far every other system is from the one that they are compared with."""
    columns = [c for key in keys for c in card.columns if c.key == key]
    if not card.differences or not columns:
        return None
    lines = [
        TableLine(
            next(iter(found.values())).one, tuple(_difference(found.get(c.key)) for c in columns)
        )
        for found in card.differences
    ]
    caption = f"Difference from {card.against}, its 95% interval, and p (corrected by Holm)"
    return ReportTable(caption, tuple(column_head(c) for c in columns), (Group("", tuple(lines)),))


def number_text(value: float, unit: str = "%", sign: str = "") -> str:
    """A figure with a real minus: one decimal for scores, none for counts."""
    if math.isnan(value):
        return "–"
    digits = 1 if unit == "%" or abs(value) >= 10 else 2
    if unit != "%" and value.is_integer():
        digits = 0  # a count
    return f"{value:{sign}.{digits}f}".replace("-", "−")


def column_head(column: Column) -> tuple[str, str]:
    """Its title with its unit, and an arrow to what is better."""
    unit = "" if column.unit == "%" or column.unit in column.title else f" ({column.unit})"
    return f"{column.title}{unit}", _ARROWS[column.better]


def has_figure(figures: Mapping[str, Interval], key: str) -> bool:
    """Whether it was measured, and is known."""
    return key in figures and not math.isnan(figures[key].figure)


def _best(card: Card, column: Column) -> tuple[RowKind, str] | None:
    """The best system of several; none where two are, or where its figures may mean nothing."""
    found = sorted(
        (row.figures[column.key].figure, row.name)
        for row in card.of_kind(RowKind.system)
        if has_figure(row.figures, column.key)
    )
    if column.better == "higher":
        found.reverse()
    if len(found) < 2 or column.better == "neither" or found[0][0] == found[1][0]:
        return None
    if any(c.severity == "serious" and c.system == found[0][1] for c in card.cautions):
        return None
    return RowKind.system, found[0][1]


def _cell(found: Interval | None, column: Column, best: bool) -> TableCell:
    if found is None or math.isnan(found.figure):
        return TableCell("–")
    if math.isnan(found.low):
        return TableCell(number_text(found.figure, column.unit), best=best)
    low, high = (number_text(bound, column.unit) for bound in (found.low, found.high))
    return TableCell(number_text(found.figure, column.unit), f"{low} to {high}", best=best)


def _counted(row: CardRow) -> TableLine:
    counts = (row.empty, row.cut, row.partial)
    cells = (str(row.outputs), f"{row.words:.1f}", *map(str, counts))
    return TableLine(row.name, tuple(map(TableCell, cells)))


def _difference(found: Difference | None) -> TableCell:
    if found is None or math.isnan(found.difference):
        return TableCell("–")
    p = found.p_corrected
    said = "p < 0.001" if p < 0.001 else f"p {p:.2g}" if not math.isnan(p) else ""
    low, high = (number_text(bound, sign="+") for bound in (found.low, found.high))
    return TableCell(
        number_text(found.difference, sign="+"), f"{low} to {high}", said, best=p < 0.05
    )


MAIN = "rougeL.f1"
"""What systems are ranked by here."""

_SUPPORT = "faithfulness.any"
_KINDS = ("rouge1.f1", "rouge2.f1", MAIN)


def verdict(subject: Subject) -> list[str]:
    """Sentences, the most important first; none without a card."""
    ranked = sorted(
        (one for one in subject.systems if MAIN in one.scores),
        key=lambda one: -one.scores.figure(MAIN),
    )
    if subject.card is None or not ranked:
        return []
    best, *others = ranked
    return [
        _reached(best, subject),
        *_beside_floors(best, subject),
        *_beside_others(best, others),
        *_beside_ceilings(best, subject),
        *_beside_train(ranked),
        *_unsupported(best, subject),
        *_cautions(subject),
    ]


def _reached(best: ShownSystem, subject: Subject) -> str:
    assert subject.card is not None
    figures = " / ".join(f"{best.scores.figure(key):.1f}" for key in _KINDS)
    leads = "leads with" if len(subject.systems) > 1 else "reaches"
    found = best.intervals[MAIN]
    known = "" if math.isnan(found.low) else f" (ROUGE-L {found.low:.1f} to {found.high:.1f})"
    return (
        f"{best.name} {leads} ROUGE-1 / 2 / L of {figures}{known} on "
        f"{counted(subject.card.dialogues, 'dialogues')}."
    )


def _beside_floors(best: ShownSystem, subject: Subject) -> Iterator[str]:
    floors = [one for one in subject.shown if one.kind is RowKind.floor and MAIN in one.scores]
    if not floors:
        return
    floor = max(floors, key=lambda one: one.scores.figure(MAIN))
    found = _difference_sentence(best, floor)
    if found.difference <= 0:
        yield f"It is no better than the baseline {floor.name}, which is {_by(found)} above it."
    else:
        yield f"The best baseline, {floor.name}, is {_by(found)} below it."


def _beside_others(best: ShownSystem, others: list[ShownSystem]) -> Iterator[str]:
    if others:
        found = _difference_sentence(best, others[0])
        yield f"The next system, {others[0].name}, is {_by(found)} behind."


def _beside_ceilings(best: ShownSystem, subject: Subject) -> Iterator[str]:
    reached = best.scores.figure(MAIN)
    for one in subject.shown:
        if one.kind is RowKind.ceiling and MAIN in one.scores:
            figure = one.scores.figure(MAIN)
            human = one.name == HUMAN
            who = "People measured by each other reach" if human else f"The {one.name} reaches"
            yield f"{who} {figure:.1f} on ROUGE-L, {_apart(figure - reached)}."


def _beside_train(ranked: Sequence[ShownSystem]) -> Iterator[str]:
    for one in ranked:
        if one.train is not None and MAIN in one.train.scores:
            figure = one.train.scores.figure(MAIN)
            gap = _apart(figure - one.scores.figure(MAIN))
            yield f"On a sample of its training data {one.name} reaches {figure:.1f}, {gap}."


def _apart(gap: float) -> str:
    return f"{abs(gap):.1f} {'more' if gap > 0 else 'less'}"


def _unsupported(best: ShownSystem, subject: Subject) -> Iterator[str]:
    if _SUPPORT not in best.scores or math.isnan(best.scores.figure(_SUPPORT)):
        return
    people = [one for one in subject.shown if one.name in (HUMAN, REFERENCES_NAME)]
    beside = (
        f" (references, by the same rules: {one.scores.figure(_SUPPORT):.1f}%)"
        for one in people
        if _SUPPORT in one.scores
    )
    yield (
        f"{best.scores.figure(_SUPPORT):.1f}% of its outputs hold a name, speaker, number or other "
        f"entity that the dialogue does not support{next(beside, '')}."
    )


def _cautions(subject: Subject) -> Iterator[str]:
    assert subject.card is not None
    found = subject.card.cautions
    serious = sum(one.severity == "serious" for one in found)
    if serious:
        yield (
            f"{serious} serious {'caution says' if serious == 1 else 'cautions say'} that figures "
            "here may not mean what they seem to: read them first."
        )


def _difference_sentence(one: ShownSystem, other: ShownSystem) -> Difference:
    return compare_scores(shown_alone(one.scores, MAIN), shown_alone(other.scores, MAIN))[MAIN]


def _by(found: Difference) -> str:
    """``8.3 points of ROUGE-L (6.1 to 10.4, more than chance: p < 0.001)``."""
    size = f"{abs(found.difference):.1f} points of ROUGE-L"
    if found.outputs < 2:
        return f"{size} (one dialogue is too few to tell it from chance)"
    low, high = sorted((abs(found.low), abs(found.high)))
    same_side = (found.low > 0) == (found.high > 0)
    if not same_side:
        low, high = found.low, found.high
    between = f"{number_text(low)} to {number_text(high)}"
    p = "p < 0.001" if found.p < 0.001 else f"p {found.p:.2g}"
    return f"{size} ({between}; {'more than' if found.p < 0.05 else 'may be'} chance, {p})"
