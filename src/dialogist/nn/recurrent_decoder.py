"""The recurrent decoder: layers, and attention where it has one; for teacher forcing and search.

Sources: Cho et al. 2014 without attention; with it Nallapati et al. 2016 and See et al. 2017: the
cell reads the token before and the context before (zero at first), its new state attends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.additive import AdditiveAttention, AttentionMemory
from dialogist.nn.packing import Packing
from dialogist.nn.recurrent import Cell, Hidden, RecurrentStack, StackShape, select_hidden


class Decoded(NamedTuple):
    """What the decoder makes of T target positions (N, T, ...); or of real ones alone (M, ...)."""

    embedded: Tensor  # (..., E) the decoder's input x_t
    hidden: Tensor  # (..., D) its state s_t
    context: Tensor | None = None  # (..., C)
    weights: Tensor | None = None  # (..., S) of the attention, fp32
    overlap: Tensor | None = None  # (...) sum_i min(a_i, c_i): See et al., equation 12

    def pack(self, packing: Packing) -> "Decoded":
        """(N, T, ...) -> (M, ...), the packing's spare rows left out."""

        def rows(part: Tensor) -> Tensor:
            return packing.pack(part)[: packing.count]

        context, weights, overlap = (
            None if part is None else rows(part)
            for part in (self.context, self.weights, self.overlap)
        )
        return Decoded(rows(self.embedded), rows(self.hidden), context, weights, overlap)


@dataclass(frozen=True, slots=True)
class Cells:
    """What each of N rows carries from one target position to the next."""

    hidden: Hidden
    context: Tensor | None = None  # (N, C)
    coverage: Tensor | None = None  # (N, S) the sum of all weights so far

    def select(self, rows: Tensor) -> "Cells":
        """The given rows."""
        context, coverage = (
            None if part is None else part.index_select(0, rows)
            for part in (self.context, self.coverage)
        )
        return Cells(select_hidden(self.hidden, rows), context, coverage)


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
    ) -> tuple[Cells, AttentionMemory | None]:
        """First states, encoded positions (B, S, C) and which are real -> what `forward` takes."""
        if self.attention is None:
            return Cells(hidden), None
        memory = self.attention.remember(states, real)
        context = torch.zeros_like(memory.values[:, 0])
        coverage = None if self.attention.coverage is None else torch.zeros_like(memory.mask)
        return Cells(hidden, context, coverage), memory

    def forward(
        self,
        x: Tensor,
        cells: Cells,
        memory: AttentionMemory | None,
        real: Tensor | None = None,
    ) -> tuple[Decoded, Cells]:
        """(N, T, E) inputs in fp32: all at once without attention, else one after the other.

        ``real``: (N, T) True at targets that are wanted, which come first; None: all are. What is
        carried on has a meaning only if all are.
        """
        if self.attention is None or memory is None:
            if real is not None:
                return Decoded(x, self.layers.read(x, cells.hidden, real)), cells
            hidden, after = self.layers(x, cells.hidden)
            return Decoded(x, hidden), Cells(after)
        steps = []
        layers = self.layers.cells(training=torch.is_grad_enabled())
        lengths = [x.shape[1]] * len(x) if real is None else real.sum(dim=1).tolist()
        for t, fed in enumerate(x.unbind(dim=1)):  # one gradient for all, not one as large for each
            rows = [n for n, length in enumerate(lengths) if length > t]
            step, cells = self._step(layers, fed, cells, memory, rows)
            steps.append(step)
        return Decoded(x, *(torch.stack(parts, dim=1) for parts in zip(*steps, strict=True))), cells

    def _step(
        self,
        layers: Sequence[Cell],
        x: Tensor,
        cells: Cells,
        memory: AttentionMemory,
        rows: Sequence[int],
    ) -> tuple[tuple[Tensor, ...], Cells]:
        """(N, E) -> state (N, D), context (N, C), weights (N, S), with coverage the overlap (N,).

        And what is carried on.
        """
        assert self.attention is not None
        assert cells.context is not None
        fed = torch.cat([x, cells.context.to(x.dtype)], dim=1)
        state, hidden = self.layers.step(fed, cells.hidden, layers)
        context, weights = self.attention(state, memory, cells.coverage, rows)
        if cells.coverage is None:
            return (state, context, weights), Cells(hidden, context)
        overlap = torch.minimum(weights, cells.coverage).sum(dim=1)
        after = Cells(hidden, context, cells.coverage + weights)
        return (state, context, weights, overlap), after
