"""Recurrent layers over sequences of unlike lengths, without work on padding.

torch's packed sequences leave padding out, too, but not by oneDNN's kernels: forward and backward
of a bidirectional LSTM on (16, 250, 256) took one core 1,060 ms so, 175 ms as padded layers. Here
the rows are sorted, the longest first, and the layer runs piece by piece, a few steps at a time, on
the rows that are not over yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

_PIECE = 32
"""Steps of a piece at least: with each, oneDNN lays out the weights anew."""


@dataclass(frozen=True, slots=True)
class RealSteps:
    """Which of B rows of S steps are real, for layers that go from step to step.

    ``order``: (B,) the rows, the longest first, and ``back``, which undoes it; None where rows stay
    as they are. ``pieces``: steps and rows of each piece, in that order; they may end before S.
    """

    width: int
    pieces: tuple[tuple[int, int], ...]
    order: Tensor | None = None
    back: Tensor | None = None

    @classmethod
    def of(cls, lengths: Tensor, width: int) -> "RealSteps":
        """Of (B,) lengths, each up to S. On a GPU all is one piece: nothing waits for the CPU."""
        rows = len(lengths)
        if lengths.is_cuda:
            return cls(width, ((width, rows),))
        found = torch.sort(lengths, descending=True, stable=True)
        pieces = _pieces(found.values.tolist(), width)
        if len(pieces) == 1 and pieces[0][1] == rows:
            return cls(width, pieces)
        return cls(width, pieces, found.indices, found.indices.argsort())

    def sort(self, x: Tensor) -> Tensor:
        """(B, ...) as `run` takes them."""
        return x if self.order is None else x.index_select(0, self.order)

    def unsort(self, x: Tensor) -> Tensor:
        """(B, ...) as they were."""
        return x if self.back is None else x.index_select(0, self.back)

    def run(self, layer: nn.RNNBase, x: Tensor, before: tuple[Tensor, ...] | None = None) -> Tensor:
        """(B, S, E) sorted, and the layer's state before (N, D) -> (B, S, D).

        What stands at padding has no meaning; zero behind a row's last piece.
        """
        if len(self.pieces) == 1 and self.pieces[0] == (self.width, len(x)):
            found: Tensor = layer(x, _given(layer, before, len(x)))[0]
            return found
        sizes = [steps for steps, _ in self.pieces]
        parts = torch.split(x, [*sizes, self.width - sum(sizes)], dim=1)
        outputs = []
        for part, (_, rows) in zip(parts, self.pieces, strict=False):
            y, after = layer(part[:rows], _given(layer, before, rows))
            before = tuple(state[0] for state in (after if isinstance(after, tuple) else (after,)))
            outputs.append(nn.functional.pad(y, (0, 0, 0, 0, 0, len(x) - rows)))
        outputs.append(y.new_zeros(len(x), self.width - sum(sizes), y.shape[2]))
        return torch.cat(outputs, dim=1)


def _given(
    layer: nn.RNNBase, before: tuple[Tensor, ...] | None, rows: int
) -> Tensor | tuple[Tensor, ...] | None:
    """The state before, of the first rows, as torch wants it: (1, N, D)."""
    if before is None:
        return None
    states = tuple(state[None, :rows].contiguous() for state in before)
    return states if isinstance(layer, nn.LSTM) else states[0]


def _pieces(lengths: Sequence[int], width: int) -> tuple[tuple[int, int], ...]:
    """Steps and rows of each piece; ``lengths`` are sorted, the longest first."""
    pieces: list[tuple[int, int]] = []
    for start in range(0, max(lengths[0], 1), _PIECE):
        steps = min(_PIECE, width - start)
        rows = sum(length > start for length in lengths) or 1  # one of padding alone is run, too
        if pieces and pieces[-1][1] == rows:
            pieces[-1] = pieces[-1][0] + steps, rows
        else:
            pieces.append((steps, rows))
    return tuple(pieces)
