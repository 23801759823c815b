"""Positions: fixed sinusoids (Vaswani et al. 2017, section 3.5) or a learned table."""

from typing import Literal

import torch
from torch import Tensor, nn

from dialogist.errors import DataError
from dialogist.nn.norm import LayerNorm

PositionKind = Literal["sinusoidal", "learned"]


def sinusoids(positions: int, width: int) -> Tensor:
    """(positions, width): sin on even, cos on odd columns; odd widths end on a sine.

    PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)).
    """
    position = torch.arange(positions, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angles = position / torch.pow(10000.0, even / width)  # (positions, ceil(width / 2))
    table = torch.zeros(positions, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles[:, : width // 2])
    return table.float()


class Positions(nn.Module):
    """Adds position vectors to embeddings, and normalises the sum as BERT does if asked to.

    ``norm_eps``: of the layer norm behind the sum; None: there is none.
    """

    table: Tensor

    def __init__(
        self, kind: PositionKind, positions: int, width: int, norm_eps: float | None = None
    ) -> None:
        super().__init__()
        self.norm = None if norm_eps is None else LayerNorm(width, eps=norm_eps)
        if kind == "learned":
            self.table = nn.Parameter(nn.init.normal_(torch.empty(positions, width), std=0.02))
        else:  # computed anew at loading: not part of the weights file
            self.register_buffer("table", torch.empty(positions, width), persistent=False)
            if not self.table.is_meta:  # there `restore` computes it, once the shape is checked
                self.restore(self.table.device)

    def restore(self, device: torch.device) -> None:
        """Compute the sinusoids anew: for a module that was built on the meta device."""
        if not isinstance(self.table, nn.Parameter):
            self.table = sinusoids(*self.table.shape).to(device)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """(P, D) and each row's position (P,), or one position for all (1,) -> (P, D)."""
        placed = x + self.table.index_select(0, positions)
        return placed if self.norm is None else self.norm(placed)

    def require(self, length: int) -> None:
        """See that sequences of ``length`` tokens fit the table.

        Raises:
            DataError: they do not.
        """
        if length > self.table.shape[0]:
            raise DataError(
                f"a sequence of {length} tokens is longer than the model's {self.table.shape[0]} "
                "positions: set a lower limit (source_tokens, summary_tokens, max_tokens)"
            )
