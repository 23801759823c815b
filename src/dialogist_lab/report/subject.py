"""What a report is about: systems, their scores, runs, and what figures were made with."""

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from dialogist.errors import installed_version
from dialogist.evaluation.metric_selection import KeyPoints
from dialogist.evaluation.report_card import Card, CardRow, MeasuredSystem, RowKind
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import Interval
from dialogist.evaluation.system_outputs import Output, cases_of
from dialogist.evaluation.upper_bounds import HUMAN
from dialogist.files import json_object
from dialogist.metrics.base import Floats, Metric, mean_column
from dialogist.recipe.evaluation_run import reference_entry
from dialogist.records import JSON
from dialogist.language.tokens import words_in

SUPPORT = {
    "faithfulness": "Outputs with something that the dialogue does not support",
    "slots": "Slot values beside the dialogue's true state",
    "copying": "What is copied, new or repeated",
    "order": "What is told in another order than it was said",
}
"""The metrics that look at output and dialogue, and what their tables are called."""


@dataclass(frozen=True, slots=True)
class ShownSystem(MeasuredSystem):
    """An entry as the report shows it.

    ``number``: its place among the systems, for its colour (floors and ceilings have their own).
    ``intervals``: its figures by key. ``train``: the same system on a sample of its training data.
    """

    intervals: Mapping[str, Interval]
    number: int = 0
    train: MeasuredSystem | None = None

    @property
    def leads(self) -> bool:
        """Whether it is a system, and no floor or ceiling."""
        return self.kind is RowKind.system

    @property
    def speaks(self) -> bool:
        """Whether it said one thing about each dialogue: people measured by each other do not."""
        return len(self.outputs) == len(self.scores.ids)


@dataclass(frozen=True, slots=True)
class Run:
    """A training run: its name, and its folder with ``metrics.jsonl``.

    ``number`` is that of the system it made, or of no system, for its colour.
    """

    name: str
    folder: Path
    number: int = 0


@dataclass(frozen=True)
class Subject:
    """All that a report tells; without a card, of training alone.

    ``entries`` are those that the card was made of. ``key_points``: how many each dialogue's
    references have, in the mean; None without a rule pack. ``environment``: what the figures were
    made with. ``stated``: a date or the like that is to be stated, for a report knows no clock.
    """

    card: Card | None = None
    entries: tuple[MeasuredSystem, ...] = ()
    runs: tuple[Run, ...] = ()
    key_points: tuple[float, ...] | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    title: str = "Evaluation report"
    stated: str = ""

    @classmethod
    def of(
        cls, card: Card, entries: Sequence[MeasuredSystem], metrics: Sequence[Metric]
    ) -> "Subject":
        """Of systems that were measured."""
        metric = next((one for one in metrics if isinstance(one, KeyPoints)), None)
        wanted = None
        if metric is not None:
            cases = cases_of(entries[0].outputs)
            wanted = tuple(fmean(map(len, metric.labelled(case).wanted)) for case in cases)
        return cls(card, tuple(entries), key_points=wanted)

    def with_references(self, metrics: Sequence[Metric]) -> "Subject":
        """With the first references as a row; where people are measured by each other, as it is."""
        entry = reference_entry(self.outputs, metrics)
        if self.card is None or entry is None or any(one.name == HUMAN for one in self.entries):
            return self
        row = CardRow.of(entry, self.card.resampling)
        card = replace(self.card, rows=(*self.card.rows, row))
        return replace(self, card=card, entries=(*self.entries, entry))

    @cached_property
    def shown(self) -> tuple[ShownSystem, ...]:
        """Systems, floors and ceilings in the card's order, systems with their train samples."""
        if self.card is None:
            return ()
        rows = {(row.kind, row.name): row.figures for row in self.card.rows}
        train = {entry.name: entry for entry in self.entries if entry.kind is RowKind.train}
        systems = [entry.name for entry in self.entries if entry.kind is RowKind.system]
        return tuple(
            ShownSystem(
                kind=entry.kind,
                outputs=entry.outputs,
                scores=entry.scores,
                intervals=rows[entry.kind, entry.name],
                number=systems.index(entry.name) if entry.kind is RowKind.system else 0,
                train=train.get(entry.name) if entry.kind is RowKind.system else None,
            )
            for entry in self.entries
            if entry.kind is not RowKind.train
        )

    @cached_property
    def systems(self) -> tuple[ShownSystem, ...]:
        """Those that are neither floor nor ceiling."""
        return tuple(one for one in self.shown if one.leads)

    @cached_property
    def numbered_runs(self) -> tuple[Run, ...]:
        """The runs in the colours of their systems; others in colours that no system has."""
        numbers = {one.name: one.number for one in self.systems}
        for run in self.runs:
            numbers.setdefault(run.name, len(numbers))
        return tuple(replace(run, number=numbers[run.name]) for run in self.runs)

    @property
    def outputs(self) -> tuple[Output, ...]:
        """The first system's: dialogues and references beside them are those of all."""
        return self.systems[0].outputs if self.systems else ()

    @cached_property
    def utterances(self) -> list[int]:
        """Of each dialogue; none where a dialogue is not known."""
        found = [one.dialogue for one in self.outputs if one.dialogue is not None]
        if len(found) < len(self.outputs):
            return []
        return [len(dialogue.utterances) for dialogue in found]

    @cached_property
    def reference_words(self) -> list[float]:
        """The mean length of each dialogue's references."""
        return [fmean(map(length, one.references)) for one in self.outputs if one.references]


def length(text: str) -> int:
    """Words, and single Chinese characters; punctuation is not counted."""
    return len(words_in(text))


def shown_alone(scores: Scores, key: str, chosen: NDArray[np.bool_] | None = None) -> Scores:
    """One column of ``chosen`` (N,) outputs (without: of all), as the mean of what each has."""
    places = np.arange(len(scores.ids)) if chosen is None else np.flatnonzero(chosen)
    each = scores.each(key)[places]
    there = ~np.isnan(each)
    column = scores.column(key)
    return Scores(
        system=scores.system,
        ids=tuple(scores.ids[i] for i in places),
        columns=(mean_column(key, column.title, column.better, column.unit),),
        values=np.stack([np.where(there, each, 0.0), there], axis=1),
        signatures={},
    )


@dataclass(frozen=True, slots=True)
class Bins:
    """Outputs by size: ``places`` (N,) the bin of each, ``names`` and ``counts`` of the bins."""

    places: NDArray[np.intp]
    names: tuple[str, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[float], starts: Sequence[int], least: int = 0) -> "Bins":
        """Bins begin at ``starts``, the first takes what is smaller; empty ones are left out.

        Bins of fewer outputs than ``least`` are joined with the one below, the first with the next.
        """
        whole = np.floor(np.asarray(sizes, dtype=float) + 0.5)
        starts = _joined(whole, starts, least)
        found = np.searchsorted(starts, whole, side="right").clip(min=1) - 1
        used, places, counts = np.unique(found, return_inverse=True, return_counts=True)
        ends = [*(start - 1 for start in starts[1:]), None]
        names = tuple(_range(starts[i], ends[i]) for i in used)
        return cls(places, names, tuple(map(int, counts)))

    def means(self, each: Floats) -> list[JSON]:
        """(N,) figures -> the mean of each bin, None where it has none."""
        parts = (each[self.places == place] for place in range(len(self.names)))
        told = (part[~np.isnan(part)] for part in parts)
        return [float(part.mean()) if len(part) else None for part in told]


def _joined(sizes: Floats, starts: Sequence[int], least: int) -> list[int]:
    """The starts of bins that hold ``least`` outputs each, as far as there are that many."""
    kept: list[int] = []
    end = math.inf
    for start in reversed(starts[1:]):
        if np.count_nonzero((sizes >= start) & (sizes < end)) >= least:
            kept, end = [start, *kept], start
    if kept and np.count_nonzero(sizes < end) < least:
        kept = kept[1:]
    return [starts[0], *kept]


def _range(first: int, last: int | None) -> str:
    if last is None:
        return f"{first}+"
    return str(first) if first == last else f"{first}-{last}"


LOG = "metrics.jsonl"
"""The file by which a folder is known as that of a training run."""


def is_run(folder: Path | None) -> bool:
    """Whether it is a run folder."""
    return folder is not None and (folder / LOG).is_file()


_PACKAGES = (
    *("dialogist", "numpy", "nltk", "sacrebleu", "matplotlib", "jinja2"),
    *("torch", "tokenizers", "transformers"),
)
_OF_RUNS = (
    *("python", "machine", "cpu", "cores", "threads", "processes", "device", "precision"),
    *("parameters", "seed"),
)


def process_environment() -> dict[str, str]:
    """Of this process: what measured, and drew."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        **{name: found for name in _PACKAGES if (found := installed_version(name))},
    }


def environment_of(run: Run) -> dict[str, str]:
    """Of a training run, as far as its folder tells."""
    found = json_object(run.folder / "environment.json")
    packages = found.get("packages")
    told = {name: found[name] for name in _OF_RUNS if name in found}
    told |= packages if isinstance(packages, dict) else {}
    return {str(name): str(value) for name, value in told.items()}
