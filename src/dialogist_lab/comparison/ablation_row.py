"""What a row of an ablation reaches: figures and gains over the base, from the report card."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dialogist.evaluation.report_card import Card
from dialogist.evaluation.report_card import CardRow as CardRow
from dialogist.evaluation.significance import Difference
from dialogist.records import JSON
from dialogist_lab.comparison.ablation import BASE
from dialogist_lab.comparison.run_facts import RunFacts

FIGURES: Mapping[str, str] = {
    "R1": "rouge1.f1",
    "R2": "rouge2.f1",
    "RL": "rougeL.f1",
    "unsupported %": "faithfulness.any",
    "roles %": "faithfulness.swap",
    "repeating %": "copying.repeats4",
}
"""The columns of the table, and their keys in the card."""

REFERENCES = "references"
"""The row of what people wrote: how often they say what the rules do not find, or repeat."""

_OWN = frozenset(("R1", "R2", "RL"))  # of no meaning for what is compared with itself


@dataclass(frozen=True, slots=True)
class Figure:
    """``value``, and how far it is above the base's; ``chance``: p, corrected for all rows.

    None where there is none.
    """

    value: float | None
    gain: float | None = None
    chance: float | None = None


@dataclass(frozen=True, slots=True)
class AblationRow:
    """``length``: mean words of an output to one of a reference. ``seconds``: of training alone."""

    name: str
    settings: tuple[str, ...]
    figures: Mapping[str, Figure]
    length: float
    cut: int
    run: RunFacts

    @property
    def seconds(self) -> float | None:
        """Training without its validations."""
        return self.run.training_seconds

    def to_json(self) -> dict[str, JSON]:
        """Plain values."""
        return {
            "row": self.name,
            "settings": list(self.settings),
            "length": self.length,
            "cut": self.cut,
            "updates": self.run.updates,
            "epochs": self.run.epochs,
            "training_seconds": self.seconds,
            "started_from": self.run.started_from,
            "figures": {
                name: {"value": one.value, "gain": one.gain, "p": one.chance}
                for name, one in self.figures.items()
            },
        }


def rows_of(
    card: Card, settings: Mapping[str, tuple[str, ...]], runs: Mapping[str, RunFacts]
) -> list[AblationRow]:
    """The table's rows; ``settings`` and ``runs`` by row."""
    found = card.differences if card.against == BASE else ()
    gains = {one.one: by_key for by_key in found for one in by_key.values()}
    return [
        AblationRow(
            name=row.name,
            settings=settings.get(row.name, ()),
            figures=dict(_figures(row, gains.get(row.name, {}))),
            length=row.words / card.words,
            cut=row.cut,
            run=runs.get(row.name, RunFacts()),
        )
        for row in card.rows
    ]


def _figures(row: CardRow, gains: Mapping[str, Difference]) -> Iterable[tuple[str, Figure]]:
    for name, key in FIGURES.items():
        found, gain = row.figures.get(key), gains.get(key)
        itself = row.name == REFERENCES and name in _OWN
        value = None if found is None or itself else _told(found.figure)
        if gain is None or row.name in (BASE, REFERENCES):
            yield name, Figure(value)
        else:
            yield name, Figure(value, _told(gain.difference), _told(gain.p_corrected))


def _told(value: float) -> float | None:
    return None if math.isnan(value) else value
