"""`MovingAverage`: an exponential moving average of the weights while they are trained.

a <- d a + (1 - d) w after every update, with d = min(decay, (1 + t) / (10 + t)) at update t, so
that the first random weights are soon forgotten (TensorFlow's ``ExponentialMovingAverage``).
Validations see the average, checkpoints rank by it, and the finished model is it.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torch import Tensor

from dialogist.models.checkpoint import copy_weights
from dialogist.training.weights import MasterWeights

GOING_ON = "training"
"""The tensors of a checkpoint that training goes on from, where ``weights`` are an average."""


def decay_at(update: int, decay: float) -> float:
    """How much of the average is kept at update ``update``, which counts from 1."""
    return min(decay, (1 + update) / (10 + update))


class MovingAverage:
    """The average of ``weights``; with ``decay`` None there is none: the weights stand for it."""

    def __init__(self, weights: MasterWeights, decay: float | None) -> None:
        self.weights = weights
        self.decay = decay
        self.flat = weights.master if decay is None else weights.master.clone()

    def update(self, update: int) -> None:
        """Take in the weights after update ``update``."""
        if self.decay is not None:
            self.flat.lerp_(self.weights.master, 1 - decay_at(update, self.decay))

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model computes with the average; afterwards with its own weights again."""
        if self.decay is None:
            yield
            return
        own = self.weights.master.clone()
        self._set(self.flat)
        try:
            yield
        finally:
            self._set(own)

    def _set(self, values: Tensor) -> None:
        self.weights.master.copy_(values)
        self.weights.refresh()

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """What a checkpoint holds: the weights to use, and those to go on from if they differ."""
        own = self.weights.named()
        if self.decay is None:
            return {"weights": own}
        return {"weights": self.weights.named(self.flat), GOING_ON: own}

    def restore(self, tensors: Mapping[str, Mapping[str, Tensor]], source: str) -> None:
        """Put back what `tensors` gave.

        Raises:
            ModelError: it is of another model.
        """
        own = tensors.get(GOING_ON, tensors["weights"])
        copy_weights(self.weights.named(), own, source)
        if self.decay is not None:
            copy_weights(self.weights.named(self.flat), tensors["weights"], source)
