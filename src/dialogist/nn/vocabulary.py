"""From hidden states to words: the output projection and what the loss needs of it.

A distribution over 23,000 words at 1,700 positions is 157 MB in fp32, and every pass over it costs
as much as a product of matrices. `LogProbs.of` computes it in pieces that stay in the cache, where
it is kept, in the model's own number format, and returns two numbers per position. The table itself
stays fp32; its gradient is rounded to bf16 once, as the result of one product, and adds up in fp32.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.gradient_sink import sink_of
from dialogist.nn.packing import row_step

_PIECE = 3_000_000
"""Elements of the distribution that are computed at a time: about 6 MB in bf16."""

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
    return max(_PIECE // vocabulary, width) // _PIECE_STEP * _PIECE_STEP or _PIECE_STEP
