"""The hierarchical encoder (tokens to utterances to a dialogue) and its pointer."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.kv_cache import selected
from dialogist.nn.layers import TokenEmbedding
from dialogist.nn.output_layer import Copies
from dialogist.nn.packing import Packing, additive_mask
from dialogist.nn.transformer_layers import LayerShape, TransformerEncoder
from dialogist.tensors import Batch

# The hierarchical encoder: tokens to utterances, utterances to a dialogue.
#
# Liu et al., "Automatic Dialogue Summary Generation for Customer Service", KDD 2019: sections 3.3.2
# and 3.6, equations 6 to 9.


@dataclass(frozen=True)  # no slots: they leave no room for what is cached
class UtteranceLayout:
    """Where the tokens and utterances of a batch lie.

    Tokens are told dialogue by dialogue, utterance by utterance: their rows are the same in
    ``tokens``, a grid of all the batch's utterances (their number, longest), as in ``flat``, the
    grid (B, S) of whole dialogues. ``utterances`` is the grid (B, U).
    """

    batch: Batch
    tokens: Packing
    flat: Packing
    utterances: Packing

    @classmethod
    def of(cls, batch: Batch) -> "UtteranceLayout":
        """Find it from the batch's utterance numbers; begin and end symbols belong to none."""
        assert batch.utterance is not None, "the batch was made without utterances"
        number = batch.utterance  # (B, S), -1 outside
        counts = number.amax(dim=1) + 1  # (B,) M of each dialogue
        first = counts.cumsum(0) - counts  # (B,) each dialogue's first utterance among all
        real = number >= 0
        index = (number + first[:, None])[real]  # (P,) which of all utterances
        lengths = torch.bincount(index, minlength=int(counts.sum()))
        flat = Packing.of(real)
        return cls(batch, Packing.of(_within(lengths)), flat, Packing.of(_within(counts)))

    @cached_property
    def ids(self) -> Tensor:
        """(P,) the tokens' ids."""
        return self.flat.pack(self.batch.source)

    @cached_property
    def segments(self) -> Tensor:
        """(B, width of flat, width of utterances) fp32, 1 where a position is in an utterance."""
        number = self.batch.utterance
        assert number is not None
        places = nn.functional.pad(number, (0, self.flat.width - number.shape[1]), value=-1)
        numbers = torch.arange(self.utterances.width, device=number.device)
        return (places[:, :, None] == numbers).float()

    def relative_positions(self, most: int) -> Tensor:
        """(P',) floor(i K / M) for utterance i = 1 .. M of its dialogue (section 3.6)."""
        rows, (_, width) = self.utterances.rows, self.utterances.shape
        counts = self.utterances.real.sum(dim=1)[rows // width]
        return (self.utterances.positions + 1) * most // counts


def _within(lengths: Tensor) -> Tensor:
    """(N, longest) True below each length."""
    return torch.arange(int(lengths.max()), device=lengths.device) < lengths[:, None]


class AttentivePooling(nn.Module):
    """One vector for each sequence: softmax(v . tanh(W x + b)) x (equations 7 and 8).

    The paper prints W as l x 1, which fits neither b nor v; it is read as l x l, v as l.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.score = nn.Linear(width, 1, bias=False)

    def forward(self, rows: Tensor, packing: Packing) -> Tensor:
        """(P, D), lying as ``packing`` -> (N, D)."""
        pooled = self.weights(rows, packing).to(rows.dtype) @ packing.split(rows, 1)  # (N, 1, 1, D)
        return pooled[:, 0, 0]

    def weights(self, rows: Tensor, packing: Packing) -> Tensor:
        """(P, D), lying as ``packing`` -> (N, 1, 1, W), fp32: the share of each position."""
        scores = packing.split(self.score(torch.tanh(self.inner(rows))), 1)  # (N, 1, W, 1)
        mask = additive_mask(packing.real, torch.float32)[:, None, None, :]  # (N, 1, 1, W)
        return torch.softmax(scores.transpose(2, 3).float() + mask, dim=-1)


@dataclass(frozen=True, slots=True)
class HierarchicalMemory:
    """An encoded batch: token rows (P, D), utterance rows (P', D), and where they lie.

    ``attention``: if asked for, each layer's weights among the tokens of each of N utterances
    (N, H, S, S) and among utterances (B, H, U, U), and ``pooling`` (N, 1, 1, S).
    """

    tokens: Tensor
    utterances: Tensor
    layout: UtteranceLayout
    attention: dict[str, Tensor] = field(default_factory=dict)


class HierarchicalEncoder(nn.Module):
    """A token-level encoder in each utterance, pooling, an utterance-level encoder over these.

    ``relative_positions`` K: utterances have K + 1 trainable position vectors, by floor(i K / M).
    """

    def __init__(
        self,
        embedding: TokenEmbedding,
        layers: tuple[int, int],
        shape: LayerShape,
        relative_positions: int,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.token_encoder = TransformerEncoder(layers[0], shape, short=True)
        self.pooling = AttentivePooling(shape.width)
        self.relative = nn.Embedding(relative_positions + 1, shape.width)
        self.utterance_encoder = TransformerEncoder(layers[1], shape, short=True)

    def forward(self, batch: Batch, need_weights: bool = False) -> HierarchicalMemory:
        """(B, S) ids with their utterance numbers -> what decoders attend to and copy from."""
        layout = UtteranceLayout.of(batch)
        packing = layout.tokens
        self.embedding.positions.require(packing.shape[1])
        x = self.embedding(layout.ids, packing.positions, self.token_encoder.dtype)
        tokens, within = self.token_encoder(x, packing, need_weights)  # equation 6
        pooled = self.pooling(tokens, packing)  # equation 7: (all utterances, D)
        spare = layout.utterances.rows.shape[0] - pooled.shape[0]
        pooled = torch.cat([pooled, pooled[-1:].expand(spare, -1)])
        places = layout.relative_positions(self.relative.num_embeddings - 1)
        x = pooled + self.relative(places).to(pooled.dtype)
        utterances, among = self.utterance_encoder(x, layout.utterances, need_weights)  # equation 9
        maps = self._maps(tokens, layout, within, among) if need_weights else {}
        return HierarchicalMemory(tokens, utterances, layout, maps)

    def _maps(
        self, tokens: Tensor, layout: UtteranceLayout, within: list[Tensor], among: list[Tensor]
    ) -> dict[str, Tensor]:
        """All weights, from the packings' rounded widths back to the longest real lengths."""
        (_, s), (_, u) = layout.tokens.shape, layout.utterances.shape
        maps = {f"token_encoder_layer{i}_self_att": w[..., :s, :s] for i, w in enumerate(within, 1)}
        maps["pooling"] = self.pooling.weights(tokens, layout.tokens)[..., :s]
        names = (f"utterance_encoder_layer{i}_self_att" for i in range(1, len(among) + 1))
        return maps | {name: w[..., :u, :u] for name, w in zip(names, among, strict=True)}


# The hierarchical pointer: which utterance, times which of its tokens (KDD 2019, 3.4.4).

_LOWEST = -80.0
"""Scores further below the dialogue's best count as this: their exponential is still a number."""


class HierarchicalCopyMemory(NamedTuple):
    """What can be copied: N rows of S source positions in U utterances.

    Attributes:
        keys, values: (N, S, D).
        segments: (N, S, U) 1 where a position is in an utterance, fp32.
        ids: (N, S) the token there, unknown words told apart.
        extra: E, how many words beyond the vocabulary there are.
    """

    keys: Tensor
    values: Tensor
    segments: Tensor
    ids: Tensor
    extra: int

    def select(self, rows: Tensor) -> "HierarchicalCopyMemory":
        """The given rows, in the given order."""
        return HierarchicalCopyMemory(*selected(tuple(self), rows))


class HierarchicalPointer(nn.Module):
    """Token-level attention inside each utterance (equation 16) and the gate (equation 17)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(2 * width, 1)

    def memory(self, encoded: HierarchicalMemory) -> HierarchicalCopyMemory:
        """Project the tokens of B dialogues once."""
        layout, ids = encoded.layout, encoded.layout.batch.copy_ids
        flat = layout.flat
        return HierarchicalCopyMemory(
            flat.split(self.key(encoded.tokens), 1)[:, 0],
            flat.split(encoded.tokens, 1)[:, 0],
            layout.segments,
            nn.functional.pad(ids, (0, flat.width - ids.shape[1])),
            layout.batch.extra,
        )

    def forward(
        self, hidden: Tensor, packing: Packing, attention: Tensor, memory: HierarchicalCopyMemory
    ) -> Copies:
        """Where each of the decoder's M positions copies from.

        Args:
            hidden: (P, D), lying as ``packing``.
            attention: (N, H, T, U) the decoder's cross-attention in its last layer; its mean over
                the heads is the probability of the utterances.
        """
        query = packing.split(self.query(hidden), 1)[:, 0]  # (N, T, D)
        scores = (query @ memory.keys.transpose(1, 2)).float() / math.sqrt(query.shape[2])
        weights = attention.float().mean(dim=1) @ memory.segments.transpose(1, 2)
        weights = weights * softmax_within(scores, memory.segments)  # (N, T, S)
        attended = packing.join((weights.to(hidden.dtype) @ memory.values)[:, None])  # s-bar
        gate = self.gate(torch.cat([hidden, attended], dim=1)).squeeze(1)
        ids = memory.ids.index_select(0, packing.rows // packing.shape[1])
        real = slice(packing.count)
        where = packing.join(weights[:, None])[real]
        return Copies(gate[real].float(), where, ids[real], memory.extra)


def softmax_within(scores: Tensor, segments: Tensor) -> Tensor:
    """(N, T, S) scores -> probabilities that sum to one in each of the segments (N, S, U).

    Positions of no segment get 0.
    """
    inside = segments.sum(dim=2)[:, None]  # (N, 1, S)
    highest = scores.detach().masked_fill(inside == 0, -torch.inf).amax(dim=2, keepdim=True)
    powers = (scores - highest).clamp(_LOWEST, 0).exp() * inside
    sums = powers @ segments  # (N, T, U)
    return powers / (sums @ segments.transpose(1, 2)).clamp(min=1e-37)
