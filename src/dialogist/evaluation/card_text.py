"""A `Card` as text for a narrow terminal, and as Markdown.

A table of a few headline columns, each system's with half its interval below; then a line for each
other metric; then what to beware of.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence

from dialogist.evaluation.card import Card, Kind, Row
from dialogist.evaluation.statistics.resampling import Interval
from dialogist.evaluation.statistics.significance import Difference
from dialogist.text.listing import counted

_NAME, _FIGURE = 20, 7
_BRIEF = {
    "faithfulness": ("any", "name", "speaker", "number", "entity", "swap", "negation"),
    "copying": ("copied", "novel2", "compression", "repeats4"),
    "slots": ("precision", "recall", "f1"),
}
"""What a line has of metrics with many columns; JSON has all."""
_COUNTS = "pairs"
"""The unit of counts that explain a figure: these stand in JSON alone."""
_INDENTED = (Kind.floor, Kind.ceiling)
_NOTHING = "-"
_PARTS = (".precision", ".recall")
_SURE = 0.05


def card_text(card: Card, headline: Sequence[str]) -> str:
    """All of it; ``headline``: the keys of the table's columns."""
    lines = [_about(card), "", *_table(card, headline), ""]
    lines += [*remarks(card, headline), *signatures(card)]
    return "\n".join(lines).replace("\n\n\n", "\n\n")


def card_markdown(card: Card, headline: Sequence[str]) -> str:
    """The same as a table and lists."""
    heads = [card.column(key).title for key in headline]
    lines = [_about(card), "", bars(["", *heads]), bars(["---", *["---:"] * len(heads)])]
    lines += [bars([row.name, *(told(row, key) for key in headline)]) for row in card.rows]
    lines += ["", *(f"* {text}" for text in (*remarks(card, headline), *signatures(card)))]
    return "\n".join(lines)


def bars(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def told(row: Row, key: str, digits: int = 2) -> str:
    """``39.31 ± 1.20``; ``-`` where there is nothing."""
    found = row.figures.get(key)
    return _NOTHING if found is None else figure_text(found, digits)


def figure_text(found: Interval, digits: int = 2) -> str:
    """A figure and half its interval."""
    if math.isnan(found.figure):
        return _NOTHING
    half = "" if math.isnan(found.half) else f" ± {found.half:.{digits}f}"
    return f"{found.figure:.{digits}f}{half}"


def _about(card: Card) -> str:
    name = card.of_kind(Kind.system)[0].name
    dialogues = counted(card.dialogues, "dialogues")
    return f"{name}: {dialogues} of {card.data}, {card.references:.2f} references each"


def _table(card: Card, headline: Sequence[str]) -> Iterator[str]:
    yield _line("", [card.column(key).title for key in headline])
    before = Kind.system
    for row in card.rows:
        if row.kind is not before and row.kind in _INDENTED:
            yield {Kind.floor: "floors", Kind.ceiling: "ceilings"}[row.kind]
        before = row.kind
        found = [row.figures.get(key) for key in headline]
        name = f"  {row.name}" if row.kind in _INDENTED else row.name
        yield _line(
            "train sample" if row.kind is Kind.train else name,
            [_NOTHING if one is None else _number(one.figure) for one in found],
        )
        if row.kind not in _INDENTED:
            yield _line("  ±", [_NOTHING if one is None else _number(one.half) for one in found])
    yield from _gaps(card, headline)


def _gaps(card: Card, headline: Sequence[str]) -> Iterator[str]:
    """How far each system is ahead on what it was trained on."""
    dev = {row.name: row for row in card.of_kind(Kind.system)}
    for row in card.of_kind(Kind.train):
        gaps = [row.figures[key].figure - dev[row.name].figures[key].figure for key in headline]
        yield _line("train - here", [f"{gap:+.2f}" for gap in gaps])


def _line(name: str, cells: Sequence[str]) -> str:
    shown = name if len(name) <= _NAME else f"…{name[-_NAME + 1 :]}"
    return f"{shown:{_NAME}}{''.join(cell.rjust(_FIGURE) for cell in cells)}".rstrip()


def _number(value: float) -> str:
    return _NOTHING if math.isnan(value) else f"{value:.2f}"


def remarks(card: Card, headline: Sequence[str]) -> Iterator[str]:
    """Every system's other figures, its outputs, and what to beware of; one line each."""
    yield from other_figures(card, headline)
    for row in card.of_kind(Kind.system):
        yield (
            f"{_whose(card, row.name)}{row.words:.1f} words an output, references "
            f"{card.words:.1f}; {row.partial} read in part, {row.cut} cut, {row.empty} empty"
        )
    yield from caution_lines(card)


def other_figures(
    card: Card, headline: Sequence[str], without: Collection[str] = ("rouge",)
) -> Iterator[str]:
    """A line for each system and metric, but those that a table has."""
    for row in card.of_kind(Kind.system):
        for metric, keys in card.groups.items():
            others = [
                key
                for key in _brief(metric, keys)
                if key not in headline
                and told(row, key) != _NOTHING
                and card.column(key).unit != _COUNTS
            ]
            if metric not in without and others:
                told_of = ", ".join(_named(card, row, key) for key in others)
                yield f"{_whose(card, row.name)}{metric}: {told_of}"


def caution_lines(card: Card) -> Iterator[str]:
    """What to beware of, control characters out: outputs are quoted there."""
    for caution in card.cautions:
        line = f"{caution.severity}: {_whose(card, caution.system)}{caution.text}"
        yield "".join(c if c.isprintable() else " " for c in line)


def _whose(card: Card, name: str) -> str:
    return f"{name}: " if name and len(card.of_kind(Kind.system)) > 1 else ""


def _brief(metric: str, keys: Sequence[str]) -> list[str]:
    """Of precision, recall and F1 only the last; of several references the mean."""
    chosen = [f"{metric}.{name}" for name in _BRIEF.get(metric, ())]
    if chosen:
        return [key for key in chosen if key in keys]
    parts = [key for key in keys if _of_parts(key) != key and _of_parts(key) in keys]
    return [key for key in keys if key not in parts and ".max." not in key]


def _of_parts(key: str) -> str:
    """The key of the F1 that a precision or recall belongs to."""
    for part in _PARTS:
        key = f"{key.removesuffix(part)}.f1" if key.endswith(part) else key
    return key


def _named(card: Card, row: Row, key: str) -> str:
    column = card.column(key)
    unit = {"%": ""}.get(column.unit, f" {column.unit}")
    return f"{column.title} {told(row, key, 1)}{unit}"


def signatures(card: Card) -> Iterator[str]:
    """How figures and intervals came about."""
    yield from card.signatures.values()
    yield card.resampling.signature


def chance_tables(card: Card, keys: Sequence[str]) -> Iterator[list[list[str]]]:
    """Figures with intervals, and differences with theirs: rows of cells, heads first."""
    titles = [card.column(key).title for key in keys]
    yield [
        [f"{card.resampling.level:.0%} intervals", *titles],
        *([row.name, *(told(row, key, 1) for key in keys)] for row in card.rows),
    ]
    if card.differences:
        yield [
            [f"differences from {card.against}", *titles],
            *([_system_of(found), *_differences(found, keys)] for found in card.differences),
        ]


def chance_remarks(card: Card, keys: Sequence[str]) -> Iterator[str]:
    """What the marks in `chance_tables` mean, and how far systems would have to differ."""
    if not card.differences:
        return
    count = len(card.differences)
    of = f", Holm's correction for {count} comparisons" if count > 1 else ""
    yield f"with a *: p < {_SURE} (approximate randomisation{of}); without, it may be chance"
    noted = []
    for key in keys:
        least = [found[key].least for found in card.differences if key in found]
        told_of = [value for value in least if not math.isnan(value)]
        if told_of:
            noted.append(f"{card.column(key).title} {max(told_of):.1f}")
    yield f"differences are noted here from about {', '.join(noted)}"


def _system_of(found: Mapping[str, Difference]) -> str:
    return next(iter(found.values())).one


def _differences(found: Mapping[str, Difference], keys: Sequence[str]) -> Iterator[str]:
    for key in keys:
        one = found.get(key)
        if one is None or math.isnan(one.difference):
            yield _NOTHING
        else:
            sure = "*" if one.p_corrected < _SURE else " "
            yield f"{one.difference:+.1f} ± {(one.high - one.low) / 2:.1f}{sure}"
