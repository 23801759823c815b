"""`Looks`: what the model did while it wrote about a window: where it looked, how sure it was."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Shares: TypeAlias = NDArray[np.float32]
"""(T, U): of each token of a (sub-)summary, the share of each of the dialogue's utterances."""


@dataclass(frozen=True, slots=True)
class Retold:
    """A (sub-)summary said once more: where was looked for each token, and how sure the model was.

    ``shares``: (T, U). ``log_probs``: (T,) natural. The end symbol is left out of both.
    """

    shares: Shares
    log_probs: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Looks:
    """The parts of a window's best draft, said once more.

    The shares' columns are the utterances of the window alone, from number ``first`` of the
    dialogue on: what is kept of a dialogue of hours grows with its length, not with its square.
    """

    first: int
    parts: tuple[Retold, ...]

    def mean(self, part: int, tokens: tuple[int, int], utterances: int) -> NDArray[np.float32]:
        """(U,) over all of the dialogue: the mean over some tokens, zero of no tokens."""
        found = np.zeros(utterances, dtype=np.float32)
        first, last = tokens
        if first < last:
            own = self.parts[part].shares[first:last].mean(axis=0)
            found[self.first : self.first + len(own)] = own
        return found
