"""What the trainer minimises; it knows nothing else about a task.

A new objective is one file with its configuration and objective, and one line in `OBJECTIVES`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

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


Per = Literal["token", "dialogue"]


class Objective(Protocol):
    """A callable from (model, batch) to `Loss`."""

    @property
    def per(self) -> Per:
        """What its losses are means over: target tokens, or dialogues."""

    def __call__(self, model: Any, batch: Batch) -> Loss:
        """Run the model, which is of the kind the objective is for, on the batch and measure it."""


class ObjectiveConfig(Config):
    """The configuration of an objective of some ``kind``, a key of `OBJECTIVES`."""

    kind: str

    def build(self, symbols: Symbols) -> Objective:
        raise NotImplementedError

    def check(self, model: ModelConfig) -> Iterator[str]:
        """What keeps a model from being trained with it, one line each."""
        if self.kind != model.kind and "leader-writer" in (self.kind, model.kind):
            yield "objective.kind leader-writer and model.kind leader-writer need each other"


OBJECTIVES: dict[str, str] = {
    "cross-entropy": "dialogist_lab.training.objective:CrossEntropyConfig",
    "leader-writer": "dialogist_lab.papers.leader_writer:LeaderWriterLossConfig",
}
"""Kinds of objectives, and the class of their configuration."""


class CrossEntropyConfig(ObjectiveConfig):
    """Cross-entropy of the reference.

    ``label_smoothing``: e mixes the target with the uniform distribution (Szegedy et al. 2016):
    loss = (1 - e) * -log p(target) + e * mean over V of -log p.
    """

    kind: Literal["cross-entropy"] = "cross-entropy"
    label_smoothing: float = Field(0.0, ge=0, lt=1)

    def build(self, symbols: Symbols) -> "CrossEntropy":
        return CrossEntropy(self.label_smoothing)


class CrossEntropy:
    """-log p of the next token over real positions only (report 1, Listing 7)."""

    per: Per = "token"

    def __init__(self, label_smoothing: float = 0.0) -> None:
        self.label_smoothing = label_smoothing

    def __call__(self, model: Generator, batch: Batch) -> Loss:
        """``terms``: ``nll``, without label smoothing."""
        outputs = model(batch)
        log_probs = outputs.log_probs.of(outputs.targets, with_mean=self.label_smoothing > 0)
        value = nll = -log_probs.target.sum()
        if log_probs.mean is not None:
            uniform = -log_probs.mean.sum()
            value = (1 - self.label_smoothing) * nll + self.label_smoothing * uniform
        return Loss(value, len(outputs.targets), {"nll": float(nll.detach())})
