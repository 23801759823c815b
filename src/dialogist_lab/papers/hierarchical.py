"""The hierarchical Transformer: tokens to utterances to a dialogue, and one decoder over these.

Liu et al., "Automatic Dialogue Summary Generation for Customer Service", KDD 2019: sections 3.3 to
3.6; the hierarchical pointer is that of section 3.4.4.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from dialogist_lab.decoding import Rows
from dialogist_lab.models.generator import (
    AttentionMaps,
    Batch,
    Decoded,
    Decoder,
    Generator,
    ModelConfig,
    Outputs,
    RecipeLimits,
    Targets,
)
from dialogist_lab.models.transformer_blocks import (
    BLOCKED,
    Activation,
    DecoderState,
    LayerShape,
    MappedEmbedding,
    TokenEmbedding,
    TransformerDecoder,
    TransformerEncoder,
    initialise_module,
)
from dialogist_lab.models.vocabulary_output import (
    Copies,
    LogProbs,
    PointerLogProbs,
)


class HierarchicalConfig(ModelConfig):
    """Options of the hierarchical Transformer; see `LayerShape` for those of a layer.

    ``embedding``: width of the table (d_e), mapped to ``width`` (l) where they differ.
    ``relative_positions``: K of floor(i K / M).
    ``token_layers``, ``utterance_layers``: of the encoder within and across utterances.
    ``decoder_layers``: of the decoder. ``utterance_tokens``: the longest utterance, and
    ``target_tokens``: the longest summary, that the sinusoids cover. ``pointer``: words of the
    dialogue can be copied.
    """

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
    activation: Activation = "gelu"
    relative_positions: int = Field(30, ge=1, le=65536)
    utterance_tokens: int = Field(128, ge=1, le=65536)
    target_tokens: int = Field(256, ge=3, le=65536)
    pointer: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> "HierarchicalConfig":
        if self.width % self.heads:
            raise ValueError(f"'width' {self.width} is no multiple of 'heads' {self.heads}")
        return self

    def check(self, limits: RecipeLimits) -> Iterator[str]:
        yield from self.too_long(
            ("utterance_tokens", limits.longest_utterance, "utterance_tokens"),
            ("summary_tokens, decoding.max_tokens + 1", limits.longest_target, "target_tokens"),
        )

    def layer_shape(self) -> LayerShape:
        names = ("width", "heads", "feed_forward", "dropout", "norm", "norm_eps", "activation")
        return LayerShape(
            key_width=self.width // self.heads,
            attention_output_dropout=self.dropout,
            **{name: getattr(self, name) for name in names},
        )

    def build(self, vocabulary: int) -> Generator:
        return Hierarchical(self, vocabulary)


class UtteranceLayout(NamedTuple):
    """Where the tokens and utterances of a batch lie: G utterances in all, of W tokens at most."""

    ids: Tensor  # (G, W) token ids
    real: Tensor  # (G, W)
    places: Tensor  # (G, W) where each token stands in the flat batch (B * S)
    spoken: Tensor  # (B, U) True where there is an utterance: ``nonzero()`` has the G in order

    @classmethod
    def of(cls, batch: Batch) -> "UtteranceLayout":
        """From the batch's utterance numbers; begin and end symbols belong to none."""
        number = batch.utterance  # (B, S), -1 outside
        counts = number.amax(dim=1) + 1  # (B,) M of each dialogue
        first = counts.cumsum(0) - counts  # (B,) each dialogue's first utterance among all
        inside = number >= 0
        index = (number + first[:, None])[inside]  # (P,) which of all utterances
        lengths = torch.bincount(index, minlength=int(counts.sum()))
        real = _below(lengths)
        places = torch.zeros(real.shape, dtype=torch.long, device=number.device)
        places[real] = inside.flatten().nonzero()[:, 0]
        ids = batch.source.flatten()[places].masked_fill(~real, 0)
        return cls(ids, real, places, _below(counts))


def _below(lengths: Tensor) -> Tensor:
    """(N,) -> (N, longest) True below each length."""
    return torch.arange(int(lengths.max()), device=lengths.device) < lengths[:, None]


class AttentivePooling(nn.Module):
    """One vector for each sequence: softmax(v . tanh(W x + b)) x (equations 7 and 8).

    The paper prints W as l x 1, which fits neither b nor v; it is read as l x l, v as l.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.score = nn.Linear(width, 1, bias=False)

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """(G, W, D), True where real (G, W) -> (G, D) and the share of each position (G, 1, W)."""
        scores = self.score(torch.tanh(self.inner(x))).transpose(1, 2).float()
        weights = torch.softmax(scores.masked_fill(~real[:, None], BLOCKED), dim=-1)
        return (weights.to(x.dtype) @ x)[:, 0], weights


@dataclass(frozen=True, slots=True)
class HierarchicalMemory(Rows):
    """An encoded batch.

    ``attention``: if asked for, each layer's weights among the tokens of each utterance (G, H, W,
    W) and among utterances (B, H, U, U), and ``pooling`` (G, 1, 1, W): always of the whole batch.
    """

    tokens: Tensor  # (B, S, D) flat token states, zero at begin, end and padding
    segments: Tensor  # (B, S, U) fp32, 1 where a position is in an utterance
    ids: Tensor  # (B, S) what copying each position would write
    extra: int  # E
    utterances: Tensor  # (B, U, D)
    spoken: Tensor  # (B, U) which of them are real
    attention: AttentionMaps = field(default_factory=dict)


class HierarchicalEncoder(nn.Module):
    """A token-level encoder in each utterance, pooling, an utterance-level encoder over these.

    Utterances have K + 1 trainable position vectors, by floor(i K / M) (section 3.6).
    """

    def __init__(self, config: HierarchicalConfig, table: MappedEmbedding) -> None:
        super().__init__()
        shape = config.layer_shape()
        self.embedding = TokenEmbedding(
            table, config.utterance_tokens, config.width, config.dropout
        )
        self.token_encoder = TransformerEncoder(config.token_layers, shape)
        self.pooling = AttentivePooling(config.width)
        self.relative = nn.Embedding(config.relative_positions + 1, config.width)
        self.utterance_encoder = TransformerEncoder(config.utterance_layers, shape)

    def forward(self, batch: Batch, need_weights: bool = False) -> HierarchicalMemory:
        """(B, S) ids with their utterance numbers -> what decoders attend to and copy from."""
        layout, number = UtteranceLayout.of(batch), batch.utterance
        real, spoken = layout.real, layout.spoken
        tokens, within = self.token_encoder(self.embedding(layout.ids), real, need_weights)  # eq. 6
        pooled, shares = self.pooling(tokens, real)  # equation 7: (G, D)
        counts = spoken.sum(dim=1, keepdim=True)
        most = self.relative.num_embeddings - 1
        places = (torch.arange(1, spoken.shape[1] + 1, device=number.device) * most) // counts
        placed = pooled + self.relative(places[spoken]).to(pooled.dtype)
        x = placed.new_zeros(*spoken.shape, placed.shape[1])
        x[spoken] = placed
        utterances, among = self.utterance_encoder(x, spoken, need_weights)  # equation 9
        maps = {f"token_encoder_layer{i}_self_att": w for i, w in enumerate(within, 1)}
        maps |= {f"utterance_encoder_layer{i}_self_att": w for i, w in enumerate(among, 1)}
        flat = tokens.new_zeros(number.numel(), tokens.shape[2])
        flat[layout.places[real]] = tokens[real]
        columns = torch.arange(spoken.shape[1], device=number.device)
        return HierarchicalMemory(
            flat.view(*number.shape, -1),
            (number[:, :, None] == columns).float(),
            batch.copy_ids,
            batch.extra,
            utterances,
            spoken,
            maps | {"pooling": shares[:, None]} if need_weights else {},
        )


_LOWEST = -80.0
"""Scores further below the dialogue's best count as this: their exponential is still a number."""


class HierarchicalPointer(nn.Module):
    """Which utterance, times which of its tokens (equation 16), and the gate (equation 17)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(2 * width, 1)

    def forward(
        self, hidden: Tensor, attention: Tensor, memory: HierarchicalMemory, real: Tensor
    ) -> Copies:
        """Decoder states (N, T, D) -> `Copies` at the M positions that are ``real`` (N, T).

        ``attention``: (N, H, T, U) of the decoder's last layer; the mean over its heads is the
        probability of the utterances.
        """
        # W_Q s (W_K x)^T with the keys' matrix on the side of the few: nothing is kept of the many.
        query = self.query(hidden) @ self.key.weight.to(hidden.dtype)
        scores = query @ memory.tokens.transpose(1, 2)
        scores = scores.float() / math.sqrt(hidden.shape[2])
        weights = attention.float().mean(dim=1) @ memory.segments.transpose(1, 2)
        weights = weights * softmax_within(scores, memory.segments)  # (N, T, S)
        attended = weights.to(memory.tokens.dtype) @ memory.tokens  # s-bar
        gate = self.gate(torch.cat([hidden, attended], dim=2)).squeeze(2)
        ids = memory.ids[:, None].expand(-1, hidden.shape[1], -1)
        return Copies(gate[real].float(), weights[real], ids[real], memory.extra)


def softmax_within(scores: Tensor, segments: Tensor) -> Tensor:
    """(N, T, S) scores -> probabilities that sum to one in each of the segments (N, S, U).

    Positions of no segment get 0.
    """
    inside = segments.sum(dim=2)[:, None]  # (N, 1, S)
    highest = scores.detach().masked_fill(inside == 0, -torch.inf).amax(dim=2, keepdim=True)
    powers = (scores - highest).clamp(_LOWEST, 0).exp() * inside
    sums = powers @ segments  # (N, T, U)
    return powers / (sums @ segments.transpose(1, 2)).clamp(min=1e-37)


class UtteranceDecoder(Decoder):
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
        self.embedding = TokenEmbedding(table, positions, config.width, config.dropout)
        self.decoder = TransformerDecoder(layers, config.layer_shape())
        self.output = nn.Linear(config.width, table.num_embeddings)
        self.pointer = HierarchicalPointer(config.width) if pointer else None

    def start(self, memory: HierarchicalMemory, begin: Tensor | None = None) -> DecoderState:
        """A state for each row of the memory.

        ``begin``: (N, D) vectors that stand in place of the begin symbol's (the Writer's s-dot_p).
        """
        state: DecoderState = self.decoder.start(memory.utterances, memory.spoken)
        return replace(state, copies=None if self.pointer is None else memory, begin=begin)

    def forward(
        self, targets: Targets, state: DecoderState, need_weights: bool = False
    ) -> tuple[Outputs, Tensor]:
        """The distributions at the real positions, and (N, T, D) what they are predicted from."""
        decoded = self.decode(targets.inputs, state, targets.mask, need_weights)
        assert decoded.hidden is not None
        labels = targets.labels[targets.mask]
        return Outputs(decoded.log_probs, labels, decoded.attention), decoded.hidden

    def decode(
        self, tokens: Tensor, state: DecoderState, real: Tensor, need_weights: bool = False
    ) -> Decoded:
        begin = state.begin if state.position == 0 else None
        x = self.embedding(tokens, state.position, begin)
        hidden, after, weights = self.decoder(x, state, need_weights or self.pointer is not None)
        attention = weights if need_weights else {}
        generated = LogProbs(self.output, hidden[real])
        if self.pointer is None:
            return Decoded(generated, after, attention, hidden)
        last = weights[f"decoder_layer{len(state.caches)}_block2_decenc_att"]
        copies = self.pointer(hidden, last, state.copies, real)
        return Decoded(PointerLogProbs(generated, copies), after, attention, hidden)


class Hierarchical(Generator):
    """A hierarchical encoder and one decoder that writes the whole summary."""

    config: HierarchicalConfig

    def __init__(self, config: HierarchicalConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        table = MappedEmbedding(vocabulary, config.embedding, config.width)
        self.encoder = HierarchicalEncoder(config, table)
        layers, positions = config.decoder_layers, config.target_tokens
        self.decoder = UtteranceDecoder(config, table, layers, positions, config.pointer)
        for module in self.modules():
            initialise_module(module, "scaled")

    def encode(
        self, batch: Batch, need_weights: bool = False
    ) -> tuple[DecoderState, AttentionMaps]:
        memory: HierarchicalMemory = self.encoder(batch, need_weights)
        return self.decoder.start(memory), memory.attention

    def decode(
        self, tokens: Tensor, state: DecoderState, real: Tensor, need_weights: bool = False
    ) -> Decoded:
        return self.decoder.decode(tokens, state, real, need_weights)
