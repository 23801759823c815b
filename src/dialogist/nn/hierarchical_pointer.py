"""The hierarchical pointer: which utterance, times which of its tokens (KDD 2019, 3.4.4)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.hierarchical import HierarchicalMemory
from dialogist.nn.packing import Packing
from dialogist.nn.pointer import Copies

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
        keys, values, segments, ids = (part.index_select(0, rows) for part in self[:4])
        return HierarchicalCopyMemory(keys, values, segments, ids, self.extra)


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
