"""`Progress`: everything, beside weights and optimizer, that a run needs to go on exactly."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from dialogist.errors import CheckpointError
from dialogist.records import JSON


@dataclass(slots=True)
class Progress:
    """Where a run stands.

    Attributes:
        step: optimizer updates done.
        epoch: epochs completed; ``batch`` batches of the next one are done.
        epoch_sums: ``tokens``, ``count`` (what the loss is a mean over), ``loss`` and every term of
            it, summed over the running epoch;
            ``window_sums``: the same since the last log line.
        cut_batch: batches done of the last epoch where ``max_steps`` cut it off; 0: it was whole.
            ``cut_sums``: its ``epoch_sums``.
        best: validated checkpoints, best first: (score, checkpoint name).
        stale: score validations since the last improvement.
        gap: how far the train sample's score led dev's at the last validation.
        stopped: early stopping has ended the run.
        lines: how long each log was, so that a resumed run writes none twice.
        data: fingerprint of the training pairs; another one cannot be resumed.
        threads, processes: their counts, on which bit-exactness depends.
        seconds: of the wall clock, for ``training`` and for ``validation``; work that was lost and
            done again counts once. Nothing depends on them.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    epoch_sums: dict[str, float] = field(default_factory=dict)
    window_sums: dict[str, float] = field(default_factory=dict)
    cut_batch: int = 0
    cut_sums: dict[str, float] = field(default_factory=dict)
    best: list[tuple[float, str]] = field(default_factory=list)
    stale: int = 0
    gap: float | None = None
    stopped: bool = False
    lines: dict[str, int] = field(default_factory=dict)
    data: str = ""
    threads: int = 0
    processes: int = 1
    seconds: dict[str, float] = field(default_factory=dict)

    def end_epoch(self, whole: bool) -> None:
        """Count an epoch; of one that is not ``whole`` remember where it was cut off."""
        self.cut_batch, self.cut_sums = (0, {}) if whole else (self.batch, self.epoch_sums)
        self.epoch += 1
        self.batch, self.epoch_sums = 0, {}

    def reopen_epoch(self) -> None:
        """Go back to where the last epoch was cut off, if it was, to train the rest of it."""
        if self.cut_batch:
            self.epoch -= 1
            self.batch, self.epoch_sums = self.cut_batch, self.cut_sums
            self.cut_batch, self.cut_sums = 0, {}

    def to_json(self) -> dict[str, JSON]:
        """Plain values; floats survive exactly."""
        values: dict[str, Any] = asdict(self)
        values["best"] = [list(entry) for entry in self.best]
        return values

    @classmethod
    def from_json(cls, values: Any) -> "Progress":
        """Back from `to_json`.

        Raises:
            CheckpointError: written by another release, with other fields.
        """
        try:
            best = [(float(score), str(name)) for score, name in values["best"]]
            return cls(**{**values, "best": best})
        except (KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"its state is of another release: {error}") from None


def mean_of(sums: Mapping[str, float]) -> dict[str, float]:
    """Sums over ``count`` things as means."""
    count = max(1.0, sums.get("count", 0.0))
    return {k: value / count for k, value in sums.items() if k not in ("tokens", "count")}


def add_to(sums: dict[str, float], more: Mapping[str, float]) -> None:
    """Add up, name by name."""
    for name, value in more.items():
        sums[name] = sums.get(name, 0.0) + value


def seed_batch(seed: int, step: int, batch: int, rank: int) -> None:
    """Seed torch's generators for one batch of an update, in one process.

    So all that is drawn (dropout) is a function of these four: it needs no place in a checkpoint,
    and a batch sees the same draws whichever updates this process made before.
    """
    text = f"dialogist batch {seed} {step} {batch} {rank}"
    torch.manual_seed(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8]))
