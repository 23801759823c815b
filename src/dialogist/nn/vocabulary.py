"""From hidden states to words: the output projection and what the loss needs of it.

A distribution over 23,000 words at 1,700 positions is 157 MB in fp32, and every pass over it costs
as much as a product of matrices. `LogProbs.of` computes it in pieces that stay in the cache,
keeps the probabilities once, in the model's own number format, and returns two numbers per
position. The table itself stays fp32; its gradient is rounded to bf16 once, as the result of one
product, and adds up in fp32.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

_ROUND_ROWS = 256
"""What the number of kept rows is rounded up to a multiple of."""

_PIECE = 3_000_000
"""Elements of the distribution that are computed at a time: about 6 MB in bf16."""


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
        held = -(-count // _ROUND_ROWS) * _ROUND_ROWS  # like sizes: freed memory fits the next
        kept = hidden.new_empty((held if keep else 0, vocabulary))[:count]
        target = torch.empty(count, dtype=torch.float32, device=hidden.device)
        mean = torch.empty_like(target) if with_mean else None
        logits = hidden.new_empty((_piece_rows(vocabulary), vocabulary))
        p = torch.empty_like(logits, dtype=torch.float32)
        for rows in _pieces(count, vocabulary):
            here = slice(rows.stop - rows.start)
            torch.addmm(b, hidden[rows], w.t(), out=logits[here])
            p[here].copy_(logits[here])
            torch.softmax(p[here], dim=-1, out=p[here])
            found = _of_targets(p[here], logits[here], targets[rows, None])
            target[rows], normaliser = found
            if mean is not None:
                mean[rows] = logits[here].mean(dim=1, dtype=torch.float32) - normaliser
            if keep:
                kept[rows].copy_(p[here])
        ctx.save_for_backward(hidden, w, kept, targets, target)
        return target, mean

    @staticmethod
    def backward(ctx, of_target, of_mean):  # type: ignore[no-untyped-def]
        hidden, w, kept, targets, target = ctx.saved_tensors
        total = of_target if of_mean is None else of_target + of_mean
        share = None if of_mean is None else of_mean / kept.shape[1]
        # d logits = factor * (p - ...): as few numbers as can be are multiplied in bf16, and what
        # is multiplied is small. `kept` becomes d logits / factor in place: nothing of its size
        # is made again (a second backward through this is refused by autograd).
        used = total != 0
        factor = torch.where(used, -total, 1.0)[:, None]
        # The target's own entry is 1 - p, which bf16 cannot hold when p is close to 1.
        own = of_target - total * target.exp() + (0 if share is None else share)
        if not bool(used.all()):
            kept *= used[:, None]
        if share is not None:
            kept += (share[:, None] / factor).to(kept.dtype)
        places = torch.arange(targets.shape[0], device=targets.device)
        kept[places, targets] = (own / factor.squeeze(1)).to(kept.dtype)  # `scatter_` copies all
        d_hidden = (kept @ w) * factor.to(kept.dtype)
        d_weight = kept.t() @ (hidden * factor.to(kept.dtype))
        d_bias = factor.t().to(kept.dtype) @ kept  # (1, M) @ (M, V): a vector would be copied
        return d_hidden, d_weight.float(), d_bias[0].float(), None, None


def _of_targets(p: Tensor, logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """log p of the targets (M, 1), and the normaliser log sum exp(logits), (M,) each."""
    target = p.gather(1, targets).squeeze(1).log_()
    chosen = logits.gather(1, targets).squeeze(1).float()
    normaliser = chosen - target
    lost = target < -80  # p is too small for fp32, or nearly
    if bool(lost.any()):
        normaliser[lost] = torch.logsumexp(logits[lost].float(), dim=1)
        target[lost] = chosen[lost] - normaliser[lost]
    return target, normaliser


def _pieces(count: int, vocabulary: int) -> list[slice]:
    size = _piece_rows(vocabulary)
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def _piece_rows(vocabulary: int) -> int:
    return max(64, _PIECE // vocabulary)
