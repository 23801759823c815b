"""How much the units of a dialogue share of their rare words: with those around each."""

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from dialogist.selection.terms import Rarity

_REACH = 60  # units back that are compared: the time of a long dialogue stays linear


@dataclass(slots=True)
class Likeness:
    """``of[i][j]``: the cosine of units ``i`` and ``j``, of those that share something."""

    weights: list[dict[str, float]] = field(default_factory=list)
    of: list[dict[int, float]] = field(default_factory=list)

    @classmethod
    def between(cls, terms: Sequence[Sequence[str]], rarity: Rarity) -> "Likeness":
        """Of units with these terms."""
        weights = [{term: rarity.of(term) for term in own} for own in terms]
        norms = [math.sqrt(sum(w * w for w in own.values())) or 1.0 for own in weights]
        found: list[dict[int, float]] = [{} for _ in weights]
        places: dict[str, deque[int]] = defaultdict(deque)
        for i, own in enumerate(weights):
            for term, weight in own.items():
                before = places[term]
                while before and before[0] < i - _REACH:
                    before.popleft()
                for j in before:
                    shared = weight * weight / (norms[i] * norms[j])
                    found[i][j] = found[j][i] = found[i].get(j, 0.0) + shared
                before.append(i)
        return cls(weights, found)

    def most(self, i: int, others: Sequence[int]) -> float:
        """The most that a unit shares with one of the others."""
        return max((self.of[i].get(j, 0.0) for j in others), default=0.0)
