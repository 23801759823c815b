"""Additive attention (Bahdanau et al. 2015), with coverage (See et al. 2017, section 2.3).

    e_i = v . tanh(W_h h_i + W_s s + w_c c_i + b)     a = softmax(e)     context = sum_i a_i h_i

(See et al., equations 1, 2, 3 and 11; c is the sum of all earlier a.)
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.masks import additive_mask

_KEPT = 1 << 21
"""Up to so many elements of the energies' inner layer are kept per query: 8 MB in fp32."""


class AttentionMemory(NamedTuple):
    """What is attended to, its part of the energies computed once: N rows of S positions."""

    values: Tensor  # (N, S, C) h_i
    features: Tensor  # (N, S, A) W_h h_i + b
    mask: Tensor  # (N, S) additive, fp32

    def select(self, rows: Tensor) -> "AttentionMemory":
        """The given rows, in the given order."""
        return AttentionMemory(*(part.index_select(0, rows) for part in self))


class AdditiveAttention(nn.Module):
    """One query at a time over a memory.

    ``memory`` and ``query`` are the widths of h_i and s, ``width`` is that of the energies' inner
    layer; with ``coverage`` the attention is told where it has been.
    """

    def __init__(self, memory: int, query: int, width: int, coverage: bool) -> None:
        super().__init__()
        self.memory = nn.Linear(memory, width)  # W_h and b
        self.query = nn.Linear(query, width, bias=False)  # W_s
        self.coverage = nn.Linear(1, width, bias=False) if coverage else None  # w_c
        self.energy = nn.Linear(width, 1, bias=False)  # v

    def remember(self, states: Tensor, real: Tensor) -> AttentionMemory:
        """(B, S, memory) states and (B, S) True at real ones -> what `forward` attends to."""
        values = states.to(self.memory.weight.dtype)
        return AttentionMemory(values, self.memory(values), additive_mask(real, torch.float32))

    def forward(
        self, query: Tensor, memory: AttentionMemory, coverage: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Attend once.

        Args:
            query: (N, query width), of any format.
            coverage: (N, S) fp32, where the layer was built for it.

        Returns:
            (N, C) context in the memory's format, and (N, S) weights in fp32: they sum to one and
            are exactly zero at padding.
        """
        projected = self.query(query.to(self.query.weight.dtype))
        seen = () if self.coverage is None else (coverage, self.coverage.weight[:, 0])
        found = _Energies.apply(  # type: ignore[no-untyped-call]
            memory.features, projected, self.energy.weight[0], *seen
        )
        weights = torch.softmax(found.float() + memory.mask, dim=-1)
        context = torch.bmm(weights.to(memory.values.dtype)[:, None], memory.values)
        return context[:, 0], weights


class _Energies(torch.autograd.Function):
    """v . tanh(features + query + coverage w): (N, S).

    There is one query per target position: what is too large to be kept for each of them is
    computed anew in the backward pass (1.3 times the time, measured).
    """

    @staticmethod
    def forward(ctx, features, query, v, coverage=None, w=None):  # type: ignore[no-untyped-def]
        inner = _inner(features, query, coverage, w)
        kept = inner if inner.numel() <= _KEPT else None
        ctx.save_for_backward(features, query, v, coverage, w, kept)
        return inner @ v

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        features, query, v, coverage, w, kept = ctx.saved_tensors
        inner = _inner(features, query, coverage, w) if kept is None else kept  # (N, S, A)
        d_v = gradient.flatten() @ inner.flatten(0, 1)
        # (1 - tanh^2) v_a times the gradient of the energy
        d_inner = inner.square().mul_(-v).add_(v).mul_(gradient[:, :, None])
        d_query = d_inner.sum(dim=1)
        if coverage is None:
            return d_inner, d_query, d_v, None, None
        d_w = coverage.to(v.dtype).flatten() @ d_inner.flatten(0, 1)
        return d_inner, d_query, d_v, (d_inner @ w).to(coverage.dtype), d_w


def _inner(features: Tensor, query: Tensor, coverage: Tensor | None, w: Tensor | None) -> Tensor:
    """tanh(features + query + coverage w), (N, S, A)."""
    total = features + query[:, None]
    if coverage is not None and w is not None:
        total.addcmul_(coverage.to(total.dtype)[:, :, None], w)
    return total.tanh_()
