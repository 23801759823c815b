"""The hierarchical Transformer: two encoders, one decoder (KDD'19 paper, sections 3.3 and 4.4)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from dialogist.models.base import (
    GeneratorModule,
    ModelConfig,
    Outputs,
    RecipeParts,
    SequenceModel,
    TokenDistribution,
)
from dialogist.nn.attention import WantedWeights
from dialogist.nn.kv_cache import DecoderState, LayerCache, State
from dialogist.nn.layers import MappedEmbedding, TokenEmbedding, initialise_module
from dialogist.nn.output_layer import LogProbs, PointerLogProbs, VocabularyProjection
from dialogist.nn.packing import Masks, Packing, look_ahead_mask
from dialogist.nn.transformer_layers import LayerShape, TransformerDecoder
from dialogist.tensors import Batch
from dialogist_lab.papers.hierarchical_encoder import (
    HierarchicalCopyMemory,
    HierarchicalEncoder,
    HierarchicalMemory,
    HierarchicalPointer,
)


class HierarchicalConfig(ModelConfig):
    """Options of the hierarchical Transformer; see `LayerShape` for those of a layer.

    ``embedding``: width of the table (d_e), mapped to ``width`` (l) where they differ.
    ``relative_positions``: K of floor(i K / M).
    ``token_layers``, ``utterance_layers``: of the encoder within and across utterances.
    ``decoder_layers``: of the decoder. ``utterance_tokens``: the longest utterance, and
    ``target_tokens``: the longest summary, that the sinusoids cover.
    """

    target_table = "target_tokens"

    kind: Literal["hierarchical"] = "hierarchical"
    embedding: int = Field(128, ge=1, le=8192)
    width: int = Field(256, ge=1, le=8192)
    heads: int = Field(4, ge=1, le=256)
    feed_forward: int = Field(512, ge=1, le=65536)
    token_layers: int = Field(3, ge=1, le=64)
    utterance_layers: int = Field(3, ge=1, le=64)
    decoder_layers: int = Field(3, ge=1, le=64)
    dropout: float = Field(0.1, ge=0, lt=1)
    norm: Literal["post", "pre"] = "post"
    norm_eps: float = Field(1e-5, gt=0)
    activation: Literal["relu", "gelu"] = "gelu"
    relative_positions: int = Field(30, ge=1, le=65536)
    utterance_tokens: int = Field(128, ge=1, le=65536)
    target_tokens: int = Field(256, ge=3, le=65536)
    pointer: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> "HierarchicalConfig":
        if self.width % self.heads:
            raise ValueError(f"'width' {self.width} is no multiple of 'heads' {self.heads}")
        return self

    def check(self, recipe: RecipeParts) -> Iterator[str]:
        """What its tables of positions hold."""
        spoken = recipe.preparation.limits.utterance_tokens
        if spoken is None or spoken > self.utterance_tokens:
            yield (
                "preparation.limits.utterance_tokens must be at most model.utterance_tokens "
                f"({self.utterance_tokens})"
            )
        yield from super().check(recipe)

    def layer_shape(self) -> LayerShape:
        """What all layers have in common."""
        dropouts = {"attention_dropout": 0.0, "attention_output_dropout": self.dropout}
        return LayerShape.of(self, key_width=self.width // self.heads, **dropouts)

    def table(self, size: int) -> MappedEmbedding:
        """A new table of ``size`` rows."""
        return MappedEmbedding(size, self.embedding, self.width)

    def encoder(self, table: MappedEmbedding) -> HierarchicalEncoder:
        """A new encoder that reads tokens by ``table``."""
        return HierarchicalEncoder(
            TokenEmbedding(table, self.width, self.utterance_tokens, self.dropout),
            (self.token_layers, self.utterance_layers),
            self.layer_shape(),
            self.relative_positions,
        )

    def build(self, vocabulary: int) -> SequenceModel:
        """A new model with fresh weights (drawn from torch's generator)."""
        return Hierarchical(self, vocabulary)


UtteranceDecoderState: TypeAlias = DecoderState[HierarchicalCopyMemory]
"""What an `UtteranceDecoder` carries from step to step; for the Writer each row has a memory."""


class UtteranceDecoder(nn.Module):
    """A Transformer decoder over utterances, with or without a hierarchical pointer.

    Equations 10 to 13 and 16 to 18. It is the decoder of a whole summary, the Writer net, and, over
    key points instead of tokens, the Leader net.
    """

    def __init__(
        self,
        config: HierarchicalConfig,
        table: MappedEmbedding,
        layers: int,
        positions: int,
        pointer: bool,
    ) -> None:
        super().__init__()
        self.embedding = TokenEmbedding(table, config.width, positions, config.dropout)
        self.decoder = TransformerDecoder(layers, config.layer_shape())
        self.output = VocabularyProjection(config.width, table.num_embeddings)
        self.pointer = HierarchicalPointer(config.width) if pointer else None

    def start(
        self, memory: HierarchicalMemory, owner: Tensor, first: Tensor | None = None
    ) -> UtteranceDecoderState:
        """States of rows that belong to the dialogues ``owner`` (N,).

        ``first``: (N, D) vectors that stand in place of the begin symbol's (the Writer's s-dot_p).
        """
        utterances = memory.layout.utterances
        caches = self.decoder.start(memory.utterances, utterances)
        copies = None if self.pointer is None else self.pointer.memory(memory)
        mask = utterances.mask(memory.utterances.dtype)
        state = DecoderState(tuple(caches), mask, copies=copies).expand(owner)
        return replace(state, first=first)

    def forward(
        self,
        target_in: Tensor,
        target_out: Tensor,
        real: Tensor,
        state: UtteranceDecoderState,
        need_weights: WantedWeights = False,
    ) -> tuple[Outputs, Tensor]:
        """(N, T) ids, what shall be predicted from them, and where they are real.

        Returns the distributions at the real positions, and (N, T, D) what they are predicted from.

        ``need_weights``: of every layer's self-attention (N, H, T, T), and cross-attention
        (N, H, T, U), or of the last cross-attention alone.
        """
        packing = Packing.of(real)
        self.embedding.positions.require(target_in.shape[1])
        x = self._embed(packing.pack(target_in), packing, packing.positions, state.first)
        masks = Masks(look_ahead_mask(packing.width, x.dtype, x.device), state.memory_mask)
        found, _, hidden, weights = self._decode(x, packing, state, masks, need_weights)
        t = target_in.shape[1]
        maps = _cut(weights, t, state.memory_mask) if need_weights else {}
        outputs = Outputs(found, packing.pack(target_out)[: packing.count], maps)
        return outputs, packing.split(hidden, 1)[:, 0, :t]

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, UtteranceDecoderState]:
        """One token per row (N,) -> log-probabilities (N, X) of the next one, and the new state."""
        assert isinstance(state, DecoderState)
        self.embedding.positions.require(state.position + 1)
        packing, masks = state.packing(), state.masks()
        places = torch.full_like(tokens, state.position)
        x = self._embed(tokens, packing, places, state.first)
        found, caches, *_ = self._decode(x, packing, state, masks)
        return found.all(), state.after(caches, masks)

    def _embed(self, ids: Tensor, packing: Packing, places: Tensor, first: Tensor | None) -> Tensor:
        x = self.embedding.vectors(ids, self.decoder.dtype)
        if first is not None:
            own = first.index_select(0, packing.rows // packing.shape[1])
            x = torch.where((places == 0)[:, None], own.to(x.dtype), x)
        return self.embedding.place(x, places)

    def _decode(
        self,
        x: Tensor,
        packing: Packing,
        state: UtteranceDecoderState,
        masks: Masks,
        need_weights: WantedWeights = False,
    ) -> tuple[TokenDistribution, tuple[LayerCache, ...], Tensor, dict[str, Tensor]]:
        wanted = True if self.pointer is not None else need_weights
        hidden, caches, weights = self.decoder(x, packing, state.caches, masks, wanted)
        generated = LogProbs(self.output, hidden[: packing.count])
        if self.pointer is None or state.copies is None:
            return generated, tuple(caches), hidden, weights
        attention = weights[f"decoder_layer{len(caches)}_block2_decenc_att"]
        copies = self.pointer(hidden, packing, attention, state.copies)
        return PointerLogProbs(generated, copies), tuple(caches), hidden, weights


def _cut(weights: dict[str, Tensor], t: int, memory_mask: Tensor) -> dict[str, Tensor]:
    """A decoder's weights from its packings' rounded widths back to T and U."""
    u = int((memory_mask == 0).sum(dim=-1).max())
    return {name: w[..., :t, : t if "self" in name else u] for name, w in weights.items()}


class Hierarchical(GeneratorModule):
    """A hierarchical encoder and one decoder that writes the whole summary; a `GeneratorModule`."""

    config: HierarchicalConfig
    attends_to = "utterances"

    def __init__(self, config: HierarchicalConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.table = config.table(vocabulary)
        self.encoder = config.encoder(self.table)
        layers, positions = config.decoder_layers, config.target_tokens
        self.decoder = UtteranceDecoder(config, self.table, layers, positions, config.pointer)
        for module in self.modules():
            initialise_module(module, "scaled")

    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """Teacher forcing: (B, S) and (B, T) ids -> distributions at the M real positions."""
        memory = self.encoder(batch, need_weights is True)
        outputs = self.force(batch, self._start(memory), need_weights)
        return replace(outputs, attention=memory.attention | outputs.attention)

    def force(self, batch: Batch, state: State, need_weights: WantedWeights = False) -> Outputs:
        """As `forward`, from what `start` gave for the batch."""
        assert isinstance(state, DecoderState)
        target = (batch.target_in, batch.target_out, batch.target_mask)
        outputs: Outputs = self.decoder(*target, state.apart(), need_weights)[0]
        return outputs

    def start(self, batch: Batch) -> UtteranceDecoderState:
        """Encode; B rows."""
        return self._start(self.encoder(batch))

    def _start(self, memory: HierarchicalMemory) -> UtteranceDecoderState:
        owner = torch.arange(len(memory.layout.batch), device=memory.tokens.device)
        return self.decoder.start(memory, owner)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, UtteranceDecoderState]:
        """One token per row (N,) -> log-probabilities (N, X) of the next one, and the new state."""
        return self.decoder.step(tokens, state)
