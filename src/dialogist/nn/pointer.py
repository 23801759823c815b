"""The pointer: copying words of the source (See et al. 2017; KDD'19 paper, section 3.4.4).

p(w) = p_gen * p_vocabulary(w) + (1 - p_gen) * sum of a_s over the source positions s that hold w.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.batch import Batch
from dialogist.nn.attention import KeyValue, attention_weights, blend
from dialogist.nn.packing import Packing
from dialogist.nn.speakers import SpeakerMatch
from dialogist.nn.vocabulary import LogProbs, TokenLogProbs

_NOTHING = 1e-30
"""A probability that stands for none where its logarithm is taken."""


class CopyMemory(NamedTuple):
    """What can be copied: N rows of S source positions.

    Attributes:
        heads: keys (N, 1, S, D), wider where who speaks is known, and as values the encoder's
            output (N, 1, S, D).
        ids: (N, S) the token at each position, unknown words told apart (`Batch.copy_ids`).
        mask: (N, 1, 1, S) additive.
        extra: E, how many words beyond the vocabulary there are.
    """

    heads: KeyValue
    ids: Tensor
    mask: Tensor
    extra: int = 0

    def select(self, rows: Tensor) -> "CopyMemory":
        """The given rows, in the given order."""
        ids, mask = self.ids.index_select(0, rows), self.mask.index_select(0, rows)
        return CopyMemory(self.heads.select(rows), ids, mask, self.extra)


class Copies(NamedTuple):
    """Where M positions would copy from, and whether they do.

    Attributes:
        gate: (M,) log-odds of generating: p_gen is their sigmoid (equation 17; See et al., 8).
        weights: (M, S) probability of each source position (equation 16; See et al., 2).
        ids: (M, S) the token there.
        extra: E, as in `CopyMemory`.
    """

    gate: Tensor
    weights: Tensor
    ids: Tensor
    extra: int = 0


class Pointer(nn.Module):
    """Attention over the source's tokens (equation 16) and the gate (equation 17).

    ``match``: it knows who speaks (`dialogist.nn.speakers`).
    """

    def __init__(self, width: int, match: bool = False) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.gate = nn.Linear(2 * width, 1)
        self.match = SpeakerMatch(1) if match else None

    def memory(
        self, encoded: Tensor, batch: Batch, packing: Packing, spoken: Tensor | None = None
    ) -> CopyMemory:
        """Prepare the encoder's rows (P, D), lying as ``packing``, for a batch's source.

        ``spoken``: (B, S, C) who says each position, if it shall know.
        """
        ids = batch.copy_ids
        keys, values = packing.split(self.key(encoded), 1), packing.split(encoded, 1)
        if self.match is not None and spoken is not None:
            keys = self.match.keys(keys, spoken)
        padded = nn.functional.pad(ids, (0, packing.width - ids.shape[1]))
        mask = packing.mask(encoded.dtype)
        return CopyMemory(KeyValue(keys, values), padded, mask, batch.extra)

    def forward(
        self, hidden: Tensor, packing: Packing, memory: CopyMemory, named: Tensor | None = None
    ) -> Copies:
        """Decoder rows (M, D), lying as ``packing`` -> `Copies`.

        ``named``: (M, 2, C) of whom is talked, if ``memory`` knows who speaks.
        """
        rows = self.query(hidden)
        if self.match is not None and named is not None:
            rows = self.match.queries(rows, named)
        query = packing.split(rows, 1)
        keys, values = memory.heads
        weights = attention_weights(query, keys, memory.mask, torch.float32)  # (N, 1, T, S)
        attended = packing.join(blend(weights.to(values.dtype), values))  # (M, D), s-bar of eq. 17
        gate = self.gate(torch.cat([hidden, attended], dim=1)).squeeze(1)
        ids = memory.ids.index_select(0, packing.rows // packing.shape[1])
        real = slice(packing.count)
        where = packing.join(weights)[real]
        return Copies(gate[real].float(), where, ids[real], memory.extra)


class GeneratorGate(nn.Module):
    """Whether a recurrent decoder generates (See et al. 2017, equation 8).

    p_gen = sigmoid(w_h . context + w_s . state + w_x . input + b). It copies by the weights of the
    attention that the decoder has already.
    """

    def __init__(self, context: int, state: int, embedding: int) -> None:
        super().__init__()
        self.gate = nn.Linear(context + state + embedding, 1)

    def forward(self, context: Tensor, state: Tensor, embedded: Tensor) -> Tensor:
        """(M, context), (M, state) and (M, embedding), of any formats -> (M,) log-odds, fp32."""
        dtype = self.gate.weight.dtype
        inputs = torch.cat([part.to(dtype) for part in (context, state, embedded)], dim=1)
        odds: Tensor = self.gate(inputs)[:, 0]
        return odds.float()


class PointerLogProbs:
    """A `Distribution` that mixes generating and copying (equation 18; See et al., 9).

    ``copies`` say what each position would copy, and how readily.
    """

    def __init__(self, vocabulary: LogProbs, copies: Copies) -> None:
        self._vocabulary, self.copies = vocabulary, copies

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        """Of given tokens (M,). The mean is the vocabulary's: nothing is smoothed into copying."""
        gate, weights, ids, _ = self.copies
        beyond = targets >= self._vocabulary.size
        generated = self._vocabulary.of(targets.masked_fill(beyond, 0), with_mean)
        vocabulary = generated.target.masked_fill(beyond, math.log(_NOTHING))
        mass = (weights * (ids == targets[:, None])).sum(dim=1).clamp(min=_NOTHING)
        log = nn.functional.logsigmoid
        mixed = torch.logaddexp(log(gate) + vocabulary, log(-gate) + mass.log())
        return TokenLogProbs(mixed, generated.mean)

    def all(self) -> Tensor:
        """(M, X) natural-log probabilities, fp32."""
        gate, weights, ids, extra = self.copies
        generate = torch.sigmoid(gate)[:, None]
        mixed = generate * self._vocabulary.probs()
        if extra:
            mixed = nn.functional.pad(mixed, (0, extra))
        # In place: each pass over the vocabulary is a good part of a step of search.
        return mixed.scatter_add_(1, ids, (1 - generate) * weights).clamp_(min=_NOTHING).log_()
