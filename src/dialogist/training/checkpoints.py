"""Checkpoints: complete or absent; which of them are best; when to stop early."""

import json
import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from dialogist.errors import CheckpointError
from dialogist.files import TEMPORARY, sha256_of, temporary_for, write_folder_atomically
from dialogist.records import JSON
from dialogist.language.tokens import counted
from dialogist.training.base import Progress, TrainingConfig

# Checkpoints that are complete or absent, whatever moment the process dies at.
#
# A checkpoint is a folder written under a temporary name, synced to disk, and renamed. Its manifest
# holds the SHA-256 of every file; a damaged one is recognised and the one before it is used.
# Weights and moments are safetensors, the rest is JSON; nothing is pickled.


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Named groups of tensors (one safetensors file each) and a JSON state."""

    tensors: Mapping[str, Mapping[str, Tensor]]
    state: Mapping[str, JSON]


def save_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint folder atomically; an existing one of that name is replaced."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_folder_atomically(folder, lambda new: _write(new, checkpoint))


def _write(folder: Path, checkpoint: Checkpoint) -> None:
    for name, group in checkpoint.tensors.items():
        contiguous = {key: value.detach().contiguous() for key, value in group.items()}
        save_file(contiguous, folder / f"{name}.safetensors")
    (folder / "state.json").write_text(json.dumps(checkpoint.state, indent=1), encoding="utf-8")
    digests = {path.name: sha256_of(path) for path in sorted(folder.iterdir())}
    (folder / "manifest.json").write_text(json.dumps(digests, indent=1), encoding="utf-8")


def load_checkpoint(folder: Path) -> Checkpoint:
    """Read and verify a checkpoint.

    Raises:
        CheckpointError: incomplete or damaged; names the file.
    """
    try:
        digests = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        for name, digest in digests.items():
            if sha256_of(folder / name) != digest:
                raise CheckpointError(f"{folder / name}: is damaged (its checksum differs)")
        if "state.json" not in digests:
            raise CheckpointError(f"{folder}: is no complete checkpoint: its manifest is empty")
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        names = [name for name in digests if name.endswith(".safetensors")]
        tensors = {Path(name).stem: load_file(folder / name) for name in names}
    except (OSError, ValueError, AttributeError, SafetensorError) as error:
        raise CheckpointError(f"{folder}: is no complete checkpoint: {error}") from None
    return Checkpoint(tensors, state)


def checkpoint_folders(parent: Path) -> list[Path]:
    """The complete checkpoints under ``parent``, oldest first (names end in the step number)."""
    found = [p for p in parent.glob("step-*") if (p / "manifest.json").is_file()]
    return sorted(found, key=lambda p: p.name)


def prune_checkpoints(parent: Path, keep: set[str]) -> None:
    """Remove checkpoints whose names are not in ``keep``, and what a killed save left behind."""
    for path in parent.glob(f"{TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)
    for path in checkpoint_folders(parent):
        if path.name not in keep:
            # First out of sight under one rename, then file by file: never half a checkpoint.
            doomed = temporary_for(path)
            path.rename(doomed)
            shutil.rmtree(doomed)


# Which checkpoints are best, when to stop early, and when a run overfits.


def rank_checkpoint(
    progress: Progress, config: TrainingConfig, metrics: Mapping[str, float], name: str
) -> Iterator[str]:
    """Enter checkpoint ``name`` into the best list and decide about stopping; yields notes.

    A validation without the metric (ROUGE is measured at intervals) ranks nothing.
    """
    if config.select_by not in metrics:
        return
    sign = -1.0 if config.select_by.endswith("loss") else 1.0
    score = sign * metrics[config.select_by]
    improved = not progress.best or score > progress.best[0][0]
    ranked = sorted([*progress.best, (score, name)], key=lambda entry: -entry[0])
    progress.best = ranked[: config.keep_best]
    progress.stale = 0 if improved else progress.stale + 1
    if config.patience is not None and progress.stale >= config.patience:
        progress.stopped = True
        yield (
            f"stopping early: {config.select_by} has not improved in "
            f"{counted(progress.stale, 'validations')}"
        )


def watch_gap(
    progress: Progress, config: TrainingConfig, metrics: Mapping[str, float]
) -> Iterator[str]:
    """Warn when the train sample's score runs away from dev's (report 3: .958 and .858)."""
    train_name = config.select_by.replace("dev_", "train_", 1)
    if train_name == config.select_by or train_name not in metrics:
        return
    gap = metrics[train_name] - metrics.get(config.select_by, math.nan)
    if gap > config.gap_warning and gap > (progress.gap or 0.0):
        yield (
            f"overfitting: {train_name} leads {config.select_by} by {gap:.1f} points, "
            "and the gap is growing"
        )
    progress.gap = gap


def final_checkpoints(progress: Progress, config: TrainingConfig, parent: Path) -> list[Path]:
    """The checkpoints whose mean is kept, by ``final`` (``best`` without a score: the last)."""
    epochs = epoch_checkpoints(parent)
    if config.final == "average":
        return epochs[-config.keep_last :]
    if config.final == "best" and progress.best:
        return [parent / progress.best[0][1]]
    return epochs[-1:]


def epoch_checkpoints(parent: Path) -> list[Path]:
    """The checkpoints at the ends of epochs, oldest first.

    Of an epoch that `max_steps` cut off and that was trained to its end later, the later one.
    """
    names = [path for path in checkpoint_folders(parent) if "-epoch-" in path.name]
    return list({path.name.rpartition("-")[2]: path for path in names}.values())
