"""How a model came about, as far as its run folder tells: epochs, updates, time, beginning."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogist.recipe.start import STARTED
from dialogist.training.checkpoints import checkpoint_folders
from dialogist.training.run_logs import RunLogs


@dataclass(frozen=True, slots=True)
class EpochLoss:
    """Cross-entropy in nats a token: of an epoch's training, with dropout, and of dev after it."""

    epoch: int
    train: float
    dev: float | None


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
    losses: tuple[EpochLoss, ...] | None = None

    @property
    def seconds(self) -> float | None:
        """Training and the validations in it."""
        if self.training_seconds is None:
            return None
        return self.training_seconds + (self.validation_seconds or 0.0)


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
        losses=_losses(run),
    )


def _losses(run: Path) -> tuple[EpochLoss, ...] | None:
    try:
        records = RunLogs(run).metrics.read()
    except (OSError, ValueError):
        return None
    found = [
        EpochLoss(record["epoch"], record["train_nll"], record.get("dev_loss"))  # type: ignore[arg-type]
        for record in records
        if record.get("kind") == "epoch" and "train_nll" in record
    ]
    return tuple(found) or None


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
