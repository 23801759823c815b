"""A table of embeddings that may be narrower than the layers it feeds."""

from torch import Tensor, nn

from dialogist.nn.gradient_sink import look_up


class MappedEmbedding(nn.Embedding):
    """A table (V, ``embedding``) whose rows a linear layer maps to ``width`` where the two differ.

    (Liu et al., KDD 2019, section 3.3.2.) The layer belongs to the table: who shares the one shares
    the other.
    """

    def __init__(self, size: int, embedding: int, width: int) -> None:
        super().__init__(size, embedding)
        self.projection = nn.Linear(embedding, width) if embedding != width else None

    def forward(self, input: Tensor) -> Tensor:
        """(...) ids -> (..., width), in the number format of what makes them."""
        x = look_up(self.weight, input)
        if self.projection is None:
            return x
        mapped: Tensor = self.projection(x.to(self.projection.weight.dtype))
        return mapped
