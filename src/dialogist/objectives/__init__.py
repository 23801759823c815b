"""What the trainer minimises, by kind; it knows nothing else about a task.

A new one is one file with its configuration and one line in `ObjectiveConfig.kinds`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import torch
from torch import Tensor

from dialogist.config import KindConfig
from dialogist.models.base import ModelConfig
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols, Tokenizer


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


class ObjectiveConfig(KindConfig):
    """The configuration of an objective of some ``kind``; `build` makes the objective."""

    kinds: ClassVar[dict[str, str]] = {
        "cross-entropy": "dialogist.objectives.cross_entropy:CrossEntropyConfig",
        "denoising": "dialogist.objectives.cross_entropy:DenoisingConfig",
        "self-critical": "dialogist_lab.papers.self_critical:SelfCriticalConfig",
        "leader-writer": "dialogist_lab.papers.leader_writer:LeaderWriterLossConfig",
    }
    default_kind: ClassVar[str] = "cross-entropy"

    def build(self, symbols: Symbols, tokenizer: Tokenizer | None = None) -> Objective:
        """The objective."""
        raise NotImplementedError

    def check(self, model: ModelConfig) -> Iterator[str]:
        """What keeps a model from being trained with it, one line each."""
        yield from ()

    def text_keys(self) -> Iterator[tuple[str, bool]]:
        """Its options that need text which token ids give back.

        Each as its key, and whether names are found in the text by their capitals.
        """
        yield from ()


def per_sequence(log_probs: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities at the real positions (M,) of (N, T) -> each row's mean, (N,)."""
    rows = torch.arange(len(mask), device=mask.device)
    return per_dialogue(log_probs, mask, rows, len(mask))


def per_dialogue(log_probs: Tensor, mask: Tensor, owner: Tensor, dialogues: int) -> Tensor:
    """The same -> each dialogue's mean (B,); ``owner``: (N,) whose each row is."""
    of = owner.repeat_interleave(mask.sum(dim=1))  # (M,) the dialogue of each position
    sums = torch.zeros(dialogues, device=log_probs.device).index_add(0, of, log_probs)
    return sums / torch.bincount(of, minlength=dialogues).clamp(min=1)
