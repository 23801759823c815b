"""`Objective`: what the trainer minimises; it knows nothing else about a task."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from dialogist.batch import Batch


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of one batch.

    Attributes:
        value: scalar, *summed* over the ``count`` things it covers (`Objective.per`), so that
            batches add up exactly however they are divided; the trainer divides by those of the
            whole step.
        terms: named parts, summed likewise, for the log.
    """

    value: Tensor
    count: int
    terms: Mapping[str, float] = field(default_factory=dict)


Per = Literal["token", "dialogue"]


class Objective(Protocol):
    """A callable from (model, batch) to `Loss`."""

    @property
    def per(self) -> Per:
        """What its losses are means over: target tokens, or dialogues."""
        ...

    def __call__(self, model: Any, batch: Batch) -> Loss:
        """Run the model, which is of the kind the objective is for, on the batch and measure it."""
        ...


def per_sequence(log_probs: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities at the real positions (M,) of (N, T) -> each row's mean, (N,)."""
    counts = mask.sum(dim=1)
    rows = torch.arange(len(counts), device=mask.device).repeat_interleave(counts)
    sums = torch.zeros(len(counts), device=log_probs.device).index_add(0, rows, log_probs)
    return sums / counts.clamp(min=1)
