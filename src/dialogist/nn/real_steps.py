"""Recurrent layers over sequences of unlike lengths, without work on padding.

torch's packed sequences leave padding out, too, but not by oneDNN's kernels: forward and backward
of a bidirectional LSTM on (16, 250, 256) took one core 1,060 ms so, 175 ms as padded layers. Here
the rows are sorted, the longest first, and the layer runs piece by piece, a few steps at a time, on
the rows that are not over yet.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

_PIECE = 32
"""Steps of a piece. All have as many: oneDNN makes, and keeps, kernels for each size there is."""


@dataclass(frozen=True, slots=True)
class RealSteps:
    """Which of B rows of S steps are real, for layers that go from step to step.

    ``order``: (B,) the rows, the longest first, and ``back``, which undoes it. ``pieces``: how many
    rows go on in each piece, in that order; they may end before S. None: all at once.
    """

    width: int
    pieces: tuple[int, ...] | None = None
    order: Tensor | None = None
    back: Tensor | None = None

    @classmethod
    def of(cls, lengths: Tensor, width: int) -> "RealSteps":
        """Of (B,) lengths, each up to S. On a GPU all at once: nothing waits for the CPU."""
        if lengths.is_cuda:
            return cls(width)
        found = torch.sort(lengths, descending=True, stable=True)
        # Of padding alone there is something to run as well: (B, 1) at least.
        ends = [max(length, 1) for length in found.values.tolist()]
        pieces = tuple(sum(end > start for end in ends) for start in range(0, max(ends), _PIECE))
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
        if self.pieces is None:
            found: Tensor = layer(x, _given(layer, before, len(x)))[0]
            return found
        steps = _PIECE * len(self.pieces)
        x = nn.functional.pad(x, (0, 0, 0, steps - self.width))  # cut where that is negative
        outputs = []
        for part, rows in zip(torch.split(x, _PIECE, dim=1), self.pieces, strict=True):
            y, after = layer(part[:rows], _given(layer, before, rows))
            before = tuple(state[0] for state in (after if isinstance(after, tuple) else (after,)))
            outputs.append(nn.functional.pad(y, (0, 0, 0, 0, 0, len(x) - rows)))
        return nn.functional.pad(torch.cat(outputs, dim=1), (0, 0, 0, self.width - steps))


def _given(
    layer: nn.RNNBase, before: tuple[Tensor, ...] | None, rows: int
) -> Tensor | tuple[Tensor, ...] | None:
    """The state before, of the first rows, as torch wants it: (1, N, D)."""
    if before is None:
        return None
    states = tuple(state[None, :rows].contiguous() for state in before)
    return states if isinstance(layer, nn.LSTM) else states[0]
