"""Fine-tuning: from one's own pairs and a base model to a better model, and what it gained."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from dialogist.formats.fields import dialogue_to_line
from dialogist.data.split import find_clusters, split_dialogues
from dialogist.errors import CheckpointError, DataError, UsageError
from dialogist.evaluation.metric_selection import MetricSelection
from dialogist.evaluation.report_card import Card, CardRow, RowKind, interval_cell, tables_markdown
from dialogist.evaluation.system_outputs import Output, nonblank
from dialogist.evaluation.upper_bounds import HUMAN
from dialogist.files import write_folder_atomically, write_text_atomically
from dialogist.model_folder.bundle import Bundle, load_bundle, save_bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.summarizer import Summarizer
from dialogist.recipe.corpus import Note
from dialogist.recipe.evaluation_run import (
    EvaluationReport,
    EvaluationRequest,
    SystemResult,
    TellOf,
    evaluate_outputs,
)
from dialogist.recipe.finetune_recipe import (
    Base,
    Schedule,
    count_pairs,
    finetune_recipe,
    with_profiles,
)
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.training_run import card_head, train_recipe
from dialogist.records import JSON, Dialogue, Summary
from dialogist.language.tokens import counted, folded, words_in
from dialogist.training.base import Progress, TrainingReporter
from dialogist.training.checkpoints import checkpoint_folders

# The pairs of a fine-tuning: counted, split into training and held-out rows, kept in the run.


DATA = "data"
"""The folder of the run that holds train.jsonl and dev.jsonl."""

FEWEST, FEW = 10, 100
_SHARE, _LEAST, _MOST = 0.15, 20, 200
_OWN_FILES = {DATA, "config.yaml", ".lock"}


@dataclass(frozen=True, slots=True)
class Rows:
    """The dialogues to learn from, and those held out."""

    train: list[Dialogue]
    held_out: list[Dialogue]


def divide(
    dialogues: Sequence[Dialogue], dev: Sequence[Dialogue] | None, seed: int, note: Note
) -> Rows:
    """Split off held-out rows, or take those of ``dev``; no part repeats a dialogue of the other.

    Raises:
        DataError: fewer than `FEWEST` dialogues have a summary, or none of ``dev`` has one.
    """
    told = _with_summary(dialogues, note)
    _require_enough(told, len(dialogues))
    if dev is None:
        share = min(0.25, max(_SHARE, _LEAST / len(told)), _MOST / len(told))
        parts = split_dialogues(told, {"train": 1 - share, "dev": share}, seed).parts
        return _whole(Rows(parts["train"], parts["dev"]))
    return _apart(told, _with_summary(dev, note), note)


def settle(rows: Rows, run: Path) -> None:
    """Write the rows into the run folder, or see that a run that has begun has the same ones.

    Raises:
        CheckpointError: the run has begun with other rows.
        UsageError: the folder holds something else.
    """
    if run.exists() and not run.is_dir():
        raise UsageError(f"{run}: is a file: give a folder with --output")
    if run.is_dir() and any(run.iterdir()) and not _OWN_FILES & {p.name for p in run.iterdir()}:
        raise UsageError(f"{run}: is not empty and holds no fine-tuning: give another --output")
    folder = run / DATA
    folder.mkdir(parents=True, exist_ok=True)
    begun = bool(checkpoint_folders(run / "checkpoints"))
    for name, part in (("train", rows.train), ("dev", rows.held_out)):
        path = folder / f"{name}.jsonl"
        text = "".join(dialogue_to_line(dialogue) + "\n" for dialogue in part)
        if begun and (not path.is_file() or path.read_text(encoding="utf-8") != text):
            raise CheckpointError(
                f"{run}: holds a fine-tuning on other data (or with another --seed or --dev): "
                "give another --output"
            )
        if not begun:
            write_text_atomically(path, text)


def _with_summary(dialogues: Sequence[Dialogue], note: Note) -> list[Dialogue]:
    found = [dialogue for dialogue in dialogues if nonblank(dialogue.references)]
    if len(found) < len(dialogues):
        note(f"{counted(len(dialogues) - len(found), 'dialogues')} without a summary left out")
    return found


def _require_enough(told: Sequence[Dialogue], read: int) -> None:
    if not told:
        raise DataError(
            f"no dialogue of {read} has a summary: name the key or column that holds it "
            "with --column summary=NAME (dialogist data check FILE shows what was read)"
        )
    if len(told) < FEWEST:
        raise DataError(
            f"only {counted(len(told), 'dialogues')} with a summary, and fine-tuning needs at "
            f"least {FEWEST} "
            f"({FEW} to 300 for a first model): write more with dialogist annotate, or take your "
            "agents' wrap-up notes"
        )


def _whole(rows: Rows) -> Rows:
    if not rows.held_out or not rows.train:
        raise DataError(
            "the dialogues repeat each other so much that no part of them can be held out: give "
            "other dialogues with summaries with --dev FILE"
        )
    return rows


def _apart(told: list[Dialogue], dev: list[Dialogue], note: Note) -> Rows:
    """All of ``dev``, and of the others those that repeat no dialogue of it."""
    if not dev:
        raise DataError("--dev: no dialogue there has a summary")
    together = find_clusters([*dev, *told])
    held = {n for cluster in together if min(cluster) < len(dev) for n in cluster}
    train = [one for n, one in enumerate(told, len(dev)) if n not in held]
    if len(train) < len(told):
        note(f"{counted(len(told) - len(train), 'dialogues')} left out: in --dev, too")
    if not train:
        raise DataError("every dialogue repeats one of --dev: nothing is left to learn from")
    return Rows(train, dev)


# What a fine-tuning gained, as a table; and the model's card, with its data, base and licence.


_KEYS = {
    "rouge1.f1": "ROUGE-1",
    "rouge2.f1": "ROUGE-2",
    "rougeL.f1": "ROUGE-L",
    "faithfulness.any": "unsupported %",
    "faithfulness.swap": "roles mixed up %",
}
_SHOWN_FLOORS = ("constant", "lead-3")

NOT_TRUTH = (
    "ROUGE counts words shared with the references, and the two shares count what rules can see: "
    "neither tells whether the summaries are true. Read some beside their dialogues (dialogist "
    "rate)."
)


def table_of(card: Card) -> str:
    """The systems, the simplest floors and people, one row each, as Markdown."""
    rows = [
        [row.name, *(interval_cell(row, key, 1) for key in _KEYS), f"{row.words:.1f}"]
        for row in card.rows
        if _is_shown(row)
    ]
    table = tables_markdown([[["", *_KEYS.values(), "words"], *rows]], [])
    count = f"{card.dialogues} held-out dialogues, {card.references:.1f} references each"
    return f"{table}\n{count}; 95% intervals over dialogues. {NOT_TRUTH}"


def _is_shown(row: CardRow) -> bool:
    if row.kind is RowKind.floor:
        return row.name.startswith(_SHOWN_FLOORS)
    return row.kind is RowKind.system or row.name == HUMAN


def card_of(base: Base, name: str, rows: Rows, table: str, bundle: Bundle) -> str:
    """The model card: Markdown with a YAML head."""
    return "\n".join([*card_head(name, base.licence), *_body(base, rows, table, bundle)])


def _body(base: Base, rows: Rows, table: str, bundle: Bundle) -> Iterator[str]:
    references = sum(len(one.references) for one in rows.train)
    yield f"{base.name}, fine-tuned with `dialogist finetune`."
    yield ""
    yield from (
        f"* Base: {base.name}. {licence_line(base)}",
        f"* Data: {counted(len(rows.train), 'dialogues')} of one's own with "
        f"{counted(references, 'summaries')}; "
        f"{len(rows.held_out)} more were held out.",
        "* The weights and the tokenizer's word list hold words of the training dialogues: whoever "
        "gets the model may find personal data there that was not masked.",
        f"* {_confidence(bundle)}",
    )
    yield from ("", "## Held-out dialogues", "", table, "")
    yield "They also decided when training stopped, which favours `after` a little."
    yield ""


def licence_line(base: Base) -> str:
    """What the licence of the base means for the fine-tuned weights."""
    if not base.licence:
        return "It names no licence: find out what you may do with weights made from it."
    if "-nc" in base.licence.lower():
        return (
            f"The fine-tuned weights inherit its licence, {base.licence}: not for commercial use."
        )
    return f"The fine-tuned weights inherit its licence, {base.licence}; your data may add terms."


def _confidence(bundle: Bundle) -> str:
    bar = SummaryOptions.of(bundle.decoding).low_confidence
    if bar is None:
        return "No bar of confidence: `low_confidence` is never told."
    return f"A summary with a mean log-probability below {bar} has the status `low_confidence`."


# rows -> recipe -> train_recipe -> RUN/model -> both models on the held-out rows -> table and card
#
# RUN/data/train.jsonl, dev.jsonl   the rows, as they were split
# RUN/held-out.md                   the table of before and after
# RUN/model/                        the model; the rest: `dialogist.recipe.training_run`


BEFORE, AFTER = "before", "after"
TABLE = "held-out.md"

_WINDOW = 16
_MEASURED = 5  # updates from which the time is estimated; the one before them warms up
_SURE = 0.05  # this share of held-out summaries is below the bar of low confidence
_ENOUGH = 20  # held-out summaries, or sentences: from fewer the base model's bar is kept
_TELLING = 0.2  # of J: below it the confidence of a sentence tells too little for a bar of its own


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
    return train_recipe(plan.recipe, RunPlace(plan.run / DATA, plan.run, device), timed)


def measure_plan(plan: FinetunePlan, model: Path, device: torch.device, tell_of: TellOf) -> str:
    """Compare the model with its base on the held-out rows; put bar and card into its folder.

    Returns the table of before and after as Markdown.
    """
    held_out, folder = plan.rows.held_out, plan.base.folder
    after = _said(AFTER, model, held_out, device, tell_of)
    said = [] if folder is None else [_said(BEFORE, folder, held_out, device, tell_of)]
    asked = EvaluationRequest(MetricSelection(("rouge", "faithfulness")), processes=1)
    evaluated = evaluate_outputs([*said, after], "the held-out rows", asked, [], tell_of)
    bars = {
        "low_confidence": low_confidence([one.summary for one in after.outputs]),
        "min_confidence": min_confidence(after.outputs),
    }
    return _finish(plan, model, evaluated, bars)


def low_confidence(summaries: Sequence[Summary]) -> float | None:
    """The score that one in twenty of the summaries stays below; None: they are too few."""
    scores = sorted(one.score for one in summaries if one.score is not None)
    if len(scores) < _ENOUGH:
        return None
    return min(0.0, round(scores[int(_SURE * len(scores))], 2))


def min_confidence(outputs: Sequence[Output]) -> float | None:
    """The confidence that best tells sentences that people kept from those they did not.

    A sentence is kept if half of its words stand in a summary that a person wrote or corrected.
    The bar is where the share of kept sentences at or above it, less that of the others, is
    largest (Youden's J). None: too few of either kind, or they hardly differ.
    """
    kept: list[float] = []
    other: list[float] = []
    for output in outputs:
        wanted = {word for text in output.references for word in words_in(folded(text))}
        for sentence in output.summary.sentences:
            words = words_in(folded(sentence.text))
            if words and sentence.confidence is not None:
                is_kept = 2 * sum(word in wanted for word in words) >= len(words)
                (kept if is_kept else other).append(sentence.confidence)
    if min(len(kept), len(other)) < _ENOUGH:
        return None

    def gain(bar: float) -> float:
        return sum(one >= bar for one in kept) / len(kept) - sum(one >= bar for one in other) / len(
            other
        )

    best = max(sorted({round(one, 2) for one in (*kept, *other)}), key=gain)
    return best if gain(best) >= _TELLING else None


class _Estimate:
    """Passes everything on, and tells once how long training will take, by its first updates."""

    def __init__(self, inner: TrainingReporter, epochs: int) -> None:
        self.note = inner.note
        self.epoch = inner.epoch
        self._inner, self._epochs = inner, epochs
        self._began: tuple[int, float] | None = None
        self._told = False

    def update(self, progress: Progress, updates: int, loss: float) -> None:
        """After every update."""
        self._inner.update(progress, updates, loss)
        if self._began is None:
            self._began = progress.step, time.perf_counter()
        done = progress.step - self._began[0]
        if self._told or done < _MEASURED:
            return
        self._told = True
        each = (time.perf_counter() - self._began[1]) / done
        left = self._epochs * updates - progress.step
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


def _finish(
    plan: FinetunePlan, model: Path, evaluated: EvaluationReport, bars: Mapping[str, float | None]
) -> str:
    """Put the bars and the card into the model folder, and the table beside it."""
    bundle = load_bundle(model, torch.device("cpu"), plan.recipe.name)
    found = {name: bar for name, bar in bars.items() if bar is not None}
    options = SummaryOptions.of(bundle.decoding).model_copy(update=found)
    bundle = replace(bundle, decoding=options)
    about: Mapping[str, JSON] = {**bundle.about, "base": plan.base.name}
    table = table_of(evaluated.card)
    card = card_of(plan.base, plan.recipe.name, plan.rows, table, bundle)
    done = replace(bundle, about=about)
    write_folder_atomically(model, lambda folder: save_bundle(folder, done, card, torch.float16))
    write_text_atomically(model.parent / TABLE, table + "\n")
    text = json.dumps(evaluated.card.to_json(), ensure_ascii=False, indent=1) + "\n"
    write_text_atomically(model.parent / "held-out.json", text)
    return table
