import random
from functools import cache

import pytest
import torch
from rouge_score.rouge_scorer import RougeScorer

from dialogist.objectives.self_critical import lcs_lengths, rouge_l


def plain(one: list[int], other: list[int]) -> int:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


def drawn(count: int, seed: int) -> list[list[int]]:
    chance = random.Random(seed)
    return [[chance.randrange(4) for _ in range(chance.randrange(9))] for _ in range(count)]


def test_lengths_are_those_of_the_definition() -> None:
    rows, others = drawn(300, 1), drawn(300, 2)
    one = torch.tensor([[*row, *[-1] * (9 - len(row))] for row in rows])
    other = torch.tensor([[*row, *[-2] * (9 - len(row))] for row in others])
    wanted = [plain(a, b) for a, b in zip(rows, others, strict=True)]
    assert lcs_lengths(one, other).tolist() == lcs_lengths(other, one).tolist() == wanted


def test_rouge_l_is_rouge_scores() -> None:
    scorer = RougeScorer(["rougeL"])
    candidates, references = drawn(200, 3), drawn(200, 4)
    found = rouge_l(candidates, references).tolist()
    for candidate, reference, value in zip(candidates, references, found, strict=True):
        texts = [" ".join(f"w{i}" for i in ids) for ids in (reference, candidate)]
        assert value == pytest.approx(scorer.score(*texts)["rougeL"].fmeasure, abs=1e-6)


def test_nothing_scores_nothing() -> None:
    assert rouge_l([[], [1], []], [[1], [], []]).tolist() == [0, 0, 0]
    assert rouge_l([], []).tolist() == []
