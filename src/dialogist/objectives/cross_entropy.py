"""Masked cross-entropy (report 1, Listing 7), with optional label smoothing and coverage loss."""

from typing import Literal

from pydantic import Field

from dialogist.batch import Batch
from dialogist.config import Config
from dialogist.models.base import Generator
from dialogist.objectives.base import Loss, Per
from dialogist.tokenizers import Symbols


class CrossEntropyConfig(Config):
    """``label_smoothing`` e mixes the target with the uniform distribution (Szegedy et al. 2016):
    loss = (1 - e) * -log p(target) + e * mean over X of -log p.

    ``coverage_weight`` is lambda of See et al. 2017, equation 13: a model with coverage pays for
    attending again to where it has been. They take 1, in a second stage of training.
    """

    kind: Literal["cross-entropy"] = "cross-entropy"
    label_smoothing: float = Field(0.0, ge=0, lt=1)
    coverage_weight: float = Field(0.0, ge=0, le=1000)

    def build(self, symbols: Symbols) -> "CrossEntropy":
        """The objective."""
        return CrossEntropy(self.label_smoothing, self.coverage_weight)


class CrossEntropy:
    """-log p of the next token over real positions only; padding never counts."""

    per: Per = "token"

    def __init__(self, label_smoothing: float = 0.0, coverage_weight: float = 0.0) -> None:
        self.label_smoothing = label_smoothing
        self.coverage_weight = coverage_weight

    def __call__(self, model: Generator, batch: Batch) -> Loss:
        """``terms``: ``nll`` without smoothing and coverage; ``coverage`` where it is weighed."""
        outputs = model.forward(batch)
        found = outputs.log_probs.of(outputs.targets, with_mean=self.label_smoothing > 0)
        value = nll = -found.target.sum()
        if found.mean is not None:
            uniform = -found.mean.sum()
            value = (1 - self.label_smoothing) * nll + self.label_smoothing * uniform
        terms = {"nll": float(nll.detach())}
        if self.coverage_weight:
            assert outputs.coverage is not None, "the model was built without coverage"
            repeated = outputs.coverage.sum()
            value = value + self.coverage_weight * repeated
            terms["coverage"] = float(repeated.detach())
        return Loss(value, outputs.targets.shape[0], terms)
