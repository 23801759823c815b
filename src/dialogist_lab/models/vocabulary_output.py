"""From hidden states to words: the output layer, what the loss needs of it, and copying.

A distribution over 23,000 words at 1,700 positions is 157 MB in fp32, and every pass over it costs
as much as a product of matrices. `LogProbs.of` computes it in pieces that stay in the cache, where
it is kept in the model's own number format, and returns two numbers per position.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dialogist_lab.decoding import Rows
from dialogist_lab.models.generator import Batch, TokenLogProbs
from dialogist_lab.models.transformer_blocks import KeyValue, attention_weights, working_type

_PIECE = 3_000_000
"""Elements of the distribution that are computed at a time on a CPU: about 6 MB in bf16."""

_NOTHING = 1e-30
"""A probability that stands for none where its logarithm is taken."""


class DenseLogProbs:
    """The distributions at M positions of which all logits (M, V) are there."""

    def __init__(self, logits: Tensor) -> None:
        self.size = logits.shape[1]
        self._logits = logits

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        """Of the given tokens (M,); ``with_mean`` for label smoothing."""
        log_probs = self.all()
        mean = log_probs.mean(dim=1) if with_mean else None
        return TokenLogProbs(log_probs.gather(1, targets[:, None])[:, 0], mean)

    def all(self) -> Tensor:
        """(M, V) natural-log probabilities in fp32."""
        return torch.log_softmax(self.logits(), dim=-1, dtype=torch.float32)

    def probs(self) -> Tensor:
        """(M, V) probabilities in fp32."""
        return torch.softmax(self.logits(), dim=-1, dtype=torch.float32)

    def logits(self) -> Tensor:
        return self._logits


class LogProbs(DenseLogProbs):
    """The distributions at M positions over V words, computed only as far as they are asked for."""

    def __init__(self, projection: nn.Linear, hidden: Tensor) -> None:
        """``projection``: the output layer (V, D). ``hidden``: (M, D)."""
        self.size = projection.out_features
        self._projection = projection
        self._hidden = hidden.to(working_type(hidden.device))  # a GPU's norms give fp32

    def logits(self) -> Tensor:
        logits: Tensor = self._projection(self._hidden)
        return logits

    def of(self, targets: Tensor, with_mean: bool = False) -> TokenLogProbs:
        """Of the given tokens (M,); ``with_mean`` for label smoothing."""
        layer = self._projection
        keep = torch.is_grad_enabled()  # inside a `Function` it never is
        with torch.autocast(self._hidden.device.type, enabled=False):
            return TokenLogProbs(
                *_TokenLogProbs.apply(  # type: ignore[no-untyped-call]
                    self._hidden, layer.weight, layer.bias, targets, with_mean, keep
                )
            )


class _TokenLogProbs(torch.autograd.Function):
    """log p(target) and mean log p of softmax(hidden W^T + b), with their gradients.

    d log p_t / d logits = onehot(t) - p and d mean / d logits = 1 / V - p. The distribution p is
    kept in the number format of ``hidden``, and becomes the gradient of the logits in place.
    """

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> tuple[Tensor, Tensor | None]:
        hidden, weight, bias, targets, with_mean, keep = inputs
        w, b = weight.to(hidden.dtype), bias.to(hidden.dtype)
        count, vocabulary = hidden.shape[0], weight.shape[0]
        target = torch.empty(count, dtype=torch.float32, device=hidden.device)
        mean = None
        if with_mean:  # of the logits: h (W^T 1 / V) + b 1 / V, without a pass over them
            mean = hidden.float() @ weight.float().mean(dim=0) + bias.float().mean()
        rows = count if hidden.is_cuda else max(_PIECE // vocabulary, weight.shape[1]) // 64 * 64
        rows = max(64, rows)
        p = hidden.new_empty((count if keep else min(count, rows), vocabulary))
        for start in range(0, count, rows):
            part = slice(start, min(start + rows, count))
            piece = p[part] if keep else p[: part.stop - start]  # logits, then what they become
            torch.addmm(b, hidden[part], w.t(), out=piece)
            places = targets[part, None]
            logit = piece.gather(1, places).squeeze(1).float()
            torch.softmax(piece, dim=-1, out=piece)
            target[part] = _log_of_targets(piece, places)
            if mean is not None:
                mean[part] += target[part] - logit
        if keep:
            ctx.save_for_backward(hidden, w, p, targets, target)
        return target, mean

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor | None, ...]:
        of_target, of_mean = gradients
        hidden, w, p, targets, target = ctx.saved_tensors
        total = of_target if of_mean is None else of_target + of_mean
        # d logits = scale * (p - ...): the scale is applied to the small matrices, not to p.
        used = total != 0
        scale = torch.where(used, -total, 1.0)
        if not bool(used.all()):
            p *= used[:, None]
        # The target's own entry is 1 - p, which bf16 cannot hold when p is close to 1.
        entry = of_target - total * target.exp()
        if of_mean is not None:
            share = of_mean / p.shape[1]
            p += (share / scale)[:, None].to(p.dtype)
            entry = entry + share
        p[torch.arange(len(targets), device=targets.device), targets] = (entry / scale).to(p.dtype)
        scale = scale[:, None].to(p.dtype)
        d_hidden = (p @ w) * scale
        d_weight = p.t() @ (hidden * scale)
        d_bias = (scale.t() @ p)[0]  # (1, M) @ (M, V): a vector would be copied
        return d_hidden, d_weight.float(), d_bias.float(), None, None, None


def _log_of_targets(p: Tensor, targets: Tensor) -> Tensor:
    """log p of the targets (M, 1): (M,) fp32.

    In bf16 nothing is between 1 and 0.996: there, what the others have says how far it is from 1.
    """
    probs = p.gather(1, targets).squeeze(1).float()
    logs = probs.clamp(min=torch.finfo(torch.float32).tiny).log()
    sure = (probs > 0.5).nonzero()[:, 0]
    if p.dtype != torch.float32 and len(sure):
        others = p[sure].scatter(1, targets[sure], 0).sum(dim=1, dtype=torch.float32)
        logs[sure] = torch.log1p(-others.clamp(max=0.9))
    return logs


@dataclass(frozen=True, slots=True)
class CopyMemory(Rows):
    """What can be copied: N rows of S source positions."""

    heads: KeyValue  # keys (N, 1, S, D), and as values the encoder's output (N, 1, S, D)
    ids: Tensor  # (N, S) the token at each position, unknown words told apart (`Batch.copy_ids`)
    visible: Tensor  # (N, 1, 1, S) True where real
    extra: int  # E, how many words beyond the vocabulary there are


class Copies(NamedTuple):
    """Where M positions would copy from, and whether they do.

    (KDD'19 paper, equations 16 and 17; See et al. 2017, 2 and 8.)
    """

    gate: Tensor  # (M,) log-odds of generating: p_gen is their sigmoid
    weights: Tensor  # (M, S) probability of each source position
    ids: Tensor  # (M, S) the token there
    extra: int  # E, as in `CopyMemory`


class Pointer(nn.Module):
    """Attention over the source's tokens (KDD'19 paper, equation 16) and the gate (17)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.gate = nn.Linear(2 * width, 1)

    def memory(self, encoded: Tensor, batch: Batch) -> CopyMemory:
        """From the encoder's output (B, S, D)."""
        heads = KeyValue(self.key(encoded)[:, None], encoded[:, None])
        return CopyMemory(heads, batch.copy_ids, batch.source_mask[:, None, None, :], batch.extra)

    def forward(self, hidden: Tensor, memory: CopyMemory, real: Tensor) -> Copies:
        """Decoder states (N, T, D) -> `Copies` at the M positions that are ``real`` (N, T)."""
        query = self.query(hidden)[:, None]
        weights = attention_weights(query, memory.heads.key, memory.visible, torch.float32)
        attended = weights.to(hidden.dtype) @ memory.heads.value  # (N, 1, T, D), s-bar of eq. 17
        gate = self.gate(torch.cat([hidden, attended[:, 0]], dim=2)).squeeze(2)
        ids = memory.ids[:, None].expand(-1, hidden.shape[1], -1)
        return Copies(gate[real].float(), weights[:, 0][real], ids[real], memory.extra)


class PointerLogProbs:
    """p(w) = p_gen p_vocabulary(w) + (1 - p_gen) sum of a_s over the positions s that hold w.

    (KDD'19 paper, equation 18; See et al. 2017, 9.) A `TokenDistribution`.
    """

    def __init__(self, vocabulary: DenseLogProbs, copies: Copies) -> None:
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
        mixed = nn.functional.pad(generate * self._vocabulary.probs(), (0, extra))
        return mixed.scatter_add(1, ids, (1 - generate) * weights).clamp(min=_NOTHING).log()
