"""Masked cross-entropy (report 1, Listing 7), with optional label smoothing."""

from typing import Literal

from pydantic import Field

from dialogist.batch import Batch
from dialogist.config import Config
from dialogist.models.base import Generator
from dialogist.objectives.base import Loss


class CrossEntropyConfig(Config):
    """``label_smoothing`` e mixes the target with the uniform distribution (Szegedy et al. 2016):
    loss = (1 - e) * -log p(target) + e * mean over X of -log p."""

    kind: Literal["cross-entropy"] = "cross-entropy"
    label_smoothing: float = Field(0.0, ge=0, lt=1)

    def build(self) -> "CrossEntropy":
        """The objective."""
        return CrossEntropy(self.label_smoothing)


class CrossEntropy:
    """-log p of the next token over real positions only; padding never counts."""

    def __init__(self, label_smoothing: float = 0.0) -> None:
        self.label_smoothing = label_smoothing

    def __call__(self, model: Generator, batch: Batch) -> Loss:
        """The smoothed loss; ``terms['nll']`` is the plain one."""
        outputs = model.forward(batch)
        found = outputs.log_probs.of(outputs.targets, with_mean=self.label_smoothing > 0)
        value = nll = -found.target.sum()
        if found.mean is not None:
            uniform = -found.mean.sum()
            value = (1 - self.label_smoothing) * nll + self.label_smoothing * uniform
        return Loss(value, outputs.targets.shape[0], {"nll": float(nll.detach())})
