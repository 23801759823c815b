"""The exact choice of statements, against all choices."""

from itertools import combinations

import numpy as np
import pytest

from dialogist.highlights.features import REACH
from dialogist.highlights.selection import Choice


def _drawn(seed: int, count: int = 9) -> Choice:
    draw = np.random.default_rng(seed)
    near = [(i, j) for i in range(count) for j in range(count) if 0 < abs(i - j) <= REACH]
    together = {(i, j): float(draw.normal(0, 0.3)) for i, j in near if i < j}
    ties = {pair: float(draw.uniform(0, 1)) for pair in near if draw.random() < 0.3}
    words = draw.integers(1, 9, count).tolist()
    return Choice(words, draw.uniform(-0.2, 1, count), together, 20, ties)


@pytest.mark.parametrize("seed", range(12))
def test_no_other_choice_is_worth_more(seed: int) -> None:
    choice = _drawn(seed)
    usable = [i for i in range(len(choice.words)) if choice.alone[i] > 0]
    every = [c for n in range(len(usable) + 1) for c in combinations(usable, n)]
    for budget in range(choice.most + 1):
        fitting = [c for c in every if sum(choice.words[i] for i in c) <= budget]
        best = max(choice.worth(c) for c in fitting)
        chosen = choice.within(budget)
        assert sum(choice.words[i] for i in chosen) <= budget
        assert choice.worth(chosen) == pytest.approx(best)
        assert choice.values()[budget] == pytest.approx(best)


def test_what_is_changed_is_not_told_without_its_change() -> None:
    alone = np.array([0.9, 0.3])
    assert Choice([3, 3], alone, {}, 3, ties={(0, 1): 0.8}).within(3) == [1]
    assert Choice([3, 3], alone, {}, 6, ties={(0, 1): 0.8}).within(6) == [0, 1]


def test_without_candidates_nothing_is_chosen() -> None:
    choice = Choice([], np.zeros(0), {}, 10)
    assert choice.within(10) == []
    assert choice.values().tolist() == [0.0]
