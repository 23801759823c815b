"""How widely each head looks: one number for each layer and head."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dialogist_lab.explain.choice import TITLES
from dialogist_lab.explain.explanation import AttentionMap, Explanation, entropy


@dataclass(frozen=True, slots=True)
class Focus:
    """One family of maps: for each layer and head the mean entropy of its rows, in nats.

    ``entropies``: (layers, heads). ``columns``: how many columns the widest row could attend to.
    e to the entropy is on how many columns a row's weight lies, as it were.
    """

    title: str
    layers: tuple[int, ...]
    entropies: tuple[tuple[float, ...], ...]
    columns: int

    def widths(self) -> list[list[float]]:
        """e to the entropies."""
        return [[math.exp(value) for value in row] for row in self.entropies]


def focus_of(explanation: Explanation) -> Iterator[Focus]:
    """Of all weights there are, whatever is shown; maps of several groups are put together."""
    for role, title in TITLES.items():
        maps = [m for m in explanation.maps if m.role == role and role != "coverage"]
        layers = sorted({m.layer for m in maps})
        if layers:
            rows = [_entropies([m for m in maps if m.layer == layer]) for layer in layers]
            widest = max(len(m.columns) for m in maps)
            yield Focus(title, tuple(layers), tuple(rows), widest)


def _entropies(groups: Sequence[AttentionMap]) -> tuple[float, ...]:
    """Of each head, over the rows of all groups."""
    sizes = [len(m.rows) for m in groups]
    found = np.average([entropy(m.weights) for m in groups], axis=0, weights=sizes)
    return tuple(float(value) for value in found)
