"""The flat encoder-decoder Transformer: the DialogSum reports' network and its modern form.

Sources: Vaswani et al. 2017; report 1 (Listings 2-6), reports 2 and 3 (appendices). With the
options of the recipe ``dialogsum-report-1`` it is that network exactly: key width = d_model per
head, post-norm with eps 1e-6, ReLU, embeddings scaled by sqrt(d), separate untied embeddings,
dropout on embeddings, attention weights and feed-forward output, Keras' initial values.
"""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Literal

from pydantic import Field, model_validator
from torch import Tensor, nn

from dialogist_lab.models.generator import (
    AttentionMaps,
    Batch,
    Decoded,
    Generator,
    ModelConfig,
    RecipeLimits,
)
from dialogist_lab.models.transformer_blocks import (
    Activation,
    DecoderState,
    LayerShape,
    MappedEmbedding,
    MultiHeadAttention,
    TokenEmbedding,
    TransformerDecoder,
    TransformerEncoder,
    initialise_module,
)
from dialogist_lab.models.vocabulary_output import LogProbs, Pointer, PointerLogProbs


class TransformerConfig(ModelConfig):
    """Options of the Transformer.

    ``d_model``: the width. ``embedding``: the width of the tables (d_e), mapped to ``d_model`` by a
    linear layer where the two differ (KDD'19 paper, section 3.3.2); None means ``d_model``.
    ``key_width``: of a head; None means ``d_model // heads``, the reports have ``d_model``.
    ``attention_dropout``: on the weights of attention. ``attention_output_dropout``: behind
    attention, in place of ``dropout``. ``activation_dropout``: behind the activation of a
    feed-forward block. ``reuse_second_norm``: the third block of a decoder layer shares the norm of
    its second, as in reports 2 and 3. ``source_positions``, ``target_positions``: the longest
    sequences. ``share_embeddings``: source and summary have one table. ``tie_output``: the output
    layer uses that of the summary. ``initialisation``: ``keras`` (embeddings uniform +-0.05, other
    matrices Glorot uniform, as the reports' framework does) or ``scaled`` (embeddings normal with
    deviation d_e^-0.5, so that, scaled, they have unit variance).
    """

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
    activation: Activation = "relu"
    reuse_second_norm: bool = False
    source_positions: int = Field(512, ge=3, le=65536)
    target_positions: int = Field(128, ge=3, le=65536)
    share_embeddings: bool = True
    tie_output: bool = True
    pointer: bool = False
    initialisation: Literal["keras", "scaled"] = "scaled"

    @model_validator(mode="after")
    def _consistent(self) -> "TransformerConfig":
        if self.key_width is None and self.d_model % self.heads:
            raise ValueError(
                f"'d_model' {self.d_model} is no multiple of 'heads' {self.heads}: set 'key_width'"
            )
        if self.tie_output and self.embedding not in (None, self.d_model):
            raise ValueError(
                f"'tie_output' needs 'embedding' {self.embedding} to be 'd_model' {self.d_model}: "
                "set one of them so, or 'tie_output' to false"
            )
        return self

    def check(self, limits: RecipeLimits) -> Iterator[str]:
        yield from self.too_long(
            ("source_tokens", limits.longest_source, "source_positions"),
            ("summary_tokens, decoding.max_tokens + 1", limits.longest_target, "target_positions"),
        )

    def layer_shape(self) -> LayerShape:
        names = {f.name for f in fields(LayerShape)} - {"width", "key_width"}
        options = {name: getattr(self, name) for name in names}
        key_width = self.key_width or self.d_model // self.heads
        return LayerShape(width=self.d_model, key_width=key_width, **options)

    def build(self, vocabulary: int) -> "Transformer":
        return Transformer(self, vocabulary)


class Transformer(Generator):
    """Encoder-decoder over flat token sequences."""

    config: TransformerConfig

    def __init__(self, config: TransformerConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        width, shape = config.d_model, config.layer_shape()
        sizes = vocabulary, config.embedding or width, width
        source = MappedEmbedding(*sizes)
        target = source if config.share_embeddings else MappedEmbedding(*sizes)
        self.source = TokenEmbedding(source, config.source_positions, width, config.dropout)
        self.target = TokenEmbedding(target, config.target_positions, width, config.dropout)
        self.encoder = TransformerEncoder(config.encoder_layers, shape)
        self.decoder = TransformerDecoder(config.decoder_layers, shape)
        self.output = nn.Linear(width, vocabulary)
        self.pointer = Pointer(width) if config.pointer else None
        for module in self.modules():
            initialise_module(module, config.initialisation)
        for module in self.modules() if config.initialisation == "keras" else ():
            if isinstance(module, MultiHeadAttention):
                module.initialise_as_keras()
        if config.tie_output:
            self.output.weight = target.weight

    def encode(
        self, batch: Batch, need_weights: bool = False
    ) -> tuple[DecoderState, AttentionMaps]:
        """The memory, projected once for every layer of the decoder and for the pointer."""
        memory, weights = self.encoder(self.source(batch.source), batch.source_mask, need_weights)
        state: DecoderState = self.decoder.start(memory, batch.source_mask)
        if self.pointer is not None:
            state = replace(state, copies=self.pointer.memory(memory, batch))
        return state, {f"encoder_layer{i}_self_att": w for i, w in enumerate(weights, 1)}

    def decode(
        self, tokens: Tensor, state: DecoderState, real: Tensor, need_weights: bool = False
    ) -> Decoded:
        x = self.target(tokens, state.position)
        hidden, after, attention = self.decoder(x, state, need_weights)
        generated = LogProbs(self.output, hidden[real])
        if self.pointer is None:
            return Decoded(generated, after, attention)
        mixed = PointerLogProbs(generated, self.pointer(hidden, state.copies, real))
        return Decoded(mixed, after, attention)
