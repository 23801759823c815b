"""`State`: what search carries from step to step, whatever the model."""

from typing import Protocol, Self

from torch import Tensor


class State(Protocol):
    """The memory of N search rows (key-value caches, recurrent cells, coverage vectors ...)."""

    def select(self, rows: Tensor) -> Self:
        """The given rows (M,) in the given order: beam start, reordering, dropping the finished."""
        ...
