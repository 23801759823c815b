"""The model contract: what configuration, loss, search and evidence see of any kind of model.

A new family is one file with an `XConfig(ModelConfig)` and an `X(GeneratorModule)`, and one line in
`ModelConfig.kinds`. Nobody outside that file asks for the concrete class.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

import torch
from torch import Tensor, nn

from dialogist.config import KindConfig
from dialogist.data.prepare import PreparationConfig
from dialogist.nn.attention import Mentions, WantedWeights
from dialogist.nn.kv_cache import State
from dialogist.nn.output_layer import TokenLogProbs
from dialogist.tensors import Batch, Plan
from dialogist.tokenizers import Symbols, Tokenizer


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
        plan: the same at every key point (end in), of models that plan.
    """

    log_probs: TokenDistribution
    targets: Tensor
    attention: dict[str, Tensor] = field(default_factory=dict)
    coverage: Tensor | None = None
    plan: "Outputs | None" = None


@dataclass(frozen=True, slots=True)
class ForcedOutputs:
    """What teacher forcing gives for R (sub-)summaries, with the attention that evidence reads.

    Attributes:
        outputs: at the real target positions.
        real: (R, T) which positions these are. owner: (R,) the dialogue of each row.
        cross_attention: as `SequenceModel.cross_attention` gives it.
    """

    outputs: Outputs
    real: Tensor
    owner: Tensor
    cross_attention: Tensor | None


class Stepper(Protocol):
    """What search needs: the next token's distribution, and what to carry on."""

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Feed one token per row (N,); return log-probabilities (N, X) of the next, and state."""
        ...


def set_symbols(model: nn.Module, symbols: Symbols) -> None:
    """Tell a model what ids mean, where it has to know; before anything is computed."""
    device = next(model.parameters()).device
    for module in model.modules():
        if isinstance(module, Mentions):
            module.learn(symbols.speakers, symbols.sentence_ends, device)


class RecipeParts(Protocol):
    """What of a recipe a model's configuration can be checked against."""

    @property
    def preparation(self) -> PreparationConfig:
        """How dialogues become examples."""
        ...

    @property
    def objective(self) -> Any:
        """The objective's configuration, with its ``kind``."""
        ...

    @property
    def longest_decoded(self) -> int:
        """Tokens of the longest text that search may be asked for, begin symbol in."""
        ...


class ModelConfig(KindConfig):
    """The configuration of a model of some ``kind``; `build` makes the model.

    A field of this type takes the configuration of any kind: see `KindConfig`. The first line of
    a recipe that is older than the kinds is a Transformer's.

    Families call what they share by the same names. ``kind``: the family. ``d_model``, ``width``:
    width of the layers. ``heads``: of attention. ``key_width``: of a head (None: width / heads).
    ``feed_forward``: inner width of a feed-forward block. ``encoder_layers``, ``decoder_layers``:
    how many. ``dropout``: on embeddings and behind each block. ``norm``: behind each block
    (``post``) or before it (``pre``). ``norm_eps``: added to the variance. ``activation``: between
    the two layers of a block. ``share_embeddings``: source and summary have one table.
    ``tie_output``: the output layer uses the embeddings of the summary. ``pointer``: words of the
    source can be copied.
    """

    kinds: ClassVar[dict[str, str]] = {
        "transformer": "dialogist.models.transformer:TransformerConfig",
        "recurrent": "dialogist_lab.papers.recurrent:RecurrentConfig",
        "hierarchical": "dialogist_lab.papers.hierarchical:HierarchicalConfig",
        "leader-writer": "dialogist_lab.papers.leader_writer:LeaderWriterConfig",
        "pretrained": "dialogist.models.pretrained.pretrained_config:PretrainedConfig",
    }
    default_kind: ClassVar[str] = "transformer"

    target_table: ClassVar[str] = "target_positions"
    """The option that bounds how long a target is."""
    default_objective: ClassVar[Mapping[str, object]] = {"label_smoothing": 0.1}
    """The objective that fine-tuning trains a model of this kind with."""
    pretrained_weights: ClassVar[tuple[str, ...]] = ()
    """How the names of weights begin that learn more slowly: they come from an encoder."""

    @property
    def plans(self) -> bool:
        """Whether it decides on key points first, and then writes a text for each."""
        return False

    @property
    def copies(self) -> bool:
        """Whether it can say words of the source that its vocabulary does not have."""
        return bool(getattr(self, "pointer", False))

    @property
    def keeps_coverage(self) -> bool:
        """Whether its `Outputs` have a ``coverage``."""
        return bool(getattr(self, "coverage", False))

    @property
    def knows_speakers(self) -> bool:
        """Whether its attention knows who speaks."""
        return False

    @property
    def is_unread(self) -> bool:
        """Whether weights and tokenizer are still to come from where `load` reads them."""
        return False

    @property
    def longest_source(self) -> int | None:
        """Tokens it can read at most; None is no limit."""
        return getattr(self, "source_positions", None)

    @property
    def longest_target(self) -> int | None:
        """Tokens it can be fed at most, begin symbol in; None is no limit."""
        return getattr(self, self.target_table, None)

    def build(self, vocabulary: int) -> "SequenceModel":
        """A new model with fresh weights (drawn from torch's generator)."""
        raise NotImplementedError

    def load(self, texts: Callable[[], Iterable[str]]) -> "tuple[SequenceModel, Tokenizer]":
        """A model and its tokenizer from elsewhere, if it `is_unread`; ``texts``: of training."""
        raise NotImplementedError

    def check(self, recipe: RecipeParts) -> Iterator[str]:
        """What keeps a recipe from training a model of this configuration, one line each."""
        limits, longest = recipe.preparation.limits, self.longest_source
        if longest is not None and (limits.source_tokens is None or limits.source_tokens > longest):
            yield (
                f"preparation.limits.source_tokens must be at most model.source_positions "
                f"({longest})"
            )
        yield from self._check_target(recipe, "summary_tokens", limits.summary_tokens)

    def _check_target(self, recipe: RecipeParts, limit: str, tokens: int | None) -> Iterator[str]:
        """``limit``: the preparation's limit of what is written at once, and its value."""
        longest = self.longest_target
        if longest is not None and (
            tokens is None or max(tokens, recipe.longest_decoded) > longest
        ):
            yield (
                f"preparation.limits.{limit} and every decoding.max_tokens + 1 must be at "
                f"most model.{self.target_table} ({longest})"
            )


_CROSS = ("_block2_decenc_att", "decoder_attention")
"""How the names of a decoder's attention over the source end."""


class SequenceModel(nn.Module):
    """A model with weights: what the trainer trains and a model folder holds.

    It is a `GeneratorModule`, or plans first and is a `PlanningModule`.
    """

    config: ModelConfig
    attends_to: ClassVar[Literal["tokens", "utterances"]] = "tokens"
    """What its attention over the source is spread on."""

    def attach(self, tokenizer: Tokenizer) -> None:
        """Tell the model what ids mean; before anything is computed."""
        set_symbols(self, tokenizer.symbols)

    @property
    def longest_source(self) -> int | None:
        """As `ModelConfig.longest_source`, where a model knows better."""
        return self.config.longest_source

    def fold(self) -> None:
        """Bring what only training needs (adapters) into the weights; before it is saved."""

    @property
    def plans(self) -> bool:
        """As `ModelConfig.plans`."""
        return self.config.plans

    @property
    def longest_target(self) -> int | None:
        """As `ModelConfig.longest_target`."""
        return self.config.longest_target

    @abstractmethod
    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """Teacher forcing over a batch with targets; with the attention weights that are needed."""

    @abstractmethod
    def forced_decode(self, batch: Batch, state: State | None = None) -> ForcedOutputs:
        """Teacher forcing over a batch with targets, with the last attention over the source.

        ``state``: what `start` gave for the batch, if it has been asked already.
        """

    def cross_attention(self, outputs: Outputs) -> Tensor | None:
        """The last layer's attention over the source, the mean of its heads, fp32.

        (N, T, S) over tokens or (N, T, U) over utterances, as ``attends_to`` says; None of a model
        that has none. ``outputs`` were made with weights.
        """
        found = [w for name, w in outputs.attention.items() if name.endswith(_CROSS)]
        if not found:
            return None
        last = found[-1].float()
        return last.mean(dim=1) if last.ndim == 4 else last  # (N, H, T, S) -> (N, T, S)


class GeneratorModule(SequenceModel):
    """A sequence-to-sequence model, as search sees it."""

    @abstractmethod
    def start(self, batch: Batch) -> State:
        """Encode; the state has one row per dialogue."""

    @abstractmethod
    def force(self, batch: Batch, state: State, need_weights: WantedWeights = False) -> Outputs:
        """Like `forward`, from an encoded state. Encoder attention is not returned."""

    @abstractmethod
    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """As `Stepper.step`."""

    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """As `SequenceModel.forward`."""
        return self.force(batch, self.start(batch), need_weights)

    def forced_decode(self, batch: Batch, state: State | None = None) -> ForcedOutputs:
        """As `SequenceModel.forced_decode`; every row is a dialogue."""
        outputs = self.force(batch, state or self.start(batch), need_weights="last")
        owner = torch.arange(len(batch), device=batch.source.device)
        return ForcedOutputs(outputs, batch.target_mask, owner, self.cross_attention(outputs))


class PlanningModule(SequenceModel):
    """A model that is searched twice: ``leader`` finds key points, ``writer`` a text for each.

    What `encode` gives is kept by search and understood by the model alone.
    """

    leader: Stepper
    writer: Stepper

    @abstractmethod
    def encode(self, batch: Batch) -> Any:
        """Read the dialogues."""

    @abstractmethod
    def leader_state(self, memory: Any) -> State:
        """What the leader starts from, one row per dialogue."""

    @abstractmethod
    def start_writer(self, memory: Any, plan: Plan) -> State:
        """What the writer starts from, one row per key point of ``plan``."""

    def forced_decode(self, batch: Batch, state: State | None = None) -> ForcedOutputs:
        """As `SequenceModel.forced_decode`, under the batch's key points; rows are their texts."""
        assert batch.plan is not None, "the batch was made without key points"
        outputs = self.forward(batch, need_weights="last")
        plan = batch.plan
        return ForcedOutputs(outputs, plan.target_mask, plan.owner, self.cross_attention(outputs))
