"""Several systems on the same dialogues: trained where needed, scored, put beside each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from dialogist.data.key_points import RulePack
from dialogist.decoding import DecodingOptions
from dialogist.errors import CheckpointError
from dialogist.evaluation.metric_selection import (
    KEY_POINT_METRIC,
    KeyPoints,
    MetricSelection,
    choose_metrics,
)
from dialogist.evaluation.report_card import Card, MeasuredSystem, RowKind, make_card
from dialogist.evaluation.scoring import Scores, score
from dialogist.evaluation.system_outputs import DialogueChoice, Output, says_own_labels
from dialogist.files import json_object, writing
from dialogist.metrics.base import Metric
from dialogist.recipe.corpus import Note
from dialogist.recipe.evaluation_run import (
    check_baseline,
    floor_names,
)
from dialogist.recipe.predictions import (
    AS_USUAL,
    LoadedPredictions,
    PredictionForm,
    load_runner,
    read_predictions,
)
from dialogist.recipe.recipe_config import DataSet
from dialogist.recipe.run_settings import changed_settings
from dialogist.recipe.start import STARTED
from dialogist.recipe.systems import (
    System,
    choose_pack,
    evaluation_sets,
    read_evaluation_data,
)
from dialogist.records import JSON
from dialogist.training.checkpoints import checkpoint_folders
from dialogist.training.run_logs import RunLogs


@dataclass(frozen=True, slots=True)
class RunFacts:
    """How a model came about, as far as its run folder tells; None where it does not.

    ``training_seconds`` and ``validation_seconds`` are of the wall clock: all starts of the run
    together, reading and encoding of the data not counted, nor work that a kill undid.
    ``best_epoch`` is the one whose weights are kept where the recipe keeps the best.
    ``started_from``: the model that it took its weights from; that one's cost is not counted.
    ``losses`` are cross-entropy in nats a token: of an epoch's training, with dropout, and of dev.
    """

    epochs: int | None = None
    best_epoch: int | None = None
    updates: int | None = None
    training_seconds: float | None = None
    validation_seconds: float | None = None
    started_from: str | None = None
    losses: tuple[dict[str, JSON], ...] | None = None

    @property
    def seconds(self) -> float | None:
        """Training and the validations in it."""
        if self.training_seconds is None:
            return None
        return self.training_seconds + (self.validation_seconds or 0.0)


def run_facts(run: Path) -> RunFacts:
    """What the newest checkpoint and the settings of a run folder say; it may be no such folder."""
    newest = checkpoint_folders(run / "checkpoints")[-1:]
    state = json_object(newest[0] / "state.json") if newest else {}
    best, seconds = state.get("best") or [], state.get("seconds") or {}
    return RunFacts(
        epochs=state.get("epoch"),
        best_epoch=int(best[0][1].rpartition("-")[2]) if best else None,
        updates=state.get("step"),
        training_seconds=seconds.get("training"),
        validation_seconds=seconds.get("validation"),
        started_from=json_object(run / STARTED).get("path"),
        losses=_losses(run),
    )


def _losses(run: Path) -> tuple[dict[str, JSON], ...] | None:
    try:
        records = RunLogs(run).metrics.read()
    except (OSError, ValueError):
        return None
    found = [
        {"epoch": one["epoch"], "train": one["train_nll"], "dev": one.get("dev_loss")}
        for one in records
        if one.get("kind") == "epoch" and "train_nll" in one
    ]
    return tuple(found) or None


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What a person asks for.

    ``on``: the data to compare on, None for the recipes' own; ``limit``: the first so many
    dialogues of them; ``pack``: a rule pack, ``none``, or None for whatever fits; ``data``: where
    relative paths of data begin; ``predictions``: the folder for the systems' summaries.
    ``metrics``: names of those to be measured beside Table 4's; ``encoder``: for BERTScore.
    ``baseline``: the system that the others' differences are from (empty: the first). ``floors``:
    whether floors and ceilings are wanted. ``written``: how to read files of outputs;
    ``processes``: how many share the scoring.
    """

    on: DataSet | None
    limit: int | None
    pack: str | None
    data: Path
    predictions: Path
    device: torch.device
    metrics: tuple[str, ...] = ()
    encoder: Path | None = None
    baseline: str = ""
    floors: bool = True
    written: PredictionForm = AS_USUAL
    processes: int | None = None


@dataclass(frozen=True, slots=True)
class ComparisonSetting:
    """What all systems have in common; ``bad`` counts the records that could not be read.

    ``files``: the data's; ``read``: by name, what files of outputs hold. ``metrics`` measure every
    system, ``by_rules`` those that say their own key points as well: what the rules find there.
    """

    wanted: ComparisonRequest
    files: tuple[str, ...]
    bad: int
    pack: RulePack | None
    metrics: tuple[Metric, ...]
    by_rules: tuple[Metric, ...]
    choice: DialogueChoice
    read: Mapping[str, LoadedPredictions]

    @property
    def every(self) -> tuple[Metric, ...]:
        """All metrics that a system may be measured by."""
        return (*self.metrics, *self.by_rules)

    def measure(self, name: str, outputs: Sequence[Output]) -> MeasuredSystem:
        """A system's outputs and their scores."""
        return MeasuredSystem(RowKind.system, tuple(outputs), self.score(name, outputs))

    def score(self, name: str, outputs: Sequence[Output]) -> Scores:
        """Measure outputs."""
        labels = None if self.pack is None else self.pack.labels
        own = says_own_labels((output.summary for output in outputs), labels)
        metrics = self.every if own else self.metrics
        return score(name, outputs, metrics, self.wanted.processes)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A system as it was measured, and what it cost."""

    entry: MeasuredSystem
    parameters: int | None = None
    run: RunFacts = field(default_factory=RunFacts)
    predictions: Path | None = None

    @property
    def name(self) -> str:
        """The system's."""
        return self.entry.name

    def to_json(self) -> dict[str, JSON]:
        """All fields as plain values, but the figures: these stand in the card."""
        return {
            "system": self.name,
            "parameters": self.parameters,
            **asdict(self.run),
            "predictions": None if self.predictions is None else str(self.predictions),
        }


def settle_comparison(
    systems: Sequence[System], wanted: ComparisonRequest, note: Note
) -> ComparisonSetting:
    """See that the systems can be compared, and read what they are compared on.

    Raises:
        ConfigError: a rule pack is at fault.
        DataError: the data cannot be read, or hold no reference; outputs of a file do not fit
            them; predictions cannot be written.
        MissingExtraError: sacrebleu is not installed.
        UsageError: the systems' data or rule packs differ, and none is given; there is no such
            metric or baseline.
    """
    sets = evaluation_sets(systems, wanted.on)
    pack = choose_pack(wanted.pack, systems, sets, wanted.data)
    choice, bad = read_evaluation_data(sets, wanted.data, wanted.limit, note)
    silent = choice.silent()
    floors = floor_names(silent) if wanted.floors else []
    check_baseline(wanted.baseline, [*(system.name for system in systems), *floors])
    own = ("rouge", "bleu", *([] if pack is None else [KEY_POINT_METRIC]))
    names = tuple(dict.fromkeys((*own, *wanted.metrics)))
    metrics, left = choose_metrics(
        MetricSelection(names, encoder=wanted.encoder, pack=pack), silent
    )
    for text in left:
        note(text)
    read = {
        system.name: read_predictions(system.outputs, choice, wanted.written, note)
        for system in systems
        if system.outputs is not None
    }
    with writing(wanted.predictions):
        wanted.predictions.mkdir(parents=True, exist_ok=True)
    return ComparisonSetting(
        wanted=wanted,
        files=tuple(one.path for one in sets),
        bad=bad + sum(one.bad for one in read.values()),
        pack=pack,
        metrics=tuple(metrics),
        by_rules=tuple(
            KeyPoints(one.pack, one.longest, by_rules=True)
            for one in metrics
            if isinstance(one, KeyPoints)
        ),
        choice=choice,
        read=read,
    )


def is_trained(system: System) -> bool:
    """Whether there is a model of it, for a recipe: made by a run of the very same settings.

    Raises:
        CheckpointError: the run folder holds a run of other settings.
    """
    if system.recipe is None or system.folder is None:
        return True
    config, model = (system.folder / name for name in ("config.yaml", "model/config.json"))
    if not config.is_file():
        return False
    changed = changed_settings(system.recipe, system.folder)
    if changed and checkpoint_folders(system.folder / "checkpoints"):
        raise CheckpointError(
            f"{system.folder}: holds a run with other settings ({'; '.join(changed[:3])}): give "
            "another folder with --runs, or remove that one"
        )
    # A start that was not finished has written the settings anew, and no model yet.
    fresh = model.is_file() and model.stat().st_mtime_ns >= config.stat().st_mtime_ns
    return fresh and not changed


def assess(
    system: System,
    setting: ComparisonSetting,
    tell: Callable[[int], None],
    options: DecodingOptions | None = None,
) -> ComparisonRow:
    """Let a trained system summarise all dialogues, and judge it; ``tell`` hears how many are done.

    ``options``: how it is searched, None as its folder says.

    Raises:
        ModelError: its model is missing or damaged.
        DataError: the predictions cannot be kept there.
    """
    if system.outputs is not None:
        outputs = setting.read[system.name].outputs
        return ComparisonRow(setting.measure(system.name, outputs))
    wanted = setting.wanted
    runner = load_runner(system, wanted.device)
    path = wanted.predictions / f"{system.file_name}.jsonl"
    said = tuple(runner.outputs(setting.choice, path, tell, options))
    return ComparisonRow(
        setting.measure(system.name, said),
        parameters=runner.parameters,
        run=RunFacts() if runner.model is None else run_facts(runner.model.parent),
        predictions=path,
    )


def comparison_card(entries: Sequence[MeasuredSystem], setting: ComparisonSetting) -> Card:
    """The report card of entries, of which one is a system at least."""
    known = {column.key for entry in entries for column in entry.scores.columns}
    metrics = [m for m in setting.every if any(column.key in known for column in m.columns)]
    data = ", ".join(setting.files)
    return make_card(data, entries, metrics, against=setting.wanted.baseline)
