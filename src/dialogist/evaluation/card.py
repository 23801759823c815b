"""The report card: what systems, floors and ceilings reach, how sure that is, what to beware of.

`Entry` is what was measured; `make_card` adds intervals, differences and cautions. Table, JSON and
report are made of the `Card` alone. See docs/evaluate.md for the fields of the JSON.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from dialogist.evaluation.cautions.caution import Caution
from dialogist.evaluation.cautions.of_outputs import output_cautions, reference_cautions
from dialogist.evaluation.cautions.of_tables import chance_cautions
from dialogist.evaluation.outputs.output import Output
from dialogist.evaluation.scoring.scores import Scores
from dialogist.evaluation.statistics.resampling import DEFAULT, Interval, Resampling, intervals
from dialogist.evaluation.statistics.significance import Difference, compare_all
from dialogist.metrics.base import Column, Metric
from dialogist.records import JSON
from dialogist.text.words import words_of

SCHEMA_VERSION = 1


class Kind(StrEnum):
    """What a row is there for."""

    system = "system"
    train = "train"
    """A system on a sample of its training data."""
    floor = "floor"
    ceiling = "ceiling"


@dataclass(frozen=True, slots=True)
class Entry:
    """Outputs and what was measured of them."""

    kind: Kind
    outputs: tuple[Output, ...]
    scores: Scores

    @property
    def name(self) -> str:
        """The system's."""
        return self.scores.system


@dataclass(frozen=True, slots=True)
class Row:
    """A system's figures by key, each with its interval; ``words``: mean length of an output."""

    name: str
    kind: Kind
    outputs: int
    words: float
    empty: int
    cut: int
    partial: int
    figures: Mapping[str, Interval]

    @classmethod
    def of(cls, entry: Entry, resampling: Resampling) -> "Row":
        """Sum up."""
        outputs = entry.outputs
        return cls(
            name=entry.name,
            kind=entry.kind,
            outputs=len(entry.scores.ids),
            words=fmean(len(words_of(one.prediction)) for one in outputs),
            empty=sum(not words_of(one.prediction) for one in outputs),
            cut=sum(one.summary.is_cut for one in outputs),
            partial=sum(one.summary.status == "truncated" for one in outputs),
            figures=intervals(entry.scores, resampling),
        )

    def to_json(self) -> dict[str, JSON]:
        """All fields; a figure without a value is null."""
        return {
            "system": self.name,
            "kind": self.kind.value,
            "outputs": self.outputs,
            "words": self.words,
            "empty": self.empty,
            "cut": self.cut,
            "partial": self.partial,
            "figures": {key: interval_to_json(found) for key, found in self.figures.items()},
        }


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
    rows: tuple[Row, ...]
    against: str
    differences: tuple[Mapping[str, Difference], ...]
    signatures: Mapping[str, str]
    resampling: Resampling
    cautions: tuple[Caution, ...]

    def of_kind(self, *kinds: Kind) -> list[Row]:
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
            "schema_version": SCHEMA_VERSION,
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
            "cautions": [caution.to_json() for caution in self.cautions],
        }


def make_card(
    data: str,
    entries: Sequence[Entry],
    metrics: Iterable[Metric],
    cautions: Sequence[Caution] = (),
    against: str = "",
    resampling: Resampling = DEFAULT,
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
    systems = [entry for entry in entries if entry.kind is Kind.system]
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
        words=fmean(fmean(len(words_of(text)) for text in one.references) for one in first),
        columns=tuple({c.key: c for e in entries for c in e.scores.columns}.values()),
        groups={metric.name: tuple(c.key for c in metric.columns) for metric in measured},
        rows=tuple(Row.of(entry, resampling) for entry in entries),
        against=base.name if others else "",
        differences=tuple(differences),
        signatures={k: v for entry in entries for k, v in entry.scores.signatures.items()},
        resampling=resampling,
        cautions=(*cautions, *seen),
    )


def interval_to_json(found: Interval) -> dict[str, JSON]:
    """Its fields, null for NaN."""
    return {
        "figure": _number(found.figure),
        "low": _number(found.low),
        "high": _number(found.high),
        "error": _number(found.error),
    }


def difference_to_json(found: Difference) -> dict[str, JSON]:
    """Its fields, null for NaN."""
    names = ("difference", "low", "high", "wins", "p_bootstrap", "p", "p_corrected", "least")
    return {
        "key": found.key,
        "system": found.one,
        "from": found.other,
        "outputs": found.outputs,
        "exact": found.exact,
        **{name: _number(getattr(found, name)) for name in names},
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
