"""Padding: additive masks, and packed rows of real tokens."""

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

# Attention masks: 0 where attention is allowed, a very large negative number where it is not.
#
# They are added to the scores (report 1, equation 1) and made from boolean masks once per forward
# pass.

BLOCKED = -1e9
"""What report 1 (Listing 1) adds to the score of a position that must not be seen."""


def additive_mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """(...) True = may be seen  ->  (...) 0 or `BLOCKED`."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(
        ~allowed, BLOCKED
    )


def look_ahead_mask(length: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """(1, 1, T, T) additive: position t sees positions 0..t."""
    allowed = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return additive_mask(allowed, dtype)[None, None]


class Masks(NamedTuple):
    """What a decoder must not see.

    Attributes:
        look_ahead: additive, broadcastable to (N, H, T, T_past + T); None where all is seen.
        memory: additive (N, 1, 1, S).
    """

    look_ahead: Tensor | None
    memory: Tensor


# `Packing`: only real tokens are computed on; attention alone sees a padded grid.
#
# Everything position-wise (projections, feed-forward, norms, dropout) works on rows (P, D), one per
# real token of the batch: no time is spent on padding. Attention needs (B, H, S, d_k); the step
# between the two is one gather, which also makes heads contiguous and rounds S up to what the
# machine's vector units like. Contiguous heads make the products of attention twice as fast as
# strided views, S a multiple of 32 makes its softmax up to 3 times as fast
# (docs/notes/2026-11-24-training-speed.md).

ROUND_TO = 32
"""Attention's lengths are rounded up to a multiple of this."""

ROWS_AT_ONCE = 256
"""Outside of training, what so many rows become on a CPU stays in the cache.

Figures: docs/notes/2026-11-24-summary-speed.md.
"""


def by_rows(function: Callable[[Tensor], Tensor], x: Tensor, at_once: int = ROWS_AT_ONCE) -> Tensor:
    """``function`` of (P, I), made from ``at_once`` rows at a time: (P, O)."""
    if len(x) <= at_once:
        return function(x)
    starts = range(0, len(x), at_once)
    return torch.cat([function(x[start : start + at_once]) for start in starts])


def row_step(count: int) -> int:
    """What the number of rows is rounded up to a multiple of: 1/32 to 1/16 of it."""
    return max(1, 1 << max(0, count.bit_length() - 5))


class Packing:
    """Where the P real positions of B padded sequences lie.

    Attributes:
        shape: (B, S) of the padded grid.
        width: S rounded up for attention; positions from S on are padding as well.
        rows: (P,) index of every real position in the flattened (B * S) grid, in order; then
            spare ones, which repeat the last and which nothing depends on. They round P up, so
            that batches of free lengths have few sizes: freed memory fits the next batch, and the
            matrix library finds the kernel it made for that size before.
        count: how many rows are real.
    """

    def __init__(self, shape: tuple[int, int], width: int, rows: Tensor, count: int) -> None:
        self.shape, self.width, self.rows, self.count = shape, width, rows, count
        self._dense = False  # rows and grid are the same numbers in the same order
        self._indices: dict[int, tuple[Tensor, Tensor, Tensor]] = {}

    @classmethod
    def of(cls, real: Tensor, round_to: int = ROUND_TO) -> "Packing":
        """From (B, S) True at real positions."""
        width = -(-real.shape[1] // round_to) * round_to
        rows = real.flatten().nonzero().squeeze(1)
        count = rows.shape[0]
        spare = -count % row_step(count)
        rows = torch.cat([rows, rows[-1:].expand(spare)])
        return cls((real.shape[0], real.shape[1]), width, rows, count)

    @classmethod
    def dense(cls, sequences: int, each: int, device: torch.device) -> "Packing":
        """``each`` real tokens in each of ``sequences``, no padding: a step of search."""
        count = sequences * each
        packing = cls((sequences, each), each, torch.arange(count, device=device), count)
        packing._dense = True
        return packing

    @classmethod
    def single(cls, sequences: int, device: torch.device) -> "Packing":
        """One real token in each of ``sequences``."""
        return cls.dense(sequences, 1, device)

    @cached_property
    def positions(self) -> Tensor:
        """(P,) the place of every row in its own sequence, from 0."""
        return self.rows % self.shape[1]

    @cached_property
    def lengths(self) -> list[int]:
        """How many real positions each of the B sequences has; their rows follow each other."""
        sequences = self.rows[: self.count] // self.shape[1]
        return torch.bincount(sequences, minlength=self.shape[0]).tolist()

    @cached_property
    def real(self) -> Tensor:
        """(B, width) True at real positions."""
        mask = torch.zeros(self.shape, dtype=torch.bool, device=self.rows.device)
        mask.view(-1)[self.rows] = True  # (a spare row repeats a real one)
        return torch.nn.functional.pad(mask, (0, self.width - self.shape[1]))

    def mask(self, dtype: torch.dtype) -> Tensor:
        """(B, 1, 1, width) additive: no query sees padding."""
        return additive_mask(self.real, dtype)[:, None, None, :]

    def pack(self, grid: Tensor) -> Tensor:
        """(B, S, ...) -> (P, ...)."""
        return grid.flatten(0, 1).index_select(0, self.rows)

    def split(self, rows: Tensor, heads: int) -> Tensor:
        """(P, H * d_k) -> (B, H, width, d_k), zero at padding."""
        batch = self.shape[0]
        if self._dense:
            return rows.view(batch, self.width, heads, -1).transpose(1, 2)
        to_grid, to_rows, holes = self._index(heads)
        flat = rows.view(-1, rows.shape[1] // heads)
        index = (to_grid, to_rows, holes, self.count * heads)
        grid: Tensor = _ToGrid.apply(flat, *index)  # type: ignore[no-untyped-call]
        return grid.view(batch, heads, self.width, -1)

    def join(self, grid: Tensor) -> Tensor:
        """(B, H, width, d_k) -> (P, H * d_k); what lies at padding is dropped."""
        batch, heads, _, key_width = grid.shape
        if self._dense:
            return grid.transpose(1, 2).reshape(batch * self.width, heads * key_width)
        to_grid, to_rows, holes = self._index(heads)
        flat = grid.reshape(-1, key_width)
        rows: Tensor = _ToRows.apply(flat, to_grid, to_rows, holes)  # type: ignore[no-untyped-call]
        return rows.view(-1, heads * key_width)

    def _index(self, heads: int) -> tuple[Tensor, Tensor, Tensor]:
        """Row of every grid place, grid place of every row, and the places without a row."""
        if heads not in self._indices:
            self._indices[heads] = self._make_index(heads)
        return self._indices[heads]

    def _make_index(self, heads: int) -> tuple[Tensor, Tensor, Tensor]:
        batch, length = self.shape
        head = torch.arange(heads, device=self.rows.device)
        sequence = self.rows // length
        # place of (row, head) in the flattened (B, H, width) grid: (P * H,)
        place = (sequence[:, None] * heads + head) * self.width + self.positions[:, None]
        to_rows = place.flatten()
        to_grid = torch.full((batch * heads * self.width,), -1, device=self.rows.device)
        real = self.count * heads  # spare rows read what they repeat, nothing reads them
        to_grid[to_rows[:real]] = torch.arange(real, device=self.rows.device)
        holes = (to_grid < 0).nonzero().squeeze(1)
        return to_grid.clamp_(min=0), to_rows, holes


def _fill_grid(rows: Tensor, to_grid: Tensor, holes: Tensor) -> Tensor:
    grid = rows.index_select(0, to_grid)
    return grid.index_fill_(0, holes, 0) if holes.shape[0] else grid


class _ToGrid(torch.autograd.Function):
    """Gather into the grid. Its gradient is a gather too, where autograd would scatter and add."""

    @staticmethod
    def forward(ctx, rows, to_grid, to_rows, holes, real):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(to_rows)
        ctx.real = real
        return _fill_grid(rows, to_grid, holes)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        (to_rows,) = ctx.saved_tensors
        rows = gradient.index_select(0, to_rows)
        rows[ctx.real :] = 0  # spare rows are not in the grid
        return rows, None, None, None, None


class _ToRows(torch.autograd.Function):
    """Gather out of the grid; the gradient at padding is zero."""

    @staticmethod
    def forward(ctx, grid, to_grid, to_rows, holes):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(to_grid, holes)
        return grid.index_select(0, to_rows)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        to_grid, holes = ctx.saved_tensors
        return _fill_grid(gradient, to_grid, holes), None, None, None
