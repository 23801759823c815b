"""The flat encoder-decoder Transformer: the DialogSum reports' network and its modern form.

Sources: Vaswani et al. 2017; report 1 (Listings 2-6), reports 2 and 3 (appendices). With the
options of the recipe ``dialogsum-report-1`` it is that network exactly: key width = d_model per
head, post-norm with eps 1e-6, ReLU, embeddings scaled by sqrt(d), separate untied embeddings,
dropout on embeddings, attention weights and feed-forward output, Keras' initial values.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, TypeAlias

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from dialogist.config import Config
from dialogist.models.base import (
    GeneratorModule,
    ModelConfig,
    Outputs,
    RecipeParts,
    TokenDistribution,
)
from dialogist.nn.attention import Mentions, MultiHeadAttention, WantedWeights
from dialogist.nn.kv_cache import DecoderState, State
from dialogist.nn.layers import (
    Dropout,
    MappedEmbedding,
    PositionKind,
    Positions,
    initialise_module,
)
from dialogist.nn.output_layer import (
    CopyMemory,
    LogProbs,
    Pointer,
    PointerLogProbs,
    VocabularyProjection,
    repeated_attention,
)
from dialogist.nn.packing import Masks, Packing, look_ahead_mask
from dialogist.nn.transformer_layers import LayerShape, TransformerDecoder, TransformerEncoder
from dialogist.tensors import Batch


class DecoderConfig(Config):
    """Where the decoder's layers differ from the encoder's; None: they do not.

    A decoder that starts at random beside a pretrained encoder may be narrower, or normalise
    before each block, which trains more steadily (Xiong et al. 2020).

    ``heads``, ``key_width``, ``feed_forward``, ``norm``, ``norm_eps``, ``activation``: as for the
    model.
    """

    heads: int | None = Field(None, ge=1, le=256)
    key_width: int | None = Field(None, ge=1, le=8192)
    feed_forward: int | None = Field(None, ge=1, le=65536)
    norm: Literal["post", "pre"] | None = None
    norm_eps: float | None = Field(None, gt=0)
    activation: Literal["relu", "gelu"] | None = None


class TransformerConfig(ModelConfig):
    """Options of the Transformer; see `LayerShape` for those of a layer.

    ``embedding``: the width of the tables (d_e), mapped to ``d_model`` by a linear layer where the
    two differ (KDD'19 paper, section 3.3.2); None means ``d_model``. ``key_width`` None means
    ``d_model // heads``; the reports have ``d_model``.
    ``initialisation``: ``keras`` (embeddings uniform +-0.05, other matrices Glorot uniform, as the
    reports' framework does) or ``scaled`` (embeddings normal with deviation d_e^-0.5, so that at
    ``d_model``, scaled by its root, they have unit variance). ``coverage``: the pointer's attention
    is counted, for ``objective.coverage_weight``; it adds no weights. ``speaker_attention``: the
    decoder's attention over the source, and the pointer's, know whose words a position is
    (`dialogist.nn.attention`). ``embedding_norm``: embeddings with their positions are normalised
    first, as in BERT (Devlin et al. 2019); ``decoder``: what its layers have of their own.

    ``attention_dropout``: on the weights of attention. ``attention_output_dropout``: behind
    attention, in place of ``dropout``. ``activation_dropout``: behind the activation of a
    feed-forward block. ``reuse_second_norm``: the third block of a decoder layer shares the norm of
    its second. ``positions``: a fixed or a learned table. ``source_positions``,
    ``target_positions``: the longest sequences. ``scale_embeddings``: multiply them by the root of
    the width.
    """

    pretrained_weights = ("encoder", "source")

    kind: Literal["transformer"] = "transformer"
    d_model: int = Field(256, ge=1, le=8192)
    embedding: int | None = Field(None, ge=1, le=8192)
    heads: int = Field(4, ge=1, le=256)
    key_width: int | None = Field(None, ge=1, le=8192)
    feed_forward: int = Field(1024, ge=1, le=65536)
    encoder_layers: int = Field(3, ge=1, le=64)
    decoder_layers: int = Field(3, ge=1, le=64)
    dropout: float = Field(0.1, ge=0, lt=1)
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    attention_output_dropout: float = Field(0.1, ge=0, lt=1)
    activation_dropout: float = Field(0.0, ge=0, lt=1)
    norm: Literal["post", "pre"] = "pre"
    norm_eps: float = Field(1e-6, gt=0)
    activation: Literal["relu", "gelu"] = "relu"
    reuse_second_norm: bool = False
    positions: PositionKind = "sinusoidal"
    source_positions: int = Field(512, ge=3, le=65536)
    target_positions: int = Field(128, ge=3, le=65536)
    share_embeddings: bool = True
    tie_output: bool = True
    scale_embeddings: bool = True
    embedding_norm: bool = False
    decoder: DecoderConfig = DecoderConfig()
    pointer: bool = False
    coverage: bool = False
    speaker_attention: bool = False
    initialisation: Literal["keras", "scaled"] = "scaled"

    @model_validator(mode="after")
    def _consistent(self) -> "TransformerConfig":
        for name, stack in (("", self), ("decoder.", self.decoder)):
            if stack.key_width is None and stack.heads and self.d_model % stack.heads:
                raise ValueError(
                    f"'d_model' {self.d_model} is no multiple of '{name}heads' {stack.heads}: set "
                    f"'{name}key_width'"
                )
        if self.coverage and not self.pointer:
            raise ValueError("'coverage' counts the pointer's attention: set 'pointer' to true")
        if self.tie_output and self.embedding not in (None, self.d_model):
            raise ValueError(
                f"'tie_output' needs 'embedding' {self.embedding} to be 'd_model' {self.d_model}: "
                "set one of them so, or 'tie_output' to false"
            )
        return self

    @property
    def knows_speakers(self) -> bool:
        """Whether its attention knows who speaks."""
        return self.speaker_attention

    def check(self, recipe: RecipeParts) -> Iterator[str]:
        """Whom its attention could know, and what its tables of positions hold."""
        if self.speaker_attention and recipe.preparation.speakers == "inline":
            yield "model.speaker_attention needs preparation.speakers atomic or role"
        yield from super().check(recipe)

    def layer_shape(self) -> LayerShape:
        """What encoder layers have in common, and decoder layers where nothing else is said."""
        key_width = self.key_width or self.d_model // self.heads
        return LayerShape.of(self, width=self.d_model, key_width=key_width)

    def decoder_shape(self) -> LayerShape:
        """What decoder layers have in common."""
        own = self.decoder.model_dump(exclude_none=True)
        if "heads" in own:
            own.setdefault("key_width", self.d_model // own["heads"])
        return replace(self.layer_shape(), match_speakers=self.speaker_attention, **own)

    def build(self, vocabulary: int) -> "Transformer":
        """A new model with fresh weights (drawn from torch's generator)."""
        return Transformer(self, vocabulary)


TransformerState: TypeAlias = DecoderState[CopyMemory]
"""What it carries from step to step of a search."""


class Transformer(GeneratorModule):
    """Encoder-decoder over flat token sequences; a `GeneratorModule`."""

    config: TransformerConfig

    def __init__(self, config: TransformerConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        width, shape = config.d_model, config.layer_shape()
        own = config.embedding or width
        self.source_embedding = MappedEmbedding(vocabulary, own, width)
        self.target_embedding = (
            self.source_embedding
            if config.share_embeddings
            else MappedEmbedding(vocabulary, own, width)
        )
        kind, eps = config.positions, config.norm_eps if config.embedding_norm else None
        self.source_positions = Positions(kind, config.source_positions, width, eps)
        self.target_positions = Positions(kind, config.target_positions, width, eps)
        self.dropout = Dropout(config.dropout)
        self.encoder = TransformerEncoder(config.encoder_layers, shape)
        self.decoder = TransformerDecoder(config.decoder_layers, config.decoder_shape())
        self.output = VocabularyProjection(width, vocabulary)
        knows = config.speaker_attention
        self.pointer = Pointer(width, knows) if config.pointer else None
        self.mentions = Mentions(vocabulary) if knows else None
        self._initialise()
        if config.tie_output:
            self.output.weight = self.target_embedding.weight

    def _initialise(self) -> None:
        for module in self.modules():
            initialise_module(module, self.config.initialisation)
        for module in self.modules() if self.config.initialisation == "keras" else ():
            if isinstance(module, MultiHeadAttention):
                module.initialise_as_keras()

    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """Teacher forcing: (B, S) and (B, T) ids -> distributions at the M real positions."""
        memory, packing, weights = self._encode(batch, need_weights is True)
        outputs = self.force(batch, self._start(batch, memory, packing), need_weights)
        s = batch.source.shape[1]  # the packing's width is rounded up
        maps = {f"encoder_layer{i}_self_att": w[..., :s, :s] for i, w in enumerate(weights, 1)}
        return replace(outputs, attention=maps | outputs.attention)

    def force(self, batch: Batch, state: State, need_weights: WantedWeights = False) -> Outputs:
        """As `forward`, from what `start` gave for the batch."""
        assert isinstance(state, DecoderState)
        state = state.apart()
        target = Packing.of(batch.target_mask)
        x = self._embed_packed(
            self.target_embedding, self.target_positions, batch.target_in, target
        )
        masks = Masks(look_ahead_mask(target.width, x.dtype, x.device), state.memory_mask)
        named = None
        if self.mentions is not None:
            named = self.mentions.units(target.pack(self.mentions.along(batch.target_in)))
        hidden, _, attention = self.decoder(x, target, state.caches, masks, need_weights, named)
        # from the packings' rounded widths back to T and S
        t, s = batch.target_in.shape[1], batch.source.shape[1]
        maps = {k: w[..., :t, : t if "self" in k else s] for k, w in attention.items()}
        found = self._distribution(hidden, target, state.copies, named)
        targets, again = target.pack(batch.target_out)[: target.count], None
        if self.config.coverage and isinstance(found, PointerLogProbs):
            again = repeated_attention(found.copies.weights, batch.target_mask)
        return Outputs(found, targets, maps, again)

    def start(self, batch: Batch) -> TransformerState:
        """Encode and project the memory once; B rows."""
        memory, packing, _ = self._encode(batch, need_weights=False)
        return self._start(batch, memory, packing)

    def _start(self, batch: Batch, memory: Tensor, packing: Packing) -> TransformerState:
        spoken = named = copies = None
        if self.mentions is not None:
            spoken = self.mentions.spoken(batch.source, batch.utterance, packing.width)
            named = self.mentions.nobody(len(batch))
        caches = tuple(self.decoder.start(memory, packing, spoken))
        if self.pointer is not None:
            copies = self.pointer.memory(memory, batch, packing, spoken)
        return DecoderState(caches, packing.mask(memory.dtype), copies=copies, named=named)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, TransformerState]:
        """One token per row (N,) -> log-probabilities (N, V) of the next one, and the new state."""
        assert isinstance(state, DecoderState)
        self.target_positions.require(state.position + 1)
        position = torch.tensor([state.position], device=tokens.device)
        x = self._embed(self.target_embedding, self.target_positions, tokens, position)
        packing, masks = state.packing(), state.masks()
        named = units = None
        if self.mentions is not None and state.named is not None:
            named = self.mentions.after(state.named, tokens)
            units = self.mentions.units(named)
        hidden, caches, _ = self.decoder(x, packing, state.caches, masks, named=units)
        found = self._distribution(hidden, packing, state.copies, units).all()
        return found, state.after(tuple(caches), masks, named)

    def _distribution(
        self, hidden: Tensor, packing: Packing, copies: CopyMemory | None, named: Tensor | None
    ) -> TokenDistribution:
        """The next token's, at the decoder's rows (P, D); ``named``: of whom each talks."""
        generated = LogProbs(self.output, hidden[: packing.count])
        if self.pointer is None or copies is None:
            return generated
        return PointerLogProbs(generated, self.pointer(hidden, packing, copies, named))

    def _encode(self, batch: Batch, need_weights: bool) -> tuple[Tensor, Packing, list[Tensor]]:
        """(B, S) ids -> memory rows (P, D), where they lie, and weights (B, H, S', S')."""
        packing = Packing.of(batch.source_mask)
        x = self._embed_packed(self.source_embedding, self.source_positions, batch.source, packing)
        memory, weights = self.encoder(x, packing, need_weights)
        return memory, packing, weights

    def _embed_packed(
        self, embedding: nn.Embedding, positions: Positions, ids: Tensor, packing: Packing
    ) -> Tensor:
        """(B, T) ids -> (P, D)."""
        positions.require(ids.shape[1])
        return self._embed(embedding, positions, packing.pack(ids), packing.positions)

    def _embed(
        self, embedding: nn.Embedding, positions: Positions, ids: Tensor, places: Tensor
    ) -> Tensor:
        """(P,) ids at the positions ``places`` -> (P, D), in the layers' number format."""
        x = embedding(ids)
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        embedded: Tensor = self.dropout(positions(x, places).to(self.encoder.dtype))
        return embedded
