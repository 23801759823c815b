"""`Progress`: everything, beside weights and optimizer, that a run needs to go on exactly."""

from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from dialogist.records import JSON


@dataclass(slots=True)
class Progress:
    """Where a run stands.

    Attributes:
        step: optimizer updates done.
        epoch: epochs completed; ``batch`` batches of the next one are done.
        epoch_loss, epoch_tokens: sums over the running epoch, for its mean loss;
            ``window_...``: the same since the last log line.
        best: validated checkpoints, best first: (score, checkpoint name).
        stale: score validations since the last improvement.
        gap: how far the train sample's score led dev's at the last validation.
        stopped: early stopping has ended the run.
        lines: how long each log was, so that a resumed run writes none twice.
        data: fingerprint of the training pairs; another one cannot be resumed.
        threads: the thread count, on which bit-exactness depends.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    epoch_loss: float = 0.0
    epoch_tokens: int = 0
    window_loss: float = 0.0
    window_tokens: int = 0
    best: list[tuple[float, str]] = field(default_factory=list)
    stale: int = 0
    gap: float | None = None
    stopped: bool = False
    lines: dict[str, int] = field(default_factory=dict)
    data: str = ""
    threads: int = 0

    def to_json(self) -> dict[str, JSON]:
        """Plain values; floats survive exactly."""
        values: dict[str, Any] = asdict(self)
        values["best"] = [list(entry) for entry in self.best]
        return values

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Progress":
        """Back from `to_json`."""
        best = [(float(score), str(name)) for score, name in values["best"]]
        return cls(**{**values, "best": best})


def random_state() -> dict[str, Tensor]:
    """The state of torch's generators (dropout draws from them)."""
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def restore_random_state(state: dict[str, Tensor]) -> None:
    """Put back what `random_state` gave."""
    torch.set_rng_state(state["cpu"])
    if "cuda" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])
