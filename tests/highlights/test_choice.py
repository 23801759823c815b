"""The exact choice of passages, against all choices."""

from itertools import combinations

import numpy as np
import pytest

from dialogist.highlights.selection import best_choice


def _worth(chosen, worth, paired):
    return sum(worth[i] + paired[i] * (i - 1 in chosen) for i in chosen)


@pytest.mark.parametrize("seed", range(12))
def test_no_other_choice_is_worth_more(seed: int) -> None:
    draw = np.random.default_rng(seed)
    words = draw.integers(1, 9, 9).tolist()
    worth, paired = draw.uniform(-0.2, 1, 9).tolist(), draw.uniform(0, 0.6, 9).tolist()
    usable = [i for i in range(9) if worth[i] > 0]
    every = [c for n in range(len(usable) + 1) for c in combinations(usable, n)]
    for budget in range(sum(words) + 3):
        fitting = [c for c in every if sum(words[i] for i in c) <= budget]
        best = max(_worth(c, worth, paired) for c in fitting)
        chosen = best_choice(words, worth, paired, budget)
        assert sum(words[i] for i in chosen) <= budget
        assert chosen == sorted(chosen)
        assert _worth(chosen, worth, paired) == pytest.approx(best)


def test_of_nothing_nothing_is_chosen() -> None:
    assert best_choice([], [], [], 10) == []
    assert best_choice([3], [0.0], [0.0], 10) == []
