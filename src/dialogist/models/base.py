"""`Generator`: what loss and search see of a model; all kinds of models look alike to them."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Protocol, Self

from torch import Tensor, nn

from dialogist.batch import Batch
from dialogist.nn.state import State


@dataclass(frozen=True, slots=True)
class Outputs:
    """What teacher forcing gives.

    Attributes:
        log_probs: (M, X) natural-log probabilities at the real target positions, dialogue by
            dialogue; padding is never projected to the vocabulary.
        targets: (M,) the token each position shall predict.
        attention: every layer's weights under the names of the reports.
    """

    log_probs: Tensor
    targets: Tensor
    attention: dict[str, Tensor] = field(default_factory=dict)


class Generator(Protocol):
    """A sequence-to-sequence model."""

    @property
    def longest_target(self) -> int | None:
        """How many tokens `step` can be fed at most; None is no limit."""
        ...

    def forward(self, batch: Batch) -> Outputs:
        """Teacher forcing over a batch with targets."""
        ...

    def start(self, batch: Batch) -> State:
        """Encode; the state has one row per dialogue."""
        ...

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Feed one token per row (N,); return log-probabilities (N, X) of the next, and state."""
        ...

    def train(self, mode: bool = True) -> Self:
        """Switch dropout on or off (as ``torch.nn.Module``)."""
        ...

    def eval(self) -> Self:
        """Switch dropout off (as ``torch.nn.Module``)."""
        ...


class GeneratorModule(nn.Module):
    """A `Generator` with weights: what the trainer trains and a model folder holds."""

    @property
    @abstractmethod
    def longest_target(self) -> int | None:
        """As `Generator.longest_target`."""

    @abstractmethod
    def forward(self, batch: Batch) -> Outputs:
        """As `Generator.forward`."""

    @abstractmethod
    def start(self, batch: Batch) -> State:
        """As `Generator.start`."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """As `Generator.step`."""
