"""Fine-tuning: from one's own pairs and a base model to a better model, and what it gained.

rows -> recipe -> train_recipe -> RUN/model -> both models on the held-out rows -> table and card

RUN/data/train.jsonl, dev.jsonl   the rows, as they were split
RUN/held-out.md                   the table of before and after
RUN/model/                        the model; the rest is as of any run (`dialogist.recipe.train`)
"""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from dialogist.engine.bundle import Bundle, load_bundle, save_bundle
from dialogist.engine.options import SummaryOptions
from dialogist.engine.summarizer import Summarizer
from dialogist.evaluation.metric_selection import MetricSelection
from dialogist.evaluation.system_outputs import Output
from dialogist.files import write_folder_atomically, write_text_atomically
from dialogist.recipe.config import Place, Recipe
from dialogist.recipe.corpus import Note
from dialogist.recipe.evaluate import (
    Evaluated,
    EvaluationRequest,
    SystemResult,
    TellOf,
    evaluate_said,
)
from dialogist.recipe.finetune_card import card_of, table_of
from dialogist.recipe.finetune_data import DATA, FEW, Rows, divide, settle
from dialogist.recipe.finetune_recipe import (
    Base,
    Schedule,
    count_pairs,
    finetune_recipe,
    with_profiles,
)
from dialogist.recipe.train import train_recipe
from dialogist.records import JSON, Dialogue, Summary
from dialogist.text.listing import counted
from dialogist.training.base import Progress, TrainingReporter

BEFORE, AFTER = "before", "after"
TABLE = "held-out.md"

_WINDOW = 16
_MEASURED = 5  # updates from which the time is estimated; the one before them warms up
_SURE = 0.05  # this share of held-out summaries is below the bar of low confidence
_ENOUGH = 20  # held-out summaries: from fewer the base model's bar is kept


@dataclass(frozen=True, slots=True)
class Job:
    """What to do: the base, the dialogues, the held-out ones (None: split some off), the time."""

    base: Base
    dialogues: Sequence[Dialogue]
    dev: Sequence[Dialogue] | None
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class FinetunePlan:
    """What will be trained: the recipe, and the rows, which lie in the run folder."""

    base: Base
    rows: Rows
    recipe: Recipe
    run: Path


def plan_finetuning(job: Job, run: Path, note: Note) -> FinetunePlan:
    """Split the dialogues, put them into the folder ``run``, and make the recipe.

    Raises:
        CheckpointError, UsageError: the folder holds something else.
        DataError: too few dialogues have a summary.
    """
    rows = divide(job.dialogues, job.dev, job.schedule.seed, note)
    settle(rows, run)
    pairs = count_pairs(job.base.recipe, [len(one.references) for one in rows.train])
    note(
        f"{counted(len(rows.train), 'dialogues')} ({counted(pairs, 'pairs')}) to learn from, "
        f"{len(rows.held_out)} held out"
    )
    if len(rows.train) + len(rows.held_out) < FEW:
        note(
            f"fewer than {FEW} dialogues: the model will learn the manner of your summaries more "
            "than what to say, and the table will be uncertain; 100 to 300 are a good start"
        )
    base = job.base
    if any(one.profile for one in rows.train):
        base = with_profiles(base)
        note("the dialogues have user profiles: the model will read them")
    recipe = finetune_recipe(base, run.resolve().name, pairs, job.schedule)
    return FinetunePlan(base, rows, recipe, run)


def train_plan(plan: FinetunePlan, device: torch.device, reporter: TrainingReporter) -> Path:
    """Train, or go on training; the folder of the model, which still has the base's search.

    Raises:
        CheckpointError: the folder holds another run.
        Interrupted: on SIGINT or SIGTERM, with everything saved.
    """
    timed = _Estimate(reporter, plan.recipe.training.epochs)
    return train_recipe(plan.recipe, Place(plan.run / DATA, plan.run, device), timed)


def measure_plan(plan: FinetunePlan, model: Path, device: torch.device, tell_of: TellOf) -> str:
    """Compare the model with its base on the held-out rows; put bar and card into its folder.

    Returns the table of before and after as Markdown.
    """
    held_out, folder = plan.rows.held_out, plan.base.folder
    after = _said(AFTER, model, held_out, device, tell_of)
    said = [] if folder is None else [_said(BEFORE, folder, held_out, device, tell_of)]
    asked = EvaluationRequest(MetricSelection(("rouge", "faithfulness")), processes=1)
    evaluated = evaluate_said([*said, after], "the held-out rows", asked, [], tell_of)
    bar = low_confidence([one.summary for one in after.outputs])
    return _finish(plan, model, evaluated, bar)


def low_confidence(summaries: Sequence[Summary]) -> float | None:
    """The score that one in twenty of the summaries stays below; None: they are too few."""
    scores = sorted(one.score for one in summaries if one.score is not None)
    if len(scores) < _ENOUGH:
        return None
    return min(0.0, round(scores[int(_SURE * len(scores))], 2))


class _Estimate:
    """Passes everything on, and tells once how long training will take, by its first updates."""

    def __init__(self, inner: TrainingReporter, epochs: int) -> None:
        self.note = inner.note
        self.epoch = inner.epoch
        self._inner, self._epochs = inner, epochs
        self._began: tuple[int, float] | None = None
        self._told = False

    def update(self, progress: Progress, batches: int, loss: float) -> None:
        """After every update."""
        self._inner.update(progress, batches, loss)
        if self._began is None:
            self._began = progress.step, time.perf_counter()
        done = progress.step - self._began[0]
        if self._told or done < _MEASURED:
            return
        self._told = True
        each = (time.perf_counter() - self._began[1]) / done
        left = self._epochs * batches - progress.step
        self.note(
            f"about {_duration(left * each)} of training left: {counted(left, 'updates')} of "
            f"{each:.1f} s in "
            f"{counted(self._epochs, 'epochs')} at most; fewer when the held-out loss no "
            f"longer falls"
        )


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def _said(
    name: str, folder: Path, dialogues: Sequence[Dialogue], device: torch.device, tell_of: TellOf
) -> SystemResult:
    """What a model's network writes about the held-out rows."""
    summarizer = Summarizer(load_bundle(folder, device, name).as_measured())
    tell = tell_of(f"{name}: held-out summaries", len(dialogues))
    outputs: list[Output] = []
    for begin in range(0, len(dialogues), _WINDOW):
        group = dialogues[begin : begin + _WINDOW]
        outputs += map(Output.of, summarizer.summarize(group), group)
        tell(len(outputs))
    return SystemResult(name, tuple(outputs))


def _finish(plan: FinetunePlan, model: Path, evaluated: Evaluated, bar: float | None) -> str:
    """Put the bar and the card into the model folder, and the table beside it."""
    bundle = load_bundle(model, torch.device("cpu"), plan.recipe.name)
    if bar is not None:
        bundle = _with_bar(bundle, bar)
    about: Mapping[str, JSON] = {**bundle.about, "base": plan.base.name}
    table = table_of(evaluated.card)
    card = card_of(plan.base, plan.recipe.name, plan.rows, table, bundle)
    done = replace(bundle, about=about)
    write_folder_atomically(model, lambda folder: save_bundle(folder, done, card, torch.float16))
    write_text_atomically(model.parent / TABLE, table + "\n")
    text = json.dumps(evaluated.card.to_json(), ensure_ascii=False, indent=1) + "\n"
    write_text_atomically(model.parent / "held-out.json", text)
    return table


def _with_bar(bundle: Bundle, bar: float) -> Bundle:
    """The same model with another bar below which a summary is of low confidence."""
    options = SummaryOptions.of(bundle.decoding).model_copy(update={"low_confidence": bar})
    return replace(bundle, decoding=options)
