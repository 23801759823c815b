"""From token ids to the layers' input: a table, a scale, positions, dropout."""

import math

import torch
from torch import Tensor, nn

from dialogist.nn.dropout import Dropout
from dialogist.nn.mapped_embedding import MappedEmbedding
from dialogist.nn.positional import Positions


class TokenEmbedding(nn.Module):
    """Rows of token ids (P,) -> (P, D).

    ``table`` may be shared with others. Its vectors are scaled by sqrt(D) before the positions are
    added (Vaswani et al. 2017, section 3.4).
    """

    def __init__(self, table: MappedEmbedding, width: int, positions: int, dropout: float) -> None:
        super().__init__()
        self.table = table
        self.scale = math.sqrt(width)
        self.positions = Positions("sinusoidal", positions, width)
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, places: Tensor, dtype: torch.dtype) -> Tensor:
        """(P,) ids at the positions ``places`` -> (P, D) in the layers' number format."""
        return self.place(self.vectors(ids, dtype), places)

    def vectors(self, ids: Tensor, dtype: torch.dtype) -> Tensor:
        """(P,) -> (P, D), without positions."""
        x: Tensor = self.table(ids)
        return (x * self.scale).to(dtype)

    def place(self, x: Tensor, places: Tensor) -> Tensor:
        """(P, D) and where each row stands -> (P, D) with positions, and with dropout."""
        placed: Tensor = self.dropout(self.positions(x, places).to(x.dtype))
        return placed
