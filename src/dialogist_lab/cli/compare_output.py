"""A comparison as text, Markdown, CSV and JSON."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dialogist.cli.forms import card_csv, tables_text
from dialogist.text.tokens import counted

if TYPE_CHECKING:  # they are torch's: not for --help
    from dialogist.data.key_points import RulePack
    from dialogist.evaluation.key_point_scoring import Figures, Quality, ReferenceFigures
    from dialogist.evaluation.report_card import Card
    from dialogist.records import JSON
    from dialogist_lab.comparison import ComparisonRow


COMPARISON_VERSION = 1

_QUALITY = ("BLEU", "R1 rec", "R2 rec", "RL F1")
_NONE = "-"
_INTERVALS = (
    *("bleu", "rouge1.recall", "rouge2.recall", "rougeL.f1"),
    *("key_points.rougeL.f1", "key_facts.rougeL.f1"),
)
_IN_THE_TABLE = ("rouge", "bleu", "key-points", "key-points-by-rules")


@dataclass(frozen=True, slots=True)
class SystemFailure:
    """A system that has no row, and why."""

    name: str
    error: str
    exit_code: int


@dataclass(slots=True)
class Comparison:
    """Everything there is to show; ``data`` are the files that the dialogues came from."""

    data: tuple[str, ...]
    pack: "RulePack | None"
    unit: str
    signatures: dict[str, str]
    references: "ReferenceFigures"
    rows: list["ComparisonRow"] = field(default_factory=list)
    floors: list["ComparisonRow"] = field(default_factory=list)
    card: "Card | None" = None
    failed: list[SystemFailure] = field(default_factory=list)

    def add(self, outcome: "ComparisonRow | SystemFailure") -> None:
        """One more system."""
        if isinstance(outcome, SystemFailure):
            self.failed.append(outcome)
        else:
            self.rows.append(outcome)

    def to_json(self) -> dict[str, "JSON"]:
        """All of it as plain values."""
        pack = self.pack
        return {
            "schema_version": COMPARISON_VERSION,
            "data": list(self.data),
            "pack": None
            if pack is None
            else {
                "name": pack.name,
                "version": pack.version,
                "language": pack.language,
                "key_facts": list(pack.key_facts),
            },
            "unit": self.unit,
            "signatures": dict(self.signatures),
            "references": self.references.to_json(),
            "systems": [row.to_json() for row in self.rows],
            "floors": [row.to_json() for row in self.floors],
            "card": None if self.card is None else self.card.to_json(),
            "failed": [{"system": f.name, "error": f.error} for f in self.failed],
        }


@dataclass(frozen=True, slots=True)
class _Column:
    group: str
    head: str
    value: Callable[["ComparisonRow"], str]


def comparison_json(comparison: Comparison, keys: Sequence[str] = ()) -> str:
    """One object; see docs/reference/evaluation-files.md for its fields."""
    return json.dumps(comparison.to_json(), ensure_ascii=False, indent=2)


def comparison_csv(comparison: Comparison, keys: Sequence[str] = ()) -> str:
    """A line per system with all its figures; see `card_csv`."""
    return "" if comparison.card is None else card_csv(comparison.card)


def comparison_text(comparison: Comparison, keys: Sequence[str] = ()) -> str:
    """Aligned columns under two lines of heads, then how sure they are, then remarks.

    ``keys``: of the figures with intervals.
    """
    columns = list(_columns(comparison))
    rows = [[c.head for c in columns], *_cells(comparison, columns)]
    # A group's name stands over its first column and may reach over the others.
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    groups = _groups([c.group for c in columns], widths)
    tables = [rows, *_chance(comparison, keys)]
    return f"{groups}\n{tables_text(tables, _remarks(comparison, keys))}"


def comparison_markdown(comparison: Comparison, keys: Sequence[str] = ()) -> str:
    """The same as Markdown tables and a list."""
    from dialogist.evaluation.report_card import tables_markdown

    columns = list(_columns(comparison))
    heads = [f"{c.group}: {c.head}" if c.group else c.head for c in columns]
    tables = [[heads, *_cells(comparison, columns)], *_chance(comparison, keys)]
    return tables_markdown(tables, _remarks(comparison, keys))


def _cells(comparison: Comparison, columns: "Sequence[_Column]") -> Iterator[list[str]]:
    """Systems, baselines, upper bounds, references; a title stands above what nobody asked for."""
    from dialogist.evaluation.report_card import KIND_TITLES

    blank, before = [""] * (len(columns) - 1), None
    for row in (*comparison.rows, *comparison.floors):
        kind = row.entry.kind
        if kind is not before and kind in KIND_TITLES:
            yield [f"{KIND_TITLES[kind]}:", *blank]
        before = kind
        yield [column.value(row) for column in columns]
    yield _reference_row(comparison, columns)


def _chance(comparison: Comparison, keys: Sequence[str]) -> "Iterator[list[list[str]]]":
    """Tables of how sure figures and differences are."""
    from dialogist.evaluation.report_card import chance_tables

    if comparison.card is not None:
        yield from chance_tables(comparison.card, keys or _usual(comparison.card))


def _usual(card: "Card") -> list[str]:
    known = {column.key for column in card.columns}
    return [key for key in _INTERVALS if key in known]


def _groups(names: Sequence[str], widths: Sequence[int]) -> str:
    line = ""
    for i, name in enumerate(names):
        start = sum(widths[:i]) + 2 * i
        if name and name != names[i - 1]:
            line = f"{line.ljust(start)}{name}"
    return line


def _columns(comparison: Comparison) -> Iterator[_Column]:
    yield _Column("", "system", lambda row: row.name)
    yield _Column("", "parameters", lambda row: _millions(row.parameters))
    yield _Column("", "epochs", lambda row: _whole(row.run.epochs))
    yield _Column("", "time", lambda row: clock_time(row.run.seconds))
    yield from _quality("summaries", lambda figures: figures.summaries)
    if comparison.pack is not None:
        yield from _quality("key points", lambda figures: figures.key_points)
        if comparison.pack.key_facts:
            yield _Column("key facts", "RL F1", _key_facts)
    yield _Column("", comparison.unit, lambda row: f"{row.figures.length:.1f}")
    yield _Column("", "empty", lambda row: str(row.figures.empty))
    yield _Column("", "cut", lambda row: str(row.figures.cut))


def _quality(group: str, of: Callable[["Figures"], "Quality | None"]) -> Iterator[_Column]:
    def figure(name: str) -> Callable[["ComparisonRow"], str]:
        return lambda row: _score(getattr(of(row.figures), name, None))

    names = ("bleu", "rouge1_recall", "rouge2_recall", "rougeL_f1")
    for head, name in zip(_QUALITY, names, strict=True):
        yield _Column(group, head, figure(name))


def _key_facts(row: "ComparisonRow") -> str:
    facts = row.figures.key_facts
    return _NONE if facts is None else _score(facts.rougeL_f1)


def _reference_row(comparison: Comparison, columns: Sequence[_Column]) -> list[str]:
    length = f"{comparison.references.length:.1f}"
    known = {"system": "references", comparison.unit: length}
    return [known.get(column.head, "") for column in columns]


def _remarks(comparison: Comparison, keys: Sequence[str]) -> Iterator[str]:
    references, pack = comparison.references, comparison.pack
    yield (
        f"{counted(references.dialogues, 'dialogues')} of {', '.join(comparison.data)}, "
        f"{references.references:.2f} references each; R1 and R2 are recall, RL is F1; the mean "
        "over references"
    )
    if pack is not None:
        count = f"{references.key_points:.2f}"
        yield f"key points by {pack.name} {pack.version}; references have {count}"
        own = [r.name for r in comparison.rows if r.figures.key_points_from == "system"]
        if own:
            yield f"{', '.join(own)}: key points as the system says; of all others by the rules"
    if comparison.card is not None:
        yield from _of_the_card(comparison.card, keys or _usual(comparison.card))
    for row in comparison.rows:
        yield from _warnings(row)
    for failure in comparison.failed:
        yield f"{failure.name}: failed: {failure.error}"
    yield from comparison.signatures.values()
    if comparison.card is not None:
        yield comparison.card.resampling.signature


def _of_the_card(card: "Card", keys: Sequence[str]) -> Iterator[str]:
    from dialogist.evaluation.report_card import caution_lines, chance_remarks, other_figures

    yield from chance_remarks(card, keys)
    yield from other_figures(card, keys, _IN_THE_TABLE)
    yield from caution_lines(card)


def _warnings(row: "ComparisonRow") -> Iterator[str]:
    figures = row.figures
    if row.run.started_from is not None:
        yield (
            f"{row.name}: began with the weights of {row.run.started_from}; its epochs and time "
            "are those after that"
        )
    if (
        figures.key_points is not None
        and not figures.key_points.bleu
        and figures.key_points.rougeL_f1
    ):
        yield f"{row.name}: BLEU of key points is 0: no output has four (or what references have)"
    if figures.key_points_by_rules is not None:
        said = _sentence(figures.key_points_by_rules)
        yield f"{row.name}: by the rules, the key points of its text have {said}"
    if figures.partial:
        yield f"{row.name}: could not read {figures.partial} of the dialogues to the end"
    if figures.key_points_from == "rules" and 2 * figures.unpunctuated > figures.dialogues:
        yield (
            f"{row.name}: {counted(figures.unpunctuated, 'outputs')} without a full stop or the "
            "like: the rules take each for one sentence, so its key points and key facts say little"
        )


def comparison_line(row: "ComparisonRow") -> str:
    """One line about a system, while the others are still at work."""
    told = [f"{row.name}: {_sentence(row.figures.summaries)}"]
    if row.figures.key_points is not None:
        told.append(f"key points: {_sentence(row.figures.key_points)}")
    return "; ".join(told)


def _sentence(quality: "Quality") -> str:
    return f"BLEU {_score(quality.bleu)}, RL {_score(quality.rougeL_f1)}"


def clock_time(seconds: float | None) -> str:
    """``1:02:03``; ``-`` for None."""
    if seconds is None:
        return _NONE
    whole = round(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"


def _millions(count: int | None) -> str:
    return _NONE if count is None else f"{count / 1e6:.2f}M"


def _whole(count: int | None) -> str:
    return _NONE if count is None else str(count)


def _score(value: float | None) -> str:
    return _NONE if value is None else f"{value:.1f}"
