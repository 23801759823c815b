"""What the trainer minimises; it knows nothing else about a task.

A new objective is one file with its class, and one line in `OBJECTIVES`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from pydantic import Field
from torch import Tensor

from dialogist.config import Config
from dialogist_lab.decoding import Symbols
from dialogist_lab.models.generator import Batch, Generator, ModelConfig


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of one batch, *summed* over the ``count`` things it covers.

    So batches add up exactly however they are divided; the trainer divides by the whole count.
    """

    value: Tensor  # scalar
    count: int  # of what the objective's ``per`` says
    terms: Mapping[str, float] = field(default_factory=dict)  # for the log; ``nll`` on dev, too


class Objective(Config):
    """What is minimised, of some ``kind``: a key of `OBJECTIVES`."""

    kind: str
    per: ClassVar[Literal["token", "dialogue"]] = "token"
    """What its losses are means over."""

    def __call__(self, model: Any, batch: Batch, symbols: Symbols) -> Loss:
        """Run the model, which is of the kind the objective is for, on the batch and measure it."""
        raise NotImplementedError

    def check(self, model: ModelConfig) -> Iterator[str]:
        """What keeps a model from being trained with it, one line each."""
        if self.kind != model.kind and "leader-writer" in (self.kind, model.kind):
            yield "objective.kind leader-writer and model.kind leader-writer need each other"


OBJECTIVES: dict[str, str] = {
    "cross-entropy": "dialogist_lab.training.objective:CrossEntropy",
    "leader-writer": "dialogist_lab.papers.leader_writer:LeaderWriterLoss",
}
"""Kinds of objectives, and their classes."""


class CrossEntropy(Objective):
    """Cross-entropy of the reference, over real positions only (report 1, Listing 7).

    ``label_smoothing``: e mixes the target with the uniform distribution (Szegedy et al. 2016):
    loss = (1 - e) * -log p(target) + e * mean over V of -log p.
    """

    kind: Literal["cross-entropy"] = "cross-entropy"
    label_smoothing: float = Field(0.0, ge=0, lt=1)

    def __call__(self, model: Generator, batch: Batch, symbols: Symbols) -> Loss:
        """``terms``: ``nll``, without label smoothing."""
        outputs = model(batch)
        log_probs = outputs.log_probs.of(outputs.targets, with_mean=self.label_smoothing > 0)
        value = nll = -log_probs.target.sum()
        if log_probs.mean is not None:
            uniform = -log_probs.mean.sum()
            value = (1 - self.label_smoothing) * nll + self.label_smoothing * uniform
        return Loss(value, len(outputs.targets), {"nll": float(nll.detach())})
