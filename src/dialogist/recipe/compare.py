"""One row of the table after another: train a system if need be, let it summarise, judge it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from dialogist.baselines.extractive import BASELINES
from dialogist.engine.bundle import load_bundle
from dialogist.engine.names import find_model
from dialogist.engine.summarizer import Summarizer, SummarizerLike
from dialogist.errors import CheckpointError, DataError
from dialogist.evaluation.figures import Figures
from dialogist.evaluation.judge import Judge
from dialogist.recipe.config import DataSet, Place
from dialogist.recipe.corpus import Note
from dialogist.recipe.predictions import key_of, summarize_kept
from dialogist.recipe.start import STARTED
from dialogist.recipe.systems import (
    System,
    choose_pack,
    evaluation_sets,
    read_evaluation_data,
)
from dialogist.recipe.train import changed_settings, train_recipe
from dialogist.records import JSON
from dialogist.training.interfaces import Reporter
from dialogist.training.saving import checkpoint_folders


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a person asks for.

    ``on``: the data to compare on, None for the recipes' own; ``limit``: the first so many
    dialogues of them; ``pack``: a rule pack, ``none``, or None for whatever fits; ``data``: where
    relative paths of data begin; ``predictions``: the folder for the systems' summaries.
    """

    on: DataSet | None
    limit: int | None
    pack: str | None
    data: Path
    predictions: Path
    device: torch.device


@dataclass(frozen=True, slots=True)
class Setting:
    """What all systems have in common; ``bad`` counts the records that could not be read."""

    wanted: Wanted
    files: tuple[str, ...]
    bad: int
    judge: Judge


@dataclass(frozen=True, slots=True)
class RunFacts:
    """How a model came about, as far as its run folder tells; None where it does not.

    ``training_seconds`` and ``validation_seconds`` are of the wall clock: all starts of the run
    together, reading and encoding of the data not counted, nor work that a kill undid.
    ``best_epoch`` is the one whose weights are kept where the recipe keeps the best.
    ``started_from``: the model that it took its weights from; that one's cost is not counted.
    """

    epochs: int | None = None
    best_epoch: int | None = None
    updates: int | None = None
    training_seconds: float | None = None
    validation_seconds: float | None = None
    started_from: str | None = None

    @property
    def seconds(self) -> float | None:
        """Training and the validations in it."""
        if self.training_seconds is None:
            return None
        return self.training_seconds + (self.validation_seconds or 0.0)


@dataclass(frozen=True, slots=True)
class Row:
    """A system and its figures."""

    name: str
    parameters: int | None
    run: RunFacts
    predictions: Path
    figures: Figures

    def to_json(self) -> dict[str, JSON]:
        """All fields as plain values."""
        return {
            "system": self.name,
            "parameters": self.parameters,
            **asdict(self.run),
            "predictions": str(self.predictions),
            **self.figures.to_json(),
        }


def settle(systems: Sequence[System], wanted: Wanted, note: Note) -> Setting:
    """See that the systems can be compared, and read what they are compared on.

    Raises:
        ConfigError: a rule pack is at fault.
        DataError: the data cannot be read, or hold no reference; predictions cannot be written.
        MissingExtraError: sacrebleu is not installed.
        UsageError: the systems' data or rule packs differ, and none is given.
    """
    sets = evaluation_sets(systems, wanted.on)
    pack = choose_pack(wanted.pack, systems, sets, wanted.data)
    dialogues, bad = read_evaluation_data(sets, wanted.data, wanted.limit, note)
    judge = Judge(dialogues, pack)
    try:
        wanted.predictions.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{wanted.predictions}: cannot be written: {error.strerror}") from None
    return Setting(wanted, tuple(one.path for one in sets), bad, judge)


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


def train(system: System, setting: Setting, reporter: Reporter) -> None:
    """Train a recipe in its run folder, or go on where that stands; raises as `train_recipe`."""
    assert system.recipe is not None
    assert system.folder is not None
    place = Place(setting.wanted.data, system.folder, setting.wanted.device)
    train_recipe(system.recipe, place, reporter)


def assess(system: System, setting: Setting, tell: Callable[[int], None]) -> Row:
    """Let a trained system summarise all dialogues, and judge it; ``tell`` hears how many are done.

    Raises:
        ModelError: its model is missing or damaged.
        DataError: the predictions cannot be kept there.
    """
    wanted = setting.wanted
    summarizer: SummarizerLike
    if system.folder is None:
        summarizer, model = BASELINES[system.name], None
    else:
        model = find_model(str(system.folder))
        summarizer = Summarizer(load_bundle(model, wanted.device, system.name))
    path = wanted.predictions / f"{system.file_name}.jsonl"
    key = key_of(system.name, model, str(wanted.device))
    summaries = summarize_kept(summarizer, key, setting.judge.dialogues, path, tell)
    return Row(
        name=system.name,
        parameters=_parameters(summarizer),
        run=RunFacts() if model is None else run_facts(model.parent),
        predictions=path,
        figures=setting.judge.figures(summaries),
    )


def _parameters(summarizer: SummarizerLike) -> int | None:
    if not isinstance(summarizer, Summarizer):
        return None
    return sum(p.numel() for p in summarizer.bundle.model.parameters())


def run_facts(run: Path) -> RunFacts:
    """What the newest checkpoint and the settings of a run folder say; it may be no such folder."""
    state = _read(checkpoint_folders(run / "checkpoints")[-1:])
    best = state.get("best") or []
    seconds = state.get("seconds") or {}
    return RunFacts(
        epochs=state.get("epoch"),
        best_epoch=int(best[0][1].rpartition("-")[2]) if best else None,
        updates=state.get("step"),
        training_seconds=seconds.get("training"),
        validation_seconds=seconds.get("validation"),
        started_from=_started_from(run),
    )


def _read(folders: Sequence[Path]) -> dict[str, Any]:
    try:
        state = json.loads((folders[0] / "state.json").read_text(encoding="utf-8"))
    except (IndexError, OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}


def _started_from(run: Path) -> str | None:
    try:
        about = json.loads((run / STARTED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return str(about["path"]) if "path" in about else None
