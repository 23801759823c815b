"""Checkpoints that are complete or absent, whatever moment the process dies at.

A checkpoint is a folder written under a temporary name, synced to disk, and renamed. Its manifest
holds the SHA-256 of every file; a damaged one is recognised and the one before it is used.
Weights and moments are safetensors, the rest is JSON; nothing is pickled.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from dialogist.errors import CheckpointError
from dialogist.files import TEMPORARY, sha256_of, temporary_for, write_folder_atomically
from dialogist.records import JSON


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


def prune(parent: Path, keep: set[str]) -> None:
    """Remove checkpoints whose names are not in ``keep``, and what a killed save left behind."""
    for path in parent.glob(f"{TEMPORARY}*"):
        shutil.rmtree(path, ignore_errors=True)
    for path in checkpoint_folders(parent):
        if path.name not in keep:
            # First out of sight under one rename, then file by file: never half a checkpoint.
            doomed = temporary_for(path)
            path.rename(doomed)
            shutil.rmtree(doomed)
