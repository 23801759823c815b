"""Filters against plain Python."""

import math
import random

import pytest
import torch
from torch import Tensor

from dialogist.decoding import DecodingOptions
from dialogist.decoding.constraints import (
    AllowPerDialogue,
    Filter,
    ForbidTokens,
    MinimumLength,
    NoRepeatNgram,
    RepetitionPenalty,
)
from dialogist.decoding.search import Greedy, RowSearch, apply_constraints, standard_filters
from dialogist.tokenizers import Symbols

NONE = torch.zeros(1, dtype=torch.long)


def forbidden(rule: Filter, prefix: list[list[int]], vocabulary: int = 6) -> list[set[int]]:
    """Which tokens a filter rules out for each row; the others must keep their value."""
    before = torch.randn(len(prefix), vocabulary)
    said = torch.tensor(prefix, dtype=torch.long).view(len(prefix), -1)
    after = rule(before.clone(), said, torch.arange(len(prefix)))
    gone = after == float("-inf")
    assert torch.equal(after[~gone], before[~gone])
    return [set(row.nonzero()[:, 0].tolist()) for row in gone]


def test_forbidden_tokens() -> None:
    assert forbidden(ForbidTokens((0, 1)), [[3], [4]]) == [{0, 1}, {0, 1}]


@pytest.mark.parametrize(("said", "gone"), [(0, {2}), (1, {2}), (2, set()), (3, set())])
def test_minimum_length(said: int, gone: set[int]) -> None:
    assert forbidden(MinimumLength(2, eos=2), [[3] * said]) == [gone]


def test_allowed_per_dialogue_follows_the_owner() -> None:
    allowed = torch.tensor([[True, True, False], [False, True, True]])
    rule = AllowPerDialogue.of(allowed)
    assert rule.columns.tolist() == [0, 2]
    after = rule(torch.zeros(3, 3), torch.zeros(3, 1), torch.tensor([1, 0, 1]))
    assert (after == 0).tolist() == [allowed[1].tolist(), allowed[0].tolist(), allowed[1].tolist()]


def test_no_repeat_by_hand() -> None:
    rule = NoRepeatNgram(3)
    assert forbidden(rule, [[3, 4]]) == [set()]
    # 3 4 5 . 3 4 -> not 5;  and 3 4 3 4 . 3 4 has both 3 and (after 4 3 4) nothing of "4 3"
    assert forbidden(rule, [[3, 4, 5, 3, 4], [3, 4, 3, 3, 4]]) == [{5}, {3}]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_no_repeat_against_plain_python(n: int) -> None:
    chance = random.Random(n)
    for length in range(12):
        prefix = [[chance.randrange(3) for _ in range(length)] for _ in range(8)]
        expected = []
        for row in prefix:
            grams = {tuple(row[i : i + n]) for i in range(length - n + 1)}
            tail = tuple(row[length - n + 1 :])
            known = length >= n - 1
            expected.append({t for t in range(4) if known and (*tail, t) in grams})
        assert forbidden(NoRepeatNgram(n), prefix, vocabulary=4) == expected


def test_what_the_options_ask_for() -> None:
    symbols = Symbols(0, 1, 2)
    assert standard_filters(DecodingOptions(), symbols) == [ForbidTokens((0, 1))]
    asked = DecodingOptions(min_tokens=4, no_repeat_ngram=3)
    assert standard_filters(asked, symbols) == [
        ForbidTokens((0, 1)),
        MinimumLength(4, 2),
        NoRepeatNgram(3),
    ]


def test_filters_work_in_turn_on_what_they_are_given() -> None:
    def everything(log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        return log_probs.fill_(-1.0)

    given = torch.zeros(1, 4)
    rules = [ForbidTokens((0,)), everything]
    assert apply_constraints(given, NONE[None], NONE, rules).tolist() == [[-1.0] * 4]


def test_sums_of_greedy_search_are_the_models_not_the_filters() -> None:
    """What a filter lowers is chosen less often; a hypothesis is scored as the model would."""

    class Stateless:
        def select(self, rows: Tensor) -> "Stateless":
            return self

    class Model:
        def step(self, tokens: Tensor, state: Stateless) -> tuple[Tensor, Stateless]:
            return torch.tensor([[0.1, 0.2, 0.3, 0.4]]).log(), state

    symbols = Symbols(pad=0, bos=1, eos=2)
    rule = RepetitionPenalty(5.0)
    options = DecodingOptions(strategy="greedy", max_tokens=2)
    search = RowSearch(options, symbols, [rule], Greedy())
    (one,) = search.search(Model(), Stateless(), torch.tensor([0]))
    assert one[0].tokens == (3,)  # then the end: 0.3 is more than 0.4 to the fifth
    assert one[0].log_prob == pytest.approx(math.log(0.4) + math.log(0.3))
