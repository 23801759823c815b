"""Vectors and another run's weights with several processes: the same run as with one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from tests.torchrun import complete
from torch import Tensor

from dialogist.config import to_yaml
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.training_run import train_recipe
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint

# Adam without a floor turns rounding errors of a zero gradient into whole steps.
CALM = (
    "training.optimizer={kind: adamw, eps: 1e-3, weight_decay: 0.5}",
    "training.schedule={kind: constant, peak: 0.05}",
    "model.dropout=0",
    "model.attention_output_dropout=0",
    "training.max_steps=6",
)
WORDS = {
    "preparation": "preparation.profile=dialogsum-keras",
    "tokenizer": "tokenizer={kind: word, size: null}",
    "vectors": "vectors={path: some.txt, frozen: true}",
}

Make = Callable[..., Recipe]


def alone(recipe: Recipe, run: Path, notes: Any) -> dict[str, Tensor]:
    train_recipe(recipe, RunPlace(run.parent / "data", run, torch.device("cpu")), notes)
    return end_of(run)


def together(recipe: Recipe, run: Path, real: bool = False) -> dict[str, Tensor]:
    path = run.with_suffix(".yaml")
    path.write_text(to_yaml(recipe))
    places = ("--data", run.parent / "data", "--output", run)
    complete("-m", "dialogist", "train", path, *places, real=real)
    return end_of(run)


def end_of(run: Path) -> dict[str, Tensor]:
    last = checkpoint_folders(run / "checkpoints")[-1]
    state = load_checkpoint(last)
    assert state.state["step"] == 6
    return dict(state.tensors["weights"])


def assert_close(one: dict[str, Tensor], other: dict[str, Tensor]) -> None:
    assert one.keys() == other.keys()
    for name, weight in one.items():
        torch.testing.assert_close(
            other[name], weight, atol=1e-4, rtol=0, msg=lambda text, name=name: f"{name}: {text}"
        )


def test_frozen_vectors(tmp_path: Path, data: Path, recipe: Make, notes: Any) -> None:
    """A process that let its rows decay would have other gradients after the first update."""
    rows = [f"{word} {' '.join(['0.5', '-0.25'] * 8)}\n" for word in ("meet", "we", "yes", "at")]
    (data / "some.txt").write_text("".join(rows))
    chosen = recipe(*CALM, *WORDS.values())
    one, both = alone(chosen, tmp_path / "one", notes), together(chosen, tmp_path / "both")
    kept = load_file(tmp_path / "both" / "vectors" / "vectors.safetensors")
    assert int(kept["found"].sum()) == 4
    for weights in (one, both):
        held = weights["source_embedding.weight"][kept["found"]]
        assert torch.equal(held, kept["vectors"][kept["found"]])
    assert_close(one, both)


def test_another_runs_weights(tmp_path: Path, data: Path, recipe: Make, notes: Any) -> None:
    alone(recipe(*CALM), tmp_path / "first", notes)
    chosen = recipe(*CALM, f"start={tmp_path / 'first'}")
    one = alone(chosen, tmp_path / "one", notes)
    both = together(chosen, tmp_path / "both", real=True)  # once by the command that people use
    assert_close(one, both)
    records = [(tmp_path / run / "start.json").read_bytes() for run in ("one", "both")]
    assert records[0] == records[1]
