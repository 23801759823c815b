"""Evaluate systems, with baselines and upper bounds beside them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dialogist.baselines.extractive import BaselineSystem, ConstantSummary, baseline
from dialogist.data.chance import FixedSample
from dialogist.errors import ConfigError, UsageError, nearest
from dialogist.evaluation.diagnostics import Caution
from dialogist.evaluation.metric_selection import (
    DEFAULT_SELECTION,
    WITHOUT_REFERENCES,
    MetricSelection,
    choose_metrics,
)
from dialogist.evaluation.report_card import Card, MeasuredSystem, RowKind, make_card
from dialogist.evaluation.scoring import Scores, score
from dialogist.evaluation.significance import DEFAULT_RESAMPLING, Resampling
from dialogist.evaluation.system_outputs import DialogueChoice, Output, nonblank
from dialogist.evaluation.upper_bounds import Oracle, human_scores, leave_one_out
from dialogist.metrics.base import Metric
from dialogist.pipeline.summarizer import SummarizerLike
from dialogist.recipe.recipe_config import read_recipe
from dialogist.records import JSON, Dialogue, Summary
from dialogist.language.tokens import words_in
from dialogist.training.base import Progress, TrainingConfig
from dialogist.training.checkpoints import watch_gap
from dialogist.training.run_logs import JsonLines

# Floors and ceilings: rows that tell what a system's figures are worth.
#
# A model that does not clearly beat a constant sentence, the first utterances, the longest ones and
# TextRank is worth nothing. No extract gets beyond the oracle (nearly: it is greedy), and people
# measured by each other show how much of a figure is left to win.


_FLOORS = ("lead-3", "longest-3", "textrank-3")

_CONSTANTS = {"constant-dialogsum": ("#person1#",), "constant-tweetsumm": ("customer", "agent")}
"""A sentence that fits any dialogue of a kind, and what half of such references have in them."""

_ENOUGH = 50  # references: of fewer, one that fits itself would count for too much
_AT_MOST = 1_000
_MOST_CENTRAL = "constant-reference"

REFERENCES_NAME = "references"
"""The row of what people wrote, where only dialogues are looked at."""

ScoreThem = Callable[[str, Sequence[Output]], Scores]


def floors_for(outputs: Sequence[Output]) -> list[BaselineSystem]:
    """The floors for these dialogues, a constant first.

    That is one made for such dialogues or, where there is none, the reference that is most like all
    others: the template that people themselves write by.
    """
    texts = [text for output in outputs for text in output.references]
    folded = [text.casefold() for text in texts]
    named = [
        baseline(name)
        for name, marks in _CONSTANTS.items()
        if 2 * sum(all(mark in text for mark in marks) for text in folded) >= len(folded)
    ]
    if not named and len(texts) >= _ENOUGH:
        named = [ConstantSummary(_MOST_CENTRAL, most_central(texts))]
    return [*named, *map(baseline, _FLOORS)]


def floor_names(outputs: Sequence[Output]) -> list[str]:
    """What the floors for these dialogues are called."""
    return [floor.name for floor in floors_for(outputs)]


def check_baseline(name: str, known: Sequence[str]) -> None:
    """See that differences can be told from the row of that name (empty: from the first).

    Raises:
        UsageError: there is none; names the nearest.
    """
    if name and name not in known:
        raise UsageError(f"--baseline {name}: is no row of this table{nearest(name, known)}")


def most_central(texts: Sequence[str]) -> str:
    """The text whose mean ROUGE-1 F1 beside the others is highest (of many: of the first ones)."""
    words = [set(words_in(text.casefold())) for text in texts[:_AT_MOST]]
    places = {word: i for i, word in enumerate(sorted(set().union(*words)))}
    held = np.zeros((len(words), len(places)), dtype=np.float32)  # (N, V)
    for row, own in zip(held, words, strict=True):
        row[[places[word] for word in own]] = 1
    sizes = held.sum(axis=1)
    both = np.maximum(sizes[:, None] + sizes[None, :], 1)
    return texts[int((2 * (held @ held.T) / both).mean(axis=1).argmax())]


def floors_and_ceilings(
    outputs: Sequence[Output],
    without: Collection[str],
    score: ScoreThem,
    metrics: Sequence[Metric],
    processes: int | None = None,
) -> Iterator[MeasuredSystem]:
    """The rows for the dialogues of a system's outputs, one after the other.

    Where dialogues are not known there are none but constants and people. ``without``: names of
    rows that are there already. ``score`` measures outputs as the system's were, ``metrics``
    references by each other.
    """
    known = all(output.dialogue is not None for output in outputs)
    for floor in floors_for(outputs):
        if floor.name not in without and (known or isinstance(floor, ConstantSummary)):
            yield _entry(RowKind.floor, floor, outputs, score)
    if known:
        yield _entry(RowKind.ceiling, Oracle(), outputs, score)
    people = human_scores(outputs, metrics, processes)
    if people is not None:
        said = tuple(one for output in outputs for one in leave_one_out(output))
        yield MeasuredSystem(RowKind.ceiling, said, people)


def reference_entry(
    outputs: Sequence[Output], metrics: Iterable[Metric], processes: int | None = 1
) -> MeasuredSystem | None:
    """The first references as if a system had said them, by the metrics that need none.

    So what rules say of a system can be held against what they say of people.
    """
    chosen = [one for one in metrics if one.name in WITHOUT_REFERENCES]
    said = tuple(replace(one, summary=Summary(one.references[0], one.id)) for one in outputs)
    if not chosen:
        return None
    return MeasuredSystem(RowKind.ceiling, said, score(REFERENCES_NAME, said, chosen, processes))


def _entry(
    kind: RowKind, system: SummarizerLike, outputs: Sequence[Output], score: ScoreThem
) -> MeasuredSystem:
    shown = [
        replace(output.dialogue or Dialogue((), output.id), references=output.references)
        for output in outputs
    ]
    said = tuple(
        replace(output, summary=summary, missing=False)
        for output, summary in zip(outputs, system.summarize(shown), strict=True)
    )
    return MeasuredSystem(kind, said, score(system.name, said))


# Outputs of systems in, a report card out: metrics chosen, everything scored, floors put beside.
#
# `dialogist evaluate` gives one system, the report several; where their outputs come from
# (`recipe.predictions`) makes no difference here.


TellOf = Callable[[str, int], Callable[[int], None]]
"""From what is done, and how many there are of it, to who hears how many are done."""


@dataclass(frozen=True, slots=True)
class SystemResult:
    """What a system said about the data, and about a sample of what it was trained on."""

    name: str
    outputs: tuple[Output, ...]
    train: tuple[Output, ...] = ()


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """How outputs are to be measured; ``floors``: whether floors and ceilings are wanted."""

    wanted: MetricSelection = DEFAULT_SELECTION
    floors: bool = True
    processes: int | None = None
    resampling: Resampling = DEFAULT_RESAMPLING
    against: str = ""


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The card, what it was made of, and what could not be measured."""

    card: Card
    entries: tuple[MeasuredSystem, ...]
    metrics: tuple[Metric, ...]
    notes: tuple[str, ...]


def evaluate_outputs(
    systems: Sequence[SystemResult],
    data: str,
    asked: EvaluationRequest,
    cautions: Sequence[Caution],
    tell: TellOf,
) -> EvaluationReport:
    """Measure what systems said about the same dialogues.

    Args:
        systems: one or more; the first one's dialogues are those of floors and ceilings.
        data: what the dialogues are called.
        asked: how.
        cautions: what is known beside what can be seen here.
        tell: makes those who hear of progress.

    Raises:
        DialogistError: a metric cannot be measured, or failed.
    """
    metrics, left = choose_metrics(asked.wanted, systems[0].outputs)

    def measure(name: str, outputs: Sequence[Output]) -> Scores:
        return score(name, outputs, metrics, asked.processes, tell(f"{name}: scored", len(outputs)))

    entries = [
        MeasuredSystem(RowKind.system, one.outputs, measure(one.name, one.outputs))
        for one in systems
    ]
    entries += [
        MeasuredSystem(RowKind.train, one.train, measure(one.name, one.train))
        for one in systems
        if one.train
    ]
    outputs = systems[0].outputs
    if asked.floors:
        if not all(output.dialogue for output in outputs):
            left.append("floors other than a constant need the dialogues: give them with --on")
        names = {one.name for one in systems}
        entries += floors_and_ceilings(outputs, names, measure, metrics, asked.processes)
    card = make_card(data, entries, metrics, cautions, asked.against, asked.resampling)
    return EvaluationReport(card, tuple(entries), tuple(metrics), tuple(left))


def run_cautions(run: Path, system: str) -> list[Caution]:
    """What the log of a run folder warns of; nothing where it is none, or of another version."""
    log, config = run / "metrics.jsonl", run / "config.yaml"
    if not (log.is_file() and config.is_file()):
        return []
    try:
        return gap_cautions(JsonLines(log).read(), read_recipe(str(config), []).training, system)
    except (ConfigError, OSError, ValueError):
        return []


@dataclass(frozen=True, slots=True)
class Part:
    """Dialogues to be evaluated: the first ``limit``, less those with an excluded id."""

    excluded: frozenset[str] = frozenset()
    limit: int | None = None


def choose_dialogues(
    file: str, dialogues: Iterator[Dialogue], part: Part, whole: bool
) -> tuple[DialogueChoice, int]:
    """The dialogues with a reference, and how many have none.

    ``whole``: also what comes after the last of them is read, for outputs that are in its order.
    """
    every: list[Dialogue] = []
    chosen: list[int] = []
    skipped = 0
    for dialogue in dialogues:
        if len(chosen) + skipped == part.limit and not whole:
            break
        every.append(dialogue)
        if dialogue.id in part.excluded or len(chosen) + skipped == part.limit:
            continue
        if nonblank(dialogue.references):
            chosen.append(len(every) - 1)
        else:
            skipped += 1
    return DialogueChoice(file, every, chosen), skipped


def sample_of(file: str, dialogues: Iterator[Dialogue], size: int) -> DialogueChoice:
    """At most ``size`` dialogues with a reference, the same ones each time."""
    sample = FixedSample(size)
    for dialogue in dialogues:
        if nonblank(dialogue.references):
            sample.offer(dialogue)
    found = sample.dialogues()
    return DialogueChoice(file, found, range(len(found)))


def gap_cautions(
    records: Iterable[Mapping[str, JSON]], config: TrainingConfig, system: str = ""
) -> list[Caution]:
    """Whether the train sample's score ran away from dev's: what was told while it trained.

    ``records`` are those of ``metrics.jsonl``, in order; ``config`` is the run's own.
    """
    progress = Progress()
    told: list[tuple[JSON, str]] = []
    for record in records:
        if record.get("kind") == "epoch":
            metrics = {k: v for k, v in record.items() if isinstance(v, int | float)}
            told += ((record.get("epoch"), text) for text in watch_gap(progress, config, metrics))
    if not told:
        return []
    text = f"{told[-1][1]} (first told in epoch {told[0][0]}, last in {told[-1][0]})"
    advice = "take an earlier checkpoint, more data, more dropout or a smaller network"
    return [Caution("overfitting", "warning", f"{text}; {advice}", system)]
