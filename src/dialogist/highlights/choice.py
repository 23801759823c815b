"""Which statements a summary holds: those that tell the most facts in a budget of words."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dialogist.highlights.features import REACH
from dialogist.highlights.network import Worth

LEAST = 0.15
"""The chance below which a statement is left out even where there is room."""

STALE = 4.5
"""What the chance that a later turn changes a statement costs, as a share of its worth."""
_MUST = 1000.0  # more than all facts of a dialogue
_STATES = 1 << REACH
_NONE = -1e9


@dataclass(slots=True)
class Choice:
    """The best choices of candidates, each of so many words, for all budgets up to ``most``.

    A choice is worth the facts that it is expected to tell: those of one candidate alone, and
    those of two that it holds both. Exact: candidates are decided in their order, and what is
    known of the last `REACH` decisions is enough. ``must``: candidates that come first. ``ties``:
    what is lost where the first of two, at most `REACH` apart, is chosen without the second.
    """

    words: Sequence[int]
    worth: Worth
    most: int
    must: Collection[int] = ()
    ties: Mapping[tuple[int, int], float] = field(default_factory=dict)
    _alone: NDArray[np.float64] = field(init=False)
    _together: dict[tuple[int, int], float] = field(init=False)
    _best: NDArray[np.float64] = field(init=False)
    _before: NDArray[np.bool_] = field(init=False)

    def __post_init__(self) -> None:
        self.most = min(self.most, sum(self.words))  # all of them: more makes no difference
        fresh = np.clip(1 - STALE * self.worth.stale, 0, 1).astype(np.float64)
        usable = self.worth.key >= LEAST
        if len(usable) and not usable.any():
            usable[self.worth.key.argmax()] = True
        usable[[other for _, other in self.ties]] = True
        self._alone = np.where(usable, self.worth.alone * fresh, _NONE)
        self._alone[list(self.must)] = _MUST
        self._together = {
            (int(i), int(j)): float(probability) * min(fresh[i], fresh[j])
            for (i, j), probability in zip(self.worth.places, self.worth.together, strict=True)
        }
        self._fill()

    def values(self) -> NDArray[np.float64]:
        """What the best choice for each budget is worth, (``most`` + 1,)."""
        found: NDArray[np.float64] = self._best.max(axis=0)
        return found

    def within(self, budget: int) -> list[int]:
        """The numbers of the best candidates of at most that many words, in order."""
        found: list[int] = []
        budget = min(budget, self.most)
        state = int(self._best[:, budget].argmax())
        for i in range(len(self.words) - 1, -1, -1):
            oldest = int(self._before[i, state, budget]) << (REACH - 1)
            if state & 1:
                found.append(i)
                budget -= self.words[i]
            state = state >> 1 | oldest
        return found[::-1]

    def facts(self, chosen: Sequence[int]) -> float:
        """How many facts some candidates are expected to tell, less what they lose."""
        own = set(chosen)
        both = sum(probability for (i, j), probability in self._together.items() if {i, j} <= own)
        lost = sum(loss for (i, j), loss in self.ties.items() if i in own and j not in own)
        return float(sum(max(self._alone[i], 0.0) for i in chosen)) + both - lost

    def _fill(self) -> None:
        """Best values by the last decisions (a bit each) and budget, and which led to them."""
        self._best = np.full((_STATES, self.most + 1), _NONE)
        self._best[0] = 0.0
        self._before = np.zeros((len(self.words), _STATES, self.most + 1), dtype=np.bool_)
        for i in range(len(self.words)):
            new = np.full_like(self._best, _NONE)
            for state in range(_STATES):
                ways = [self._with(i, state, state >> 1 | old) for old in (0, _STATES >> 1)]
                self._before[i, state] = ways[1] > ways[0]
                new[state] = np.maximum(*ways)
            self._best = new

    def _with(self, i: int, state: int, before: int) -> NDArray[np.float64]:
        """Values of all budgets once candidate ``i`` leads from one state to the next."""
        held = [i - 1 - back for back in range(REACH) if before >> back & 1]
        if not state & 1:
            found: NDArray[np.float64] = self._best[before] - sum(
                self.ties.get((j, i), 0.0) for j in held
            )
            return found
        gain = self._alone[i] + sum(self._together.get((j, i), 0.0) for j in held)
        gain -= sum(
            self.ties.get((i, j), 0.0) for j in range(max(0, i - REACH), i) if j not in held
        )
        found = np.full(self.most + 1, _NONE)
        cost = self.words[i]
        if cost <= self.most:
            found[cost:] = self._best[before][: self.most + 1 - cost] + gain
        return found
