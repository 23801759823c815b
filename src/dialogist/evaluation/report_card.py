"""The report card: what systems, baselines and upper bounds reach, and how sure that is.

`MeasuredSystem` is what was measured; `make_card` adds intervals, differences and cautions. Table,
JSON and report are made of the `Card` alone. Its JSON is in
docs/reference/evaluation-files.md.
"""

import math
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from dialogist.evaluation.diagnostics import (
    Caution,
    chance_cautions,
    output_cautions,
    reference_cautions,
)
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import (
    DEFAULT_RESAMPLING,
    Difference,
    Interval,
    Resampling,
    compare_all,
    intervals,
)
from dialogist.evaluation.system_outputs import Output
from dialogist.metrics.base import Column, Metric
from dialogist.record_json import to_json
from dialogist.records import JSON
from dialogist.language.tokens import counted, words_in

CARD_VERSION = 1


class RowKind(StrEnum):
    """What a row is there for."""

    system = "system"
    train = "train"
    """A system on a sample of its training data."""
    floor = "floor"
    ceiling = "ceiling"


@dataclass(frozen=True, slots=True)
class MeasuredSystem:
    """Outputs and what was measured of them."""

    kind: RowKind
    outputs: tuple[Output, ...]
    scores: Scores

    @property
    def name(self) -> str:
        """The system's."""
        return self.scores.system


@dataclass(frozen=True, slots=True)
class CardRow:
    """A system's figures by key, each with its interval; ``words``: mean length of an output."""

    name: str
    kind: RowKind
    outputs: int
    words: float
    empty: int
    cut: int
    partial: int
    figures: Mapping[str, Interval]

    @classmethod
    def of(cls, entry: MeasuredSystem, resampling: Resampling) -> "CardRow":
        """Sum up."""
        outputs = entry.outputs
        return cls(
            name=entry.name,
            kind=entry.kind,
            outputs=len(entry.scores.ids),
            words=fmean(len(words_in(one.prediction)) for one in outputs),
            empty=sum(not words_in(one.prediction) for one in outputs),
            cut=sum(one.summary.is_cut for one in outputs),
            partial=sum(one.summary.status == "truncated" for one in outputs),
            figures=intervals(entry.scores, resampling),
        )

    def to_json(self) -> dict[str, JSON]:
        """All fields; a figure without a value is null."""
        fields = to_json(self)
        return {"system": fields.pop("name"), **fields}


@dataclass(frozen=True, slots=True)
class Card:
    """All there is to show of one data set.

    ``columns``: of all rows, in order; ``groups``: their keys by metric. ``differences``: of each
    other system from ``against``, by key. ``words``: mean length of a reference, punctuation not
    counted.
    """

    data: str
    dialogues: int
    references: float
    words: float
    columns: tuple[Column, ...]
    groups: Mapping[str, tuple[str, ...]]
    rows: tuple[CardRow, ...]
    against: str
    differences: tuple[Mapping[str, Difference], ...]
    signatures: Mapping[str, str]
    resampling: Resampling
    cautions: tuple[Caution, ...]

    def of_kind(self, *kinds: RowKind) -> list[CardRow]:
        """The rows of these kinds, in order."""
        return [row for row in self.rows if row.kind in kinds]

    def column(self, key: str) -> Column:
        """The column of that key.

        Raises:
            KeyError: there is none.
        """
        return {column.key: column for column in self.columns}[key]

    def to_json(self) -> dict[str, JSON]:
        """All of it as plain values."""
        return {
            "schema_version": CARD_VERSION,
            "data": self.data,
            "dialogues": self.dialogues,
            "references": self.references,
            "reference_words": self.words,
            "columns": [
                {"key": c.key, "title": c.title, "better": c.better, "unit": c.unit}
                for c in self.columns
            ],
            "metrics": {name: list(keys) for name, keys in self.groups.items()},
            "rows": [row.to_json() for row in self.rows],
            "against": self.against or None,
            "differences": [
                difference_to_json(one) for found in self.differences for one in found.values()
            ],
            "signatures": dict(self.signatures),
            "intervals": self.resampling.signature,
            "cautions": list(map(to_json, self.cautions)),
        }


def make_card(
    data: str,
    entries: Sequence[MeasuredSystem],
    metrics: Iterable[Metric],
    cautions: Sequence[Caution] = (),
    against: str = "",
    resampling: Resampling = DEFAULT_RESAMPLING,
) -> Card:
    """Put entries into one card.

    Args:
        data: what the dialogues are called.
        entries: one or more; the first one's references are told about.
        metrics: those that measured them, for what they cannot read.
        cautions: what is known beside what can be seen here.
        against: the row that the other systems are compared with (none: the first system).
        resampling: how chance is weighed.

    Raises:
        UsageError: rows that are compared were measured in two ways.
    """
    measured = tuple(metrics)
    first = entries[0].outputs
    systems = [entry for entry in entries if entry.kind is RowKind.system]
    base = next((entry for entry in entries if entry.name == against), systems[0])
    others = [entry.scores for entry in systems if entry is not base]
    differences = compare_all(others, base.scores, resampling) if others else []
    seen = [
        *reference_cautions(first, measured),
        *(one for entry in systems for one in output_cautions(entry.name, entry.outputs, measured)),
        *chance_cautions(differences, "rougeL.f1", resampling.level),
    ]
    return Card(
        data=data,
        dialogues=len(first),
        references=fmean(len(one.references) for one in first),
        words=fmean(fmean(len(words_in(text)) for text in one.references) for one in first),
        columns=tuple({c.key: c for e in entries for c in e.scores.columns}.values()),
        groups={metric.name: tuple(c.key for c in metric.columns) for metric in measured},
        rows=tuple(CardRow.of(entry, resampling) for entry in entries),
        against=base.name if others else "",
        differences=tuple(differences),
        signatures={k: v for entry in entries for k, v in entry.scores.signatures.items()},
        resampling=resampling,
        cautions=(*cautions, *seen),
    )


def difference_to_json(found: Difference) -> dict[str, JSON]:
    """Its fields, null for NaN."""
    names = {"one": "system", "other": "from"}
    return {names.get(name, name): value for name, value in to_json(found).items()}


_NAME, _FIGURE = 20, 7
_BRIEF = {
    "faithfulness": ("any", "name", "speaker", "number", "entity", "swap", "negation"),
    "copying": ("copied", "novel2", "compression", "repeats4"),
    "slots": ("precision", "recall", "f1"),
}
"""What a line has of metrics with many columns; JSON has all."""
_COUNTS = "pairs"
"""The unit of counts that explain a figure: these stand in JSON alone."""
KIND_TITLES = {RowKind.floor: "baselines", RowKind.ceiling: "upper bounds"}
"""What stands above the rows that nobody asked for."""
_INDENTED = tuple(KIND_TITLES)
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
    heads = ["", *(card.column(key).title for key in headline)]
    rows = [[row.name, *(interval_cell(row, key) for key in headline)] for row in card.rows]
    told = [*remarks(card, headline), *signatures(card)]
    return f"{_about(card)}\n\n{tables_markdown([[heads, *rows]], told)}"


def tables_markdown(
    tables: Iterable[Sequence[Sequence[str]]],
    remarks: Iterable[str],
    names: Container[int] = (0,),
) -> str:
    """Tables, heads first, and a list of remarks; the columns of ``names`` are no figures."""
    lines: list[str] = []
    for heads, *rows in tables:
        rule = ["---" if i in names else "---:" for i in range(len(heads))]
        lines += [*map(markdown_row, (heads, rule, *rows)), ""]
    return "\n".join([*lines, *(f"* {text}" for text in remarks)])


def markdown_row(cells: Sequence[str]) -> str:
    """A row of a Markdown table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def interval_cell(row: CardRow, key: str, digits: int = 2) -> str:
    """``39.31 (38.00 to 40.40)``; ``-`` where there is nothing."""
    found = row.figures.get(key)
    return _NOTHING if found is None else figure_text(found, digits)


def figure_text(found: Interval, digits: int = 2) -> str:
    """A figure and its interval."""
    if math.isnan(found.figure):
        return _NOTHING
    known = not math.isnan(found.low)
    ends = f" ({found.low:.{digits}f} to {found.high:.{digits}f})" if known else ""
    return f"{found.figure:.{digits}f}{ends}"


def _about(card: Card) -> str:
    name = card.of_kind(RowKind.system)[0].name
    dialogues = counted(card.dialogues, "dialogues")
    return f"{name}: {dialogues} of {card.data}, {card.references:.2f} references each"


def _table(card: Card, headline: Sequence[str]) -> Iterator[str]:
    titles = [card.column(key).title for key in headline]
    yield _line("", titles, titles)
    before = RowKind.system
    for row in card.rows:
        if row.kind is not before and row.kind in _INDENTED:
            yield KIND_TITLES[row.kind]
        before = row.kind
        found = [row.figures.get(key) for key in headline]
        name = f"  {row.name}" if row.kind in _INDENTED else row.name
        yield _line(
            "train sample" if row.kind is RowKind.train else name,
            [_NOTHING if one is None else _two_decimals(one.figure) for one in found],
            titles,
        )
        if row.kind not in _INDENTED:
            for end in ("low", "high"):
                ends = [math.nan if one is None else getattr(one, end) for one in found]
                yield _line(f"  {end}", map(_two_decimals, ends), titles)
    yield from _gaps(card, headline)


def _gaps(card: Card, headline: Sequence[str]) -> Iterator[str]:
    """How far each system is ahead on what it was trained on."""
    titles = [card.column(key).title for key in headline]
    dev = {row.name: row for row in card.of_kind(RowKind.system)}
    for row in card.of_kind(RowKind.train):
        gaps = [row.figures[key].figure - dev[row.name].figures[key].figure for key in headline]
        yield _line("train - here", [f"{gap:+.2f}" for gap in gaps], titles)


def _line(name: str, cells: Iterable[str], titles: Sequence[str]) -> str:
    shown = name if len(name) <= _NAME else f"…{name[-_NAME + 1 :]}"
    widths = (max(_FIGURE, 1 + len(title)) for title in titles)
    told = (cell.rjust(width) for cell, width in zip(cells, widths, strict=True))
    return f"{shown:{_NAME}}{''.join(told)}".rstrip()


def _two_decimals(value: float) -> str:
    return _NOTHING if math.isnan(value) else f"{value:.2f}"


def remarks(card: Card, headline: Sequence[str]) -> Iterator[str]:
    """Every system's other figures, its outputs, and what to beware of; one line each."""
    yield from other_figures(card, headline)
    for row in card.of_kind(RowKind.system):
        yield (
            f"{_whose(card, row.name)}{row.words:.1f} words an output, references "
            f"{card.words:.1f}; {row.partial} read in part, {row.cut} cut, {row.empty} empty"
        )
    yield from caution_lines(card)


def other_figures(
    card: Card, headline: Sequence[str], without: Collection[str] = ("rouge",)
) -> Iterator[str]:
    """A line for each system and metric, but those that a table has."""
    for row in card.of_kind(RowKind.system):
        for metric, keys in card.groups.items():
            others = [
                key
                for key in _brief(metric, keys)
                if key not in headline
                and interval_cell(row, key) != _NOTHING
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
    return f"{name}: " if name and len(card.of_kind(RowKind.system)) > 1 else ""


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


def _named(card: Card, row: CardRow, key: str) -> str:
    column = card.column(key)
    unit = {"%": ""}.get(column.unit, f" {column.unit}")
    return f"{column.title} {interval_cell(row, key, 1)}{unit}"


def signatures(card: Card) -> Iterator[str]:
    """How figures and intervals came about, and which metrics had nothing to measure."""
    for name, text in card.signatures.items():
        keys = card.groups.get(name, ())
        found = [row.figures[key].figure for row in card.rows for key in keys if key in row.figures]
        nothing = bool(found) and all(map(math.isnan, found))
        yield f"{name}: not measured, these data have nothing that it needs" if nothing else text
    yield card.resampling.signature


def chance_tables(card: Card, keys: Sequence[str]) -> Iterator[list[list[str]]]:
    """Figures with intervals, and differences with theirs: rows of cells, heads first."""
    titles = [card.column(key).title for key in keys]
    yield [
        [f"{card.resampling.level:.0%} intervals", *titles],
        *([row.name, *(interval_cell(row, key, 1) for key in keys)] for row in card.rows),
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
            yield f"{one.difference:+.1f} ({one.low:+.1f} to {one.high:+.1f}){sure}"
