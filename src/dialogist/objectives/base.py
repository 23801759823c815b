"""`Objective`: what the trainer minimises; it knows nothing else about a task."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from torch import Tensor

from dialogist.batch import Batch
from dialogist.models.base import Generator


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of one batch.

    Attributes:
        value: scalar, *summed* over ``tokens``, so that batches add up exactly however they are
            divided; the trainer divides by the tokens of the whole step.
        tokens: how many target tokens it covers.
        terms: named parts, summed likewise, for the log.
    """

    value: Tensor
    tokens: int
    terms: Mapping[str, float] = field(default_factory=dict)


class Objective(Protocol):
    """A callable from (model, batch) to `Loss`."""

    def __call__(self, model: Generator, batch: Batch) -> Loss:
        """Run the model on the batch and measure it."""
        ...
