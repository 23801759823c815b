"""The table of ``dialogist ablate`` as text, Markdown or JSON."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dialogist.text.listing import counted
from dialogist_lab.cli.compare_table import Failure, clock

if TYPE_CHECKING:  # they are torch's: not for --help
    from dialogist.evaluation.card import Card
    from dialogist_lab.comparison.ablation_row import AblationRow, Figure

SCHEMA_VERSION = 1
_NONE = "-"
_CHANCE = 0.05


@dataclass(slots=True)
class Ablation:
    """All there is to show; ``waiting`` rows have not been trained yet."""

    base: str
    budget: str
    machine: str
    rows: "Sequence[AblationRow]" = ()
    waiting: Sequence[str] = ()
    card: "Card | None" = None
    failed: list[Failure] = field(default_factory=list)


def as_json(shown: Ablation) -> str:
    """One object; see docs/compare.md for its fields."""
    values = {
        "schema_version": SCHEMA_VERSION,
        "base": shown.base,
        "budget": shown.budget,
        "machine": shown.machine,
        "rows": [row.to_json() for row in shown.rows],
        "waiting": list(shown.waiting),
        "failed": [{"row": one.name, "error": one.error} for one in shown.failed],
        "card": None if shown.card is None else shown.card.to_json(),
    }
    return json.dumps(values, ensure_ascii=False, indent=2)


def as_text(shown: Ablation) -> str:
    """Aligned columns, then remarks."""
    cells = list(_cells(shown))
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        padded = (
            cell.ljust(width) if i in (0, len(widths) - 1) else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(padded).rstrip())
    return "\n".join([*lines, "", *_remarks(shown)])


def as_markdown(shown: Ablation) -> str:
    """A Markdown table and a list."""
    from dialogist.evaluation.card_text import bars

    heads, *rows = _cells(shown)
    line = bars(["---", *["---:"] * (len(heads) - 2), "---"])
    return "\n".join(
        [bars(heads), line, *map(bars, rows), "", *(f"* {text}" for text in _remarks(shown))]
    )


def _cells(shown: Ablation) -> Iterator[list[str]]:
    names: Mapping[str, Figure] = shown.rows[0].figures if shown.rows else {}
    yield ["row", *names, "length", "cut", "updates", "time", "changes"]
    for row in shown.rows:
        yield [
            row.name,
            *map(_figure, row.figures.values()),
            f"{row.length:.2f}",
            str(row.cut),
            _NONE if row.run.updates is None else str(row.run.updates),
            clock(row.seconds),
            ", ".join(row.settings),
        ]


def _figure(found: "Figure") -> str:
    """``43.2 (+1.1*)``: the figure, its gain, and a star where that is more than chance."""
    if found.value is None:
        return _NONE
    if found.gain is None:
        return f"{found.value:.1f}"
    star = "*" if found.chance is not None and found.chance < _CHANCE else ""
    return f"{found.value:.1f} ({found.gain:+.1f}{star})"


def _remarks(shown: Ablation) -> Iterator[str]:
    card = shown.card
    if card is not None:
        yield (
            f"{counted(card.dialogues, 'dialogues')} of {card.data}, {card.references:.2f} "
            f"references each; "
            "R1, R2, RL: F1 x 100; in brackets the gain over the base, * p < 0.05 over dialogues, "
            "corrected for all rows and knowing nothing of other seeds"
        )
        yield (
            "unsupported: summaries with a name, speaker, number or other entity that the "
            "dialogue does not bear out; roles: those in which rules see who did what mixed up; "
            "repeating: those that say four words twice; length: words to those of a reference"
        )
    yield f"{shown.base}, {shown.budget} for each row, on {shown.machine}; time: training alone"
    for row in shown.rows:
        if row.run.started_from is not None:
            yield f"{row.name}: began with {row.run.started_from}, whose time is not in its own"
    for failure in shown.failed:
        yield f"{failure.name}: failed: {failure.error}"
    if shown.waiting:
        yield f"still to come: {', '.join(shown.waiting)}"
