"""The settings of a run folder: written at its first start, and compared at every further one.

A run may be made longer (`training.epochs`, `training.max_steps`); everything else stays.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from dialogist.config import differences, read_yaml, to_yaml
from dialogist.data.shards import TOKENIZER
from dialogist.errors import CheckpointError
from dialogist.files import write_text_atomically
from dialogist.recipe.corpus import Note
from dialogist.recipe.pretrained_run import PRETRAINED
from dialogist.recipe.recipe_config import Recipe
from dialogist.recipe.start import STARTED, VECTORS
from dialogist.training.checkpoints import checkpoint_folders

_WORDS = {"description", "licence", "card", "continues"}
"""What a recipe says about itself: it may change without changing the run."""

_LENGTH = ("epochs", "max_steps")
_PLANNED = ("linear", "cosine")
"""Schedules whose rates depend on the length of the whole run."""


def settle_config(recipe: Recipe, run: Path, note: Note) -> None:
    """Write the effective recipe, or see that the run's own is the same, or a shorter one.

    Before the first checkpoint nothing is lost by changing it: the run starts anew.

    Raises:
        CheckpointError: the run has other settings, or cannot be made longer.
    """
    path = run / "config.yaml"
    changed = changed_settings(recipe, run) if path.exists() else []
    if changed and not checkpoint_folders(run / "checkpoints"):
        for name in (TOKENIZER, VECTORS, PRETRAINED):
            shutil.rmtree(run / name, ignore_errors=True)
        (run / STARTED).unlink(missing_ok=True)
    elif changed:
        if not _is_longer(recipe, run):
            raise CheckpointError(
                f"{run}: holds a run with other settings ({'; '.join(changed[:3])}): give another "
                "folder with --output, or start over there with --resume never; only "
                "training.epochs and training.max_steps can be raised"
            )
        _extend(recipe, run, changed, note)
    write_text_atomically(path, to_yaml(recipe))


def changed_settings(recipe: Recipe, run: Path) -> list[str]:
    """Where ``recipe`` is another run than the one that the folder ``run`` holds, one line each."""
    return differences(_settings(_recipe_in(run)), _settings(recipe))


def _recipe_in(run: Path) -> Recipe:
    path = run / "config.yaml"
    return Recipe.parse(read_yaml(path), str(path))


def _settings(recipe: Recipe) -> dict[str, Any]:
    return recipe.model_dump(mode="json", exclude=_WORDS)


def _is_longer(recipe: Recipe, run: Path) -> bool:
    """Whether nothing changed but the length of the run, which may only grow."""
    there, now = _settings(_recipe_in(run)), _settings(recipe)
    old, new = ([one["training"].pop(name) for name in _LENGTH] for one in (there, now))
    if there != now or new[0] < old[0]:
        return False
    return new[1] is None or (old[1] is not None and new[1] >= old[1])


def _extend(recipe: Recipe, run: Path, changed: list[str], note: Note) -> None:
    """Say what happens to a run that is made longer.

    Raises:
        CheckpointError: early stopping ended it.
    """
    state = _newest_state(run)
    if state.get("stopped"):
        raise CheckpointError(
            f"{run}: early stopping ended this run after epoch {state.get('epoch')}, so more "
            "epochs would not be trained: begin another run from it with --from"
        )
    kind, step = recipe.training.schedule.kind, state.get("step")
    note(f"the run is made longer ({'; '.join(changed)}) and goes on from update {step}")
    if kind in _PLANNED:
        note(
            f"the {kind} schedule depends on the length of the run: from update {step} on the "
            "learning rate is that of the longer run, higher than where the shorter one ended, so "
            "the model will not be the same as that of one run of this length"
        )


def _newest_state(run: Path) -> dict[str, Any]:
    """Where the newest checkpoint stands; the trainer sees whether it is whole."""
    path = checkpoint_folders(run / "checkpoints")[-1] / "state.json"
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return state if isinstance(state, dict) else {}
