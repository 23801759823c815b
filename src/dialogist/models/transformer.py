"""The flat encoder-decoder Transformer: the DialogSum reports' network and its modern form.

Sources: Vaswani et al. 2017; report 1 (Listings 2-6), reports 2 and 3 (appendices). With the
options of the recipe ``dialogsum-report-1`` it is that network exactly: key width = d_model per
head, post-norm with eps 1e-6, ReLU, embeddings scaled by sqrt(d), separate untied embeddings,
dropout on embeddings, attention weights and feed-forward output, Keras' initial values.
"""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from dialogist.batch import Batch
from dialogist.config import Config
from dialogist.models.base import GeneratorModule, Outputs
from dialogist.nn.attention import MultiHeadAttention, look_ahead_mask, padding_mask
from dialogist.nn.dropout import Dropout
from dialogist.nn.positional import PositionKind, Positions
from dialogist.nn.state import State
from dialogist.nn.transformer import Decoder, Encoder, LayerCache, LayerShape


class TransformerConfig(Config):
    """Options of the Transformer; see `LayerShape` for those of a layer.

    ``key_width`` None means ``d_model // heads``; the reports have ``d_model``.
    ``initialisation``: ``keras`` (embeddings uniform +-0.05, other matrices Glorot uniform, as the
    reports' framework does) or ``scaled`` (embeddings normal with deviation d^-0.5, so that scaled
    by sqrt(d) they start with unit variance).
    """

    kind: Literal["transformer"] = "transformer"
    d_model: int = Field(256, ge=1, le=8192)
    heads: int = Field(4, ge=1, le=256)
    key_width: int | None = Field(None, ge=1, le=8192)
    feed_forward: int = Field(1024, ge=1, le=65536)
    encoder_layers: int = Field(3, ge=1, le=64)
    decoder_layers: int = Field(3, ge=1, le=64)
    dropout: float = Field(0.1, ge=0, lt=1)
    attention_dropout: float = Field(0.0, ge=0, lt=1)
    attention_output_dropout: float = Field(0.1, ge=0, lt=1)
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
    initialisation: Literal["keras", "scaled"] = "scaled"

    @model_validator(mode="after")
    def _consistent(self) -> "TransformerConfig":
        if self.key_width is None and self.d_model % self.heads:
            raise ValueError(
                f"'d_model' {self.d_model} is no multiple of 'heads' {self.heads}: set 'key_width'"
            )
        return self

    def layer_shape(self) -> LayerShape:
        """What encoder and decoder layers have in common."""
        return LayerShape(
            width=self.d_model,
            heads=self.heads,
            key_width=self.key_width or self.d_model // self.heads,
            feed_forward=self.feed_forward,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            attention_output_dropout=self.attention_output_dropout,
            norm=self.norm,
            norm_eps=self.norm_eps,
            activation=self.activation,
            reuse_second_norm=self.reuse_second_norm,
        )

    def build(self, vocabulary: int, source_vocabulary: int | None = None) -> "Transformer":
        """A new model with fresh weights (drawn from torch's generator).

        ``source_vocabulary`` differs from the target's only with separate embeddings.
        """
        return Transformer(self, vocabulary, source_vocabulary or vocabulary)


@dataclass(frozen=True, slots=True)
class TransformerState:
    """N rows of search: every layer's cache, the memory's mask, and whose memory each row has."""

    caches: tuple[LayerCache, ...]
    memory_mask: Tensor  # (N, 1, 1, S) additive
    owner: Tensor  # (N,) the dialogue behind each row
    position: int = 0

    def select(self, rows: Tensor) -> "TransformerState":
        """The given rows; memories are copied only when rows change between dialogues."""
        owner = self.owner.index_select(0, rows)
        moved = not torch.equal(owner, self.owner)
        mask = self.memory_mask.index_select(0, rows) if moved else self.memory_mask
        caches = tuple(cache.select(rows, memory_too=moved) for cache in self.caches)
        return TransformerState(caches, mask, owner, self.position)


class Transformer(GeneratorModule):
    """Encoder-decoder over flat token sequences; a `Generator`."""

    def __init__(self, config: TransformerConfig, vocabulary: int, source_vocabulary: int) -> None:
        super().__init__()
        self.config = config
        width, shape = config.d_model, config.layer_shape()
        assert vocabulary == source_vocabulary or not config.share_embeddings
        self.source_embedding = nn.Embedding(source_vocabulary, width)
        self.target_embedding = (
            self.source_embedding if config.share_embeddings else nn.Embedding(vocabulary, width)
        )
        self.source_positions = Positions(config.positions, config.source_positions, width)
        self.target_positions = Positions(config.positions, config.target_positions, width)
        self.dropout = Dropout(config.dropout)
        self.encoder = Encoder(config.encoder_layers, shape)
        self.decoder = Decoder(config.decoder_layers, shape)
        self.output = nn.Linear(width, vocabulary)
        self._initialise()
        if config.tie_output:
            self.output.weight = self.target_embedding.weight

    @property
    def longest_target(self) -> int:
        """The number of target positions."""
        return self.config.target_positions

    def _initialise(self) -> None:
        keras = self.config.initialisation == "keras"
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding) and keras:
                nn.init.uniform_(module.weight, -0.05, 0.05)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)
        for module in self.modules() if keras else ():
            if isinstance(module, MultiHeadAttention):
                module.initialise_as_keras()

    def forward(self, batch: Batch) -> Outputs:
        """Teacher forcing: (B, S) and (B, T) ids -> log-probabilities (M, V) at real positions."""
        memory, weights = self.encode(batch)
        x = self._embed(self.target_embedding, self.target_positions, batch.target_in)
        causal = look_ahead_mask(x.shape[1], memory.dtype, x.device)
        mask = padding_mask(batch.source_mask, memory.dtype)
        hidden, _, attention = self.decoder(x, self.decoder.start(memory), causal, mask)
        real = hidden[batch.target_mask]  # (B, T, D) -> (M, D)
        targets = batch.target_out[batch.target_mask]  # (B, T) -> (M,)
        return Outputs(self._log_probs(real), targets, weights | attention)

    def encode(self, batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
        """(B, S) ids -> memory (B, S, D) and ``encoder_layer{i}_self_att`` (B, H, S, S)."""
        x = self._embed(self.source_embedding, self.source_positions, batch.source)
        memory, layers = self.encoder(x, padding_mask(batch.source_mask, x.dtype))
        return memory, {f"encoder_layer{i}_self_att": w for i, w in enumerate(layers, start=1)}

    def start(self, batch: Batch) -> TransformerState:
        """Encode and project the memory once; B rows."""
        memory, _ = self.encode(batch)
        mask = padding_mask(batch.source_mask, memory.dtype)
        owner = torch.arange(len(batch), device=memory.device)
        return TransformerState(tuple(self.decoder.start(memory)), mask, owner)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, TransformerState]:
        """One token per row (N,) -> log-probabilities (N, V) of the next one, and the new state."""
        assert isinstance(state, TransformerState)
        x = self._embed(
            self.target_embedding, self.target_positions, tokens[:, None], state.position
        )
        hidden, caches, _ = self.decoder(x, state.caches, None, state.memory_mask)
        after = TransformerState(tuple(caches), state.memory_mask, state.owner, state.position + 1)
        return self._log_probs(hidden[:, 0]), after

    def _embed(
        self, embedding: nn.Embedding, positions: Positions, ids: Tensor, offset: int = 0
    ) -> Tensor:
        """(N, T) ids -> (N, T, D)."""
        x = embedding(ids)
        if self.config.scale_embeddings:
            x = x * math.sqrt(self.config.d_model)
        embedded: Tensor = self.dropout(positions(x, offset))
        return embedded

    def _log_probs(self, hidden: Tensor) -> Tensor:
        """(M, D) -> (M, V), in fp32 whatever the model computes in."""
        return torch.log_softmax(self.output(hidden).float(), dim=-1)
