"""The recurrent decoder and its additive attention."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from dialogist.nn.autograd import defer_gradients
from dialogist.nn.kv_cache import selected
from dialogist.nn.packing import Packing, additive_mask
from dialogist_lab.papers.recurrent_layers import (
    Hidden,
    RecurrentStack,
    StackShape,
)

# Additive attention (Bahdanau et al. 2015), with coverage (See et al. 2017, section 2.3).
#
#     e_i = v . tanh(W_h h_i + W_s s + w_c c_i + b)     a = softmax(e)     context = sum_i a_i h_i
#
# (See et al., equations 1, 2, 3 and 11; c is the sum of all earlier a.)

_KEPT = 1 << 21
"""Up to so many elements of the energies' inner layer are kept per query: 8 MB in fp32.

There is one query per target position: what is larger is computed anew in the backward pass.
"""


class AttentionMemory(NamedTuple):
    """What is attended to, its part of the energies computed once: N rows of S positions."""

    values: Tensor  # (N, S, C) h_i
    features: Tensor  # (N, S, A) W_h h_i + b
    mask: Tensor  # (N, S) additive, fp32
    training: "TrainingPass | None" = None

    def select(self, rows: Tensor) -> "AttentionMemory":
        """The given rows, in the given order, for search."""
        return AttentionMemory(*selected(self[:3], rows))


@dataclass(frozen=True)  # no slots: tests see by a weak reference when it is freed
class TrainingPass:
    """What the steps of one pass on a CPU share: how much is real, and sums of gradients.

    Left to autograd, each step would make gradients of all features and values, to be added up.
    In fp32, tanh and products of a vector take a third of the time that they take in bf16.
    """

    lengths: Sequence[int]  # how many positions of each row are real
    sums: "_MemorySums"
    values: Tensor  # fp32, as the features
    features: Tensor


class _MemorySums:
    """What the gradients of values and features are made of."""

    def __init__(self) -> None:
        self._features: Tensor | None = None
        self._steps: list[tuple[Tensor, Tensor]] = []

    def add(self, row: int, gradient: Tensor, features: Tensor) -> None:
        """The gradient (S', A) of the first features of a row."""
        if self._features is None:
            self._features = torch.zeros_like(features)
        self._features[row, : len(gradient)] += gradient

    def keep(self, weights: Tensor, d_context: Tensor) -> None:
        """Of one step, (N, S) and (N, C): what the values' gradient is made of."""
        self._steps.append((weights, d_context))

    def gradients(self) -> tuple[Tensor | None, Tensor | None]:
        """Of values and features; the sums begin anew."""
        steps, features = self._steps, self._features
        self._steps, self._features = [], None
        if not steps or features is None:
            return None, None
        weights, contexts = (torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))
        return torch.bmm(weights.transpose(1, 2), contexts), features


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
        """(B, S, memory) states and (B, S) True at real ones, which come first."""
        values = states.to(self.memory.weight.dtype)
        features, mask = self.memory(values), additive_mask(real, torch.float32)
        if values.is_cuda or not torch.is_grad_enabled():
            return AttentionMemory(values, features, mask)
        sums = _MemorySums()
        shared = defer_gradients(sums, values.float(), features.float())
        training = TrainingPass(real.sum(dim=1).tolist(), sums, *shared)
        return AttentionMemory(values, features, mask, training)

    def forward(
        self,
        query: Tensor,
        memory: AttentionMemory,
        coverage: Tensor | None,
        rows: Sequence[int] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Attend once.

        Args:
            query: (N, query width), of any format.
            coverage: (N, S) fp32, where the layer was built for it.
            rows: in training, those that are wanted; what others get has no meaning. None: all.

        Returns:
            (N, C) context in the layer's format, and (N, S) weights in fp32: they sum to one and
            are exactly zero at padding.
        """
        projected = self.query(query.to(self.query.weight.dtype))
        v, w = self.energy.weight[0], None if self.coverage is None else self.coverage.weight[:, 0]
        seen = coverage if w is not None else None, w
        if memory.training is not None:
            some = range(len(query)) if rows is None else rows
            shared = (memory.training, some), memory.training.values, memory.training.features
            parts = (None if part is None else part.float() for part in (projected, v, *seen))
            context, weights = _Attend.apply(*shared, *parts)  # type: ignore[no-untyped-call]
            return context.to(projected.dtype), weights
        inputs = memory.features, projected, *seen, v
        if torch.is_grad_enabled() and memory.features.numel() > _KEPT:
            found = checkpoint(_energies, *inputs, use_reentrant=False, preserve_rng_state=False)
        else:
            found = _energies(*inputs)
        weights = torch.softmax(found.float() + memory.mask, dim=-1)
        context = torch.bmm(weights.to(memory.values.dtype)[:, None], memory.values)
        return context[:, 0], weights


class _Attend(torch.autograd.Function):
    """One step of a training pass on a CPU, in fp32: context (N, C) and weights (N, S).

    Row by row, what is real of it: a row's inner layer stays in the cache while it is passed over,
    and dialogues and summaries of one batch differ much in length.
    """

    @staticmethod
    def forward(ctx, shared, values, features, *given):  # type: ignore[no-untyped-def]
        ctx.set_materialize_grads(False)
        (shared, rows), (query, v, coverage, w) = shared, given
        ctx.shared, ctx.rows = shared, [n for n in rows if shared.lengths[n]]
        weights = torch.zeros(features.shape[:2], device=features.device)
        context = values.new_zeros(len(values), values.shape[2])
        for n in ctx.rows:
            real = slice(shared.lengths[n])
            covered = None if coverage is None else coverage[n, real]
            energies = _inner(features[n, real], query[n], covered, w) @ v
            weights[n, real] = torch.softmax(energies, dim=0)
            context[n] = weights[n, real] @ values[n, real]
        ctx.save_for_backward(values, features, query, v, coverage, w, weights)
        return context, weights

    @staticmethod
    def backward(ctx, d_context, d_weights):  # type: ignore[no-untyped-def]
        values, features, query, v, coverage, w, weights = ctx.saved_tensors
        shared = ctx.shared
        if d_context is None:
            d_context = values.new_zeros(len(values), values.shape[2])
        d_query, d_v = torch.zeros_like(query), torch.zeros_like(v)
        d_coverage = None if coverage is None else torch.zeros_like(coverage)
        d_w = None if w is None else torch.zeros_like(w)
        for n in ctx.rows:
            real = slice(shared.lengths[n])
            covered = None if coverage is None else coverage[n, real]
            inner = _inner(features[n, real], query[n], covered, w)  # 1.3 times the time, no memory
            a = weights[n, real]
            d_a = values[n, real] @ d_context[n]
            if d_weights is not None:
                d_a += d_weights[n, real]
            d_energy = a * (d_a - a @ d_a)
            d_v += d_energy @ inner
            # (1 - tanh^2) v_a times the gradient of the energy
            d_inner = inner.square_().mul_(-v).add_(v).mul_(d_energy[:, None])
            d_query[n] = d_inner.sum(dim=0)
            shared.sums.add(n, d_inner, features)
            if covered is not None and d_coverage is not None:
                d_coverage[n, real] = d_inner @ w
                d_w += covered @ d_inner
        shared.sums.keep(weights, d_context)
        return None, None, None, d_query, d_v, d_coverage, d_w


def _energies(*inputs: Any) -> Any:
    """v . tanh(features + query + coverage w): (N, S), of all rows at once; v is the last."""
    return _inner(*inputs[:-1]) @ inputs[-1]


def _inner(features: Tensor, query: Tensor, coverage: Tensor | None, w: Tensor | None) -> Tensor:
    """tanh(features + query + coverage w): (..., S, A), (..., A), (..., S) -> (..., S, A)."""
    total = features + query[..., None, :]
    if coverage is not None and w is not None:
        total.addcmul_(coverage.to(total.dtype)[..., None], w)
    return total.tanh_()


# The recurrent decoder: layers, and attention where it has one; for teacher forcing and search.
#
# Sources: Sutskever et al. 2014 without attention; with it Nallapati et al. 2016 and See et al.
# 2017: the cell reads the token before and the context before (zero at first), its new state
# attends.


class RecurrentOutputs(NamedTuple):
    """What the decoder makes of T target positions (N, T, ...); or of real ones alone (M, ...)."""

    embedded: Tensor  # (..., E) the decoder's input x_t
    hidden: Tensor  # (..., D) its state s_t
    context: Tensor | None = None  # (..., C)
    weights: Tensor | None = None  # (..., S) of the attention, fp32
    overlap: Tensor | None = None  # (...) sum_i min(a_i, c_i): See et al., equation 12

    def pack(self, packing: Packing) -> "RecurrentOutputs":
        """(N, T, ...) -> (M, ...), the packing's spare rows left out."""

        def rows(part: Any) -> Any:
            return None if part is None else packing.pack(part)[: packing.count]

        return RecurrentOutputs(*map(rows, self))


@dataclass(frozen=True, slots=True)
class RecurrentCells:
    """What each of N rows carries from one target position to the next."""

    hidden: Hidden
    context: Tensor | None = None  # (N, C)
    coverage: Tensor | None = None  # (N, S) the sum of all weights so far

    def select(self, rows: Tensor) -> "RecurrentCells":
        """The given rows."""
        return RecurrentCells(*selected((self.hidden, self.context, self.coverage), rows))


class RecurrentDecoder(nn.Module):
    """A stack of layers whose top state attends.

    ``shape.input`` is the width of the tokens' embeddings, ``attended`` that of the encoder's
    states, 0 without attention.
    """

    def __init__(self, shape: StackShape, attended: int, coverage: bool) -> None:
        super().__init__()
        self.layers = RecurrentStack(replace(shape, input=shape.input + attended))
        self.attention = (
            AdditiveAttention(attended, shape.hidden, shape.hidden, coverage) if attended else None
        )

    def start(
        self, hidden: Hidden, states: Tensor, real: Tensor
    ) -> tuple[RecurrentCells, AttentionMemory | None]:
        """First states, encoded positions (B, S, C) and which are real -> what `forward` takes."""
        if self.attention is None:
            return RecurrentCells(hidden), None
        memory = self.attention.remember(states, real)
        context = torch.zeros_like(memory.values[:, 0])
        coverage = None if self.attention.coverage is None else torch.zeros_like(memory.mask)
        return RecurrentCells(hidden, context, coverage), memory

    def forward(
        self,
        x: Tensor,
        cells: RecurrentCells,
        memory: AttentionMemory | None,
        real: Tensor | None = None,
    ) -> tuple[RecurrentOutputs, RecurrentCells]:
        """(N, T, E) inputs in fp32: all at once without attention, else one after the other.

        ``real``: (N, T) True at targets that are wanted, which come first; None: all are (without
        attention there is one then). What is carried on has a meaning only if all are.
        """
        if self.attention is None or memory is None:
            if real is not None:
                return RecurrentOutputs(x, self.layers(x, cells.hidden, real)), cells
            top, after = self.layers.step(x[:, 0], cells.hidden)
            return RecurrentOutputs(x, top[:, None]), RecurrentCells(after)
        steps = []
        lengths = [x.shape[1]] * len(x) if real is None else real.sum(dim=1).tolist()
        for t, fed in enumerate(x.unbind(dim=1)):  # one gradient for all, not one as large for each
            rows = [n for n, length in enumerate(lengths) if length > t]
            step, cells = self._step(fed, cells, memory, rows)
            steps.append(step)
        return RecurrentOutputs(
            x, *(torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))
        ), cells

    def _step(
        self, x: Tensor, cells: RecurrentCells, memory: AttentionMemory, rows: Sequence[int]
    ) -> tuple[tuple[Tensor, ...], RecurrentCells]:
        """(N, E) -> state (N, D), context (N, C), weights (N, S), with coverage the overlap (N,).

        And what is carried on.
        """
        assert self.attention is not None
        assert cells.context is not None
        fed = torch.cat([x, cells.context.to(x.dtype)], dim=1)
        state, hidden = self.layers.step(fed, cells.hidden)
        context, weights = self.attention(state, memory, cells.coverage, rows)
        if cells.coverage is None:
            return (state, context, weights), RecurrentCells(hidden, context)
        overlap = torch.minimum(weights, cells.coverage).sum(dim=1)
        after = RecurrentCells(hidden, context, cells.coverage + weights)
        return (state, context, weights, overlap), after
