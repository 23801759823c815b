"""From hidden states to words: the vocabulary projection and the pointer."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.attention import KeyValue, SpeakerMatch, attention_weights, blend
from dialogist.nn.autograd import sink_of
from dialogist.nn.kv_cache import selected
from dialogist.nn.packing import Packing, row_step
from dialogist.tensors import Batch

# From hidden states to words: the output projection and what the loss needs of it.
#
# A distribution over 23,000 words at 1,700 positions is 157 MB in fp32, and every pass over it
# costs as much as a product of matrices. `LogProbs.of` computes it in pieces that stay in the
# cache, where it is kept, in the model's own number format, and returns two numbers per position.
# The table itself stays fp32; its gradient is rounded to bf16 once, as the result of one product,
# and adds up in fp32.

_PIECE = 3_000_000
"""Elements of the distribution that are computed at a time: about 6 MB in bf16."""

_PIECE_ON_GPU = 1 << 28
"""There a small product costs as much as a large one, and each piece waits for the CPU."""

_PIECE_STEP = 64
"""What the rows of a piece are a multiple of: the last pieces of batches have few sizes."""


class TokenLogProbs(NamedTuple):
    """Per target position: the log-probability of the target, and the mean over the vocabulary."""

    target: Tensor  # (M,) fp32
    mean: Tensor | None  # (M,) fp32, where it was asked for


class VocabularyProjection(nn.Linear):
    """The output layer (V, D), kept in fp32 while the model computes in bf16.

    ``working``: what computes its product once the model is not trained any more; None: itself,
    casting its weights at each use.
    """

    def __init__(self, width: int, vocabulary: int) -> None:
        super().__init__(width, vocabulary)
        self.working: nn.Module | None = None

    def logits(self, hidden: Tensor) -> Tensor:
        """(M, D) -> (M, V)."""
        if self.working is not None:
            made: Tensor = self.working(hidden)
            return made
        weight, bias = self.weight.to(hidden.dtype), self.bias.to(hidden.dtype)
        return nn.functional.linear(hidden, weight, bias)

    def log_probs(self, hidden: Tensor) -> Tensor:
        """(M, D) -> (M, V) in fp32, whatever the model computes in."""
        return torch.log_softmax(self.logits(hidden), dim=-1, dtype=torch.float32)

    def probs(self, hidden: Tensor) -> Tensor:
        """(M, D) -> (M, V) in fp32."""
        return torch.softmax(self.logits(hidden), dim=-1, dtype=torch.float32)

    def token_log_probs(self, hidden: Tensor, targets: Tensor, with_mean: bool) -> TokenLogProbs:
        """(M, D) and (M,) -> `TokenLogProbs`; never holds (M, V) in fp32."""
        keep = torch.is_grad_enabled()  # inside a `Function` it never is
        arguments = (hidden, self.weight, self.bias, targets, (with_mean, keep))
        return TokenLogProbs(*_TokenLogProbs.apply(*arguments))  # type: ignore[no-untyped-call]


class LogProbs:
    """The distributions at M positions, (M, V), computed only as far as they are asked for."""

    def __init__(self, projection: VocabularyProjection, hidden: Tensor) -> None:
        """``hidden``: (M, D)."""
        self._projection, self._hidden = projection, hidden

    @property
    def size(self) -> int:
        """V."""
        return self._projection.out_features

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        """Of the given tokens (M,); ``with_mean`` for label smoothing."""
        return self._projection.token_log_probs(self._hidden, targets, with_mean)

    def all(self) -> Tensor:
        """(M, V) natural-log probabilities in fp32."""
        return self._projection.log_probs(self._hidden)

    def probs(self) -> Tensor:
        """(M, V) probabilities in fp32."""
        return self._projection.probs(self._hidden)


class _TokenLogProbs(torch.autograd.Function):
    """log p(target) and mean log p of softmax(hidden W^T + b), with their gradients.

    d log p_t / d logits = onehot(t) - p and d mean / d logits = 1 / V - p.
    """

    @staticmethod
    def forward(ctx, hidden, weight, bias, targets, wanted):  # type: ignore[no-untyped-def]
        with_mean, keep = wanted
        w, b = weight.to(hidden.dtype), bias.to(hidden.dtype)
        count, vocabulary = hidden.shape[0], weight.shape[0]
        padded = _with_spare(hidden)
        target = torch.empty(count, dtype=torch.float32, device=hidden.device)
        mean = None
        if with_mean:  # of the logits: h (W^T 1 / V) + b 1 / V, without a pass over them
            mean = hidden.float() @ weight.float().mean(dim=0) + bias.float().mean()
        held = len(padded) if keep else min(len(padded), _piece_rows(weight))
        p = hidden.new_empty((held, vocabulary))  # logits first, then what they become
        for rows in _pieces(len(padded), weight):
            piece = p[rows] if keep else p[: rows.stop - rows.start]
            torch.addmm(b, padded[rows], w.t(), out=piece)
            real = slice(rows.start, min(rows.stop, count))
            places = targets[real, None]
            chosen = piece[: len(places)].gather(1, places).squeeze(1).float()
            torch.softmax(piece, dim=-1, out=piece)
            found = _of_targets(piece, places)
            lost = found < -80  # p is too small for its format, or nearly
            if bool(lost.any()):
                again = torch.addmm(b, hidden[real][lost], w.t()).float()
                found[lost] = chosen[lost] - torch.logsumexp(again, dim=1)
            target[real] = found
            if mean is not None:
                mean[real] -= chosen - found
        if keep:
            p[count:] = 0
            ctx.save_for_backward(padded, w, p, targets, target)
            ctx.sink = sink_of(weight)
        return target, mean

    @staticmethod
    def backward(ctx, of_target, of_mean):  # type: ignore[no-untyped-def]
        padded, w, p, targets, target = ctx.saved_tensors
        total = of_target if of_mean is None else of_target + of_mean
        share = None if of_mean is None else of_mean / p.shape[1]
        # d logits = factor * (p - ...): as few numbers as can be are multiplied in bf16, and what
        # is multiplied is small. `p` becomes d logits / factor in place: nothing of its size
        # is made again (a second backward through this is refused by autograd).
        kept = p[: len(targets)]  # the spare rows behind are zero
        used = total != 0
        factor = torch.where(used, -total, 1.0)[:, None]
        # The target's own entry is 1 - p, which bf16 cannot hold when p is close to 1.
        own = of_target - total * target.exp() + (0 if share is None else share)
        if not bool(used.all()):
            kept *= used[:, None]
        if share is not None:
            kept += (share[:, None] / factor).to(p.dtype)
        places = torch.arange(len(targets), device=targets.device)
        kept[places, targets] = (own / factor.squeeze(1)).to(p.dtype)  # `scatter_` copies all
        factor = _with_spare(factor.to(p.dtype))
        d_hidden = (p @ w)[: len(targets)] * factor[: len(targets)]
        d_weight = p.t() @ (padded * factor)
        d_bias = (factor.t() @ p)[0]  # (1, M) @ (M, V): a vector would be copied
        if ctx.sink is None:
            return d_hidden, d_weight.float(), d_bias.float(), None, None
        ctx.sink.add(d_weight)
        return d_hidden, None, d_bias.float(), None, None


def _with_spare(rows: Tensor) -> Tensor:
    """(M, D) and rows of zeros: few sizes, since the matrix library makes a kernel for each."""
    return nn.functional.pad(rows, (0, 0, 0, -len(rows) % row_step(len(rows))))


def _of_targets(p: Tensor, targets: Tensor) -> Tensor:
    """log p of the targets (M, 1): (M,) fp32. In bf16, p of the targets becomes zero.

    In bf16 nothing is between 1 and 0.996: there, what the others have says how far it is from 1.
    """
    own = p[: len(targets)].gather(1, targets).squeeze(1).float()
    if p.dtype == torch.float32:
        return own.log_()
    p[torch.arange(len(targets), device=p.device), targets.squeeze(1)] = 0
    others = p.sum(dim=1)[: len(targets)].float()  # (asking for a sum in fp32 would copy p)
    return torch.where(own > 0.5, torch.log1p(-others), own.log())


def _pieces(count: int, weight: Tensor) -> list[slice]:
    size = _piece_rows(weight)
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _piece_rows(weight: Tensor) -> int:
    """A piece stays in the cache; but with less than D rows reading W would be most of the work."""
    vocabulary, width = weight.shape
    most = _PIECE_ON_GPU if weight.is_cuda else _PIECE
    return max(most // vocabulary, width) // _PIECE_STEP * _PIECE_STEP or _PIECE_STEP


# The pointer: copying words of the source (See et al. 2017; KDD'19 paper, section 3.4.4).
#
# p(w) = p_gen * p_vocabulary(w) + (1 - p_gen) * sum of a_s over the source positions s that hold w.

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
        return CopyMemory(*selected(tuple(self), rows))


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

    ``match``: it knows who speaks (`dialogist.nn.attention`).
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


def repeated_attention(weights: Tensor, real: Tensor) -> Tensor:
    """How much each position attends again to where those before it did (See et al. 2017, 12).

    (M, S) weights at the positions that are real (B, T) -> (M,), 0 to 1.
    """
    parts = list(torch.split(weights, real.sum(dim=1).tolist()))
    each = nn.utils.rnn.pad_sequence(parts, batch_first=True)
    before = each.cumsum(dim=1) - each
    return torch.minimum(each, before).sum(dim=2)[real[:, : each.shape[1]]]


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
    """A `TokenDistribution` that mixes generating and copying (equation 18; See et al., 9).

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
