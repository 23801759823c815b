"""The pointer: copying words of the source (See et al. 2017; KDD'19 paper, section 3.4.4).

p(w) = p_gen * p_vocabulary(w) + (1 - p_gen) * sum of a_s over the source positions s that hold w.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.attention import KeyValue, attention_weights
from dialogist.nn.packing import Packing
from dialogist.nn.vocabulary import LogProbs, TokenLogProbs

_NOTHING = 1e-30
"""A probability that stands for none where its logarithm is taken."""


class CopyMemory(NamedTuple):
    """What can be copied: N rows of S source positions.

    Attributes:
        heads: keys (N, 1, S, D), and as values the encoder's output (N, 1, S, D).
        ids: (N, S) the token at each position.
        mask: (N, 1, 1, S) additive.
    """

    heads: KeyValue
    ids: Tensor
    mask: Tensor

    def select(self, rows: Tensor) -> "CopyMemory":
        """The given rows, in the given order."""
        ids, mask = self.ids.index_select(0, rows), self.mask.index_select(0, rows)
        return CopyMemory(self.heads.select(rows), ids, mask)


class Copies(NamedTuple):
    """Where M positions would copy from, and whether they do.

    Attributes:
        gate: (M,) log-odds of generating: p_gen is their sigmoid (equation 17).
        weights: (M, S) probability of each source position (equation 16).
        ids: (M, S) the token there.
    """

    gate: Tensor
    weights: Tensor
    ids: Tensor


class Pointer(nn.Module):
    """Attention over the source's tokens (equation 16) and the gate (equation 17)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.gate = nn.Linear(2 * width, 1)

    def memory(self, encoded: Tensor, ids: Tensor, packing: Packing) -> CopyMemory:
        """Prepare the encoder's rows (P, D), lying as ``packing``, whose tokens are ids (B, S)."""
        keys, values = packing.split(self.key(encoded), 1), packing.split(encoded, 1)
        padded = nn.functional.pad(ids, (0, packing.width - ids.shape[1]))
        return CopyMemory(KeyValue(keys, values), padded, packing.mask(encoded.dtype))

    def forward(self, hidden: Tensor, packing: Packing, memory: CopyMemory) -> Copies:
        """Decoder rows (M, D), lying as ``packing`` -> `Copies`."""
        query = packing.split(self.query(hidden), 1)
        weights = attention_weights(query, memory.heads.key, memory.mask)  # (N, 1, T, S)
        attended = packing.join(weights @ memory.heads.value)  # (M, D), s-bar of equation 17
        gate = self.gate(torch.cat([hidden, attended], dim=1)).squeeze(1)
        ids = memory.ids.index_select(0, packing.rows // packing.shape[1])
        real = slice(packing.count)
        return Copies(gate[real].float(), packing.join(weights)[real].float(), ids[real])


class PointerLogProbs:
    """A `Distribution` that mixes generating and copying (equation 18)."""

    def __init__(self, vocabulary: LogProbs, copies: Copies) -> None:
        self._vocabulary, self._copies = vocabulary, copies

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        """Of given tokens (M,). The mean is the vocabulary's: nothing is smoothed into copying."""
        gate, weights, ids = self._copies
        generated = self._vocabulary.of(targets, with_mean)
        mass = (weights * (ids == targets[:, None])).sum(dim=1).clamp(min=_NOTHING)
        log = nn.functional.logsigmoid
        mixed = torch.logaddexp(log(gate) + generated.target, log(-gate) + mass.log())
        return TokenLogProbs(mixed, generated.mean)

    def all(self) -> Tensor:
        """(M, V) natural-log probabilities, fp32."""
        gate, weights, ids = self._copies
        generate = torch.sigmoid(gate)[:, None]
        mixed = generate * self._vocabulary.all().exp()
        return mixed.scatter_add(1, ids, (1 - generate) * weights).clamp(min=_NOTHING).log()
