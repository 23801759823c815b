"""`Generator`: what loss and search see of a model; all kinds of models look alike to them."""

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Protocol, Self

from torch import Tensor, nn

from dialogist.batch import Batch
from dialogist.nn.attention import Mentions, WantedWeights
from dialogist.nn.kv_cache import State
from dialogist.nn.output_layer import TokenLogProbs
from dialogist.tokenizers import Symbols


class TokenDistribution(Protocol):
    """The next-token distributions at M positions, over X tokens; computed as far as asked for."""

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        """Log-probabilities of given tokens (M,), and their mean over X for label smoothing."""
        ...

    def all(self) -> Tensor:
        """(M, X) natural-log probabilities, fp32."""
        ...


@dataclass(frozen=True, slots=True)
class Outputs:
    """What teacher forcing gives.

    Attributes:
        log_probs: the distributions at the real target positions, dialogue by dialogue; padding
            is never projected to the vocabulary.
        targets: (M,) the token each position shall predict.
        attention: every layer's weights under the names of the reports, if they were asked for.
        coverage: (M,) how much each position attends again to where the ones before it did, 0 to 1;
            None of models that do not keep count.
    """

    log_probs: TokenDistribution
    targets: Tensor
    attention: dict[str, Tensor] = field(default_factory=dict)
    coverage: Tensor | None = None


class Stepper(Protocol):
    """What search needs: the next token's distribution, and what to carry on."""

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Feed one token per row (N,); return log-probabilities (N, X) of the next, and state."""
        ...


class Generator(Stepper, Protocol):
    """A sequence-to-sequence model."""

    @property
    def longest_target(self) -> int | None:
        """How many tokens `step` can be fed at most; None is no limit."""
        ...

    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """Teacher forcing over a batch with targets; with the attention weights that are needed."""
        ...

    def start(self, batch: Batch) -> State:
        """Encode; the state has one row per dialogue."""
        ...

    def force(self, batch: Batch, state: State, need_weights: WantedWeights = False) -> Outputs:
        """`forward` over dialogues that `start` has encoded already; the encoder's weights lack."""
        ...

    def train(self, mode: bool = True) -> Self:
        """Switch dropout on or off (as ``torch.nn.Module``)."""
        ...

    def eval(self) -> Self:
        """Switch dropout off (as ``torch.nn.Module``)."""
        ...


def set_symbols(model: nn.Module, symbols: Symbols) -> None:
    """Tell a model what ids mean, where it has to know; before anything is computed."""
    device = next(model.parameters()).device
    for module in model.modules():
        if isinstance(module, Mentions):
            module.learn(symbols.speakers, symbols.sentence_ends, device)


class GeneratorModule(nn.Module):
    """A `Generator` with weights: what the trainer trains and a model folder holds."""

    @property
    @abstractmethod
    def longest_target(self) -> int | None:
        """As `Generator.longest_target`."""

    @abstractmethod
    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """As `Generator.forward`."""

    @abstractmethod
    def start(self, batch: Batch) -> State:
        """As `Generator.start`."""

    @abstractmethod
    def force(self, batch: Batch, state: State, need_weights: WantedWeights = False) -> Outputs:
        """As `Generator.force`."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """As `Generator.step`."""
