"""A finished run that is made longer, and what of its settings cannot change."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist.errors import CheckpointError
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.training_run import train_recipe
from dialogist.training.base import Progress
from dialogist.training.checkpoints import Checkpoint, checkpoint_folders, load_checkpoint

CONSTANT = "training.schedule={kind: constant, peak: 1e-3}"
LINEAR = "training.schedule={kind: linear, peak: 1e-3}"

Make = Callable[..., Recipe]


def train(recipe: Recipe, run: Path, notes: Any) -> Path:
    return train_recipe(recipe, RunPlace(run.parent / "data", run, torch.device("cpu")), notes)


def newest(run: Path) -> Checkpoint:
    return load_checkpoint(checkpoint_folders(run / "checkpoints")[-1])


def assert_same_end(one: Path, other: Path) -> None:
    first, second = newest(one), newest(other)
    for group, tensors in first.tensors.items():
        for name, tensor in tensors.items():
            assert torch.equal(tensor, second.tensors[group][name]), name
    assert first.state["step"] == second.state["step"]


def test_more_epochs_end_as_if_planned_so(
    tmp_path: Path, data: Path, recipe: Make, notes: Any
) -> None:
    train(recipe(CONSTANT), tmp_path / "short", notes)
    train(recipe(CONSTANT, "training.epochs=4"), tmp_path / "short", notes)
    train(recipe(CONSTANT, "training.epochs=4"), tmp_path / "long", notes)
    assert_same_end(tmp_path / "short", tmp_path / "long")
    for name in ("metrics.jsonl", "config.yaml", "model/model.safetensors"):
        assert (tmp_path / "short" / name).read_bytes() == (tmp_path / "long" / name).read_bytes()
    longer = [note for note in notes.notes if "is made longer" in note]
    assert len(longer) == 1
    assert "training.epochs: 2 there, 4 now" in longer[0]
    assert not any("schedule" in note for note in notes.notes)


@pytest.mark.parametrize("final", ["last", "average"])
def test_more_updates_train_the_rest_of_the_epoch(
    tmp_path: Path, data: Path, recipe: Make, notes: Any, final: str
) -> None:
    """The first stop is within an epoch, the second, too: no pair is left out or seen twice."""
    settings = (CONSTANT, "training.epochs=3", f"training.final={final}")
    train(recipe(*settings, "training.max_steps=2"), tmp_path / "short", notes)
    assert newest(tmp_path / "short").state["cut_batch"] == 2
    train(recipe(*settings, "training.max_steps=7"), tmp_path / "short", notes)
    train(recipe(*settings, "training.max_steps=7"), tmp_path / "long", notes)
    assert_same_end(tmp_path / "short", tmp_path / "long")
    train(recipe(*settings), tmp_path / "short", notes)
    train(recipe(*settings), tmp_path / "long", notes)
    assert_same_end(tmp_path / "short", tmp_path / "long")
    model = "model/model.safetensors"
    assert (tmp_path / "short" / model).read_bytes() == (tmp_path / "long" / model).read_bytes()


def test_a_schedule_that_depends_on_the_length_is_told(
    tmp_path: Path, data: Path, recipe: Make, notes: Any
) -> None:
    train(recipe(LINEAR), tmp_path / "run", notes)
    train(recipe(LINEAR, "training.epochs=3"), tmp_path / "run", notes)
    assert sum("the linear schedule depends on the length" in note for note in notes.notes) == 1
    assert newest(tmp_path / "run").state["epoch"] == 3


def test_nothing_else_changes(tmp_path: Path, data: Path, recipe: Make, notes: Any) -> None:
    train(recipe(CONSTANT), tmp_path / "run", notes)
    before = (tmp_path / "run" / "config.yaml").read_bytes()
    for setting in (
        "training.epochs=1",
        "training.max_steps=3",
        "training.seed=2",
        "model.dropout=0.3",
    ):
        key, _ = setting.split("=")
        with pytest.raises(CheckpointError, match=rf"a run with other settings \({key}: "):
            train(recipe(CONSTANT, setting), tmp_path / "run", notes)
    assert (tmp_path / "run" / "config.yaml").read_bytes() == before


def test_a_run_that_stopped_early_is_not_made_longer(
    tmp_path: Path, data: Path, recipe: Make, notes: Any
) -> None:
    """With a rate of nearly 0 the loss never falls."""
    still = "training.schedule={kind: constant, peak: 1e-30}"
    settings = (still, "training.select_by=dev_loss", "training.patience=1", "training.epochs=5")
    train(recipe(*settings), tmp_path / "run", notes)
    with pytest.raises(CheckpointError, match="early stopping ended this run after epoch 2"):
        train(recipe(*settings, "training.epochs=9"), tmp_path / "run", notes)


def test_an_epoch_is_reopened_where_it_was_cut() -> None:
    progress = Progress(step=5, epoch=1, batch=2, epoch_sums={"loss": 3.0})
    progress.end_epoch(whole=False)
    assert (progress.epoch, progress.batch, progress.epoch_sums) == (2, 0, {})
    again = Progress.from_json(progress.to_json())
    again.reopen_epoch()
    assert (again.epoch, again.batch, again.epoch_sums) == (1, 2, {"loss": 3.0})
    again.end_epoch(whole=True)
    again.reopen_epoch()
    assert (again.epoch, again.batch) == (2, 0)
