"""What ``dialogist evaluate`` prints: a report card as text, Markdown or JSON."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from dialogist.cli.console import note
from dialogist.cli.csv_cells import card_csv
from dialogist.cli.forms import Card as Form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dialogist.cli.evaluating import Result
    from dialogist.evaluation.report_card import Card, CardRow
    from dialogist.records import JSON

SCHEMA_VERSION = 1

_AT_MOST = 4  # columns beside a name on a phone
_TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")


def shown(result: "Result", form: Form) -> str:
    """The card."""
    from dialogist.evaluation.report_card import card_markdown, card_text

    if form is Form.json:
        return json.dumps(_to_json(result), ensure_ascii=False, indent=2)
    card = result.evaluated.card
    if form is Form.csv:
        return card_csv(card).rstrip("\n")
    return (card_markdown if form is Form.md else card_text)(card, _headline(card, result))


def keep_scores(path: Path, result: "Result") -> None:
    """Write what was measured of every output of the system.

    Raises:
        DataError: it cannot be written.
    """
    from dialogist.evaluation.scoring import write_scores

    write_scores(path, result.evaluated.entries[0].scores)
    note(f"the numbers of every output are in {path}")


def _headline(card: "Card", result: "Result") -> "Sequence[str]":
    """The columns of the table: those asked for, ROUGE, or what was measured first."""
    usual = [result.wanted.key(f"{kind}.f1") for kind in _TYPES]
    known = [column.key for column in card.columns]
    return result.columns or [key for key in usual if key in known] or known[:_AT_MOST]


def _to_json(result: "Result") -> dict[str, "JSON"]:
    card = result.evaluated.card
    row = card.rows[0]
    return {
        "schema_version": SCHEMA_VERSION,
        "system": row.name,
        "dialogues": card.dialogues,
        "skipped": result.skipped,
        "references": card.references,
        "words": row.words,
        "reference_words": card.words,
        "average": _rouge(row, ""),
        "maximum": _rouge(row, "max."),
        "empty": row.empty,
        "cut": row.cut,
        "partial": row.partial,
        "predictions": [str(path) for path in result.files],
        "notes": list(result.evaluated.notes),
        "card": card.to_json(),
    }


def _rouge(row: "CardRow", best: str) -> dict[str, "JSON"]:
    keys = {kind: f"{kind}.{best}f1" for kind in _TYPES}
    return {kind: row.figures[key].figure for kind, key in keys.items() if key in row.figures}
