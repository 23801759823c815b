"""Tests of decoding.constraints."""

import math
import random
from collections.abc import Callable, Sequence
from itertools import pairwise

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
    PlanPrefix,
    RepetitionPenalty,
)
from dialogist.decoding.generation import generate, roll_out
from dialogist.decoding.search import (
    Greedy,
    Hypothesis,
    RowSearch,
    apply_constraints,
    standard_filters,
)
from dialogist.models.transformer import Transformer
from dialogist.tensors import Batch
from dialogist.tokenizers import PlanTokens, Symbols

# Filters against plain Python.

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


# What a plan prefix lets search say, against plain Python; whatever is found is well-formed.

PAD, BOS, EOS = 0, 1, 2
PLAN = PlanTokens(border=7, count=3)
BORDER, A, B, C = PLAN.ids
SIZE = 13  # two words behind the plan's tokens, as of a pointer
WORDS = {3, 4, 5, 6, 11, 12}
SYMBOLS = Symbols(PAD, BOS, EOS, unk=3, size=11, plan=PLAN)

Rows = Callable[[list[list[int]]], Batch]


def wanted(said: Sequence[int], most: int) -> set[int]:
    """What may follow, by the rules as they are written down."""
    labels = [token for token in said if token in (A, B, C)]
    borders = said.count(BORDER)
    if not borders:
        more = {A, B, C} - set(said[-1:]) if len(labels) < most else set()
        return more | ({BORDER} if labels else set())
    if said[-1] == BORDER:
        return WORDS
    return WORDS | ({BORDER} if borders < len(labels) else {EOS})


def allowed(prefix: list[list[int]], most: int = 5) -> list[set[int]]:
    before = torch.randn(len(prefix), SIZE)
    before[:, [PAD, BOS]] = float("-inf")  # as the filter before it leaves them
    rule = PlanPrefix(PLAN, EOS, most)
    said = torch.tensor(prefix, dtype=torch.long).view(len(prefix), -1)
    after = rule(before.clone(), said, torch.arange(len(prefix)))
    kept = after > float("-inf")
    assert torch.equal(after[kept], before[kept])
    return [set(row.nonzero()[:, 0].tolist()) for row in kept]


def test_a_plan_by_hand() -> None:
    assert allowed([[]]) == [{A, B, C}]
    assert allowed([[A], [C]]) == [{B, C, BORDER}, {A, B, BORDER}]
    assert allowed([[A, B], [A, C]], most=2) == [{BORDER}, {BORDER}]
    assert allowed([[A, BORDER]]) == [WORDS]
    rows = [[A, B, BORDER, 3], [C, BORDER, 3, 4], [A, BORDER, 4, 11]]
    assert allowed(rows) == [WORDS | {BORDER}, WORDS | {EOS}, WORDS | {EOS}]
    assert allowed([[A, B, BORDER, 3, BORDER]]) == [WORDS]


def random_prefix(chance: random.Random, length: int, most: int) -> list[int]:
    said: list[int] = []
    while len(said) < length:
        said.append(chance.choice(sorted(wanted(said, most) - {EOS})))
    return said


@pytest.mark.parametrize("most", [1, 2, 4])
def test_every_step_against_plain_python(most: int) -> None:
    chance = random.Random(most)
    for length in range(12):
        prefix = [random_prefix(chance, length, most) for _ in range(20)]
        assert allowed(prefix, most) == [wanted(said, most) for said in prefix]


def test_one_label_alone() -> None:
    rule = PlanPrefix(PlanTokens(border=3, count=1), EOS, 5)
    after = rule(torch.zeros(1, 6), torch.tensor([[4]]), torch.tensor([0]))
    assert (after[0] == 0).nonzero()[:, 0].tolist() == [3]  # never the same label again


def test_a_bound_on_labels_leaves_room_for_words() -> None:
    def most(**options: int) -> int:
        return PlanPrefix.of(PLAN, EOS, DecodingOptions.parse(options)).most

    assert most(max_tokens=100, max_key_points=4) == 4
    assert most(max_tokens=100) == 15
    assert most(max_tokens=12) == 4
    assert most(max_tokens=2) == 1


# --- the other filters ---


def kept(rule: Callable[..., Tensor], prefix: list[list[int]]) -> list[set[int]]:
    said = torch.tensor(prefix)
    after = rule(torch.zeros(len(prefix), SIZE), said, torch.arange(len(prefix)))
    return [set((row == 0).nonzero()[:, 0].tolist()) for row in after]


def test_only_words_make_the_minimum_length() -> None:
    rows = [[A, B, BORDER, 3, 4], [C, BORDER, 3, 4, 5]]
    [short, enough] = kept(MinimumLength(3, EOS, PLAN), rows)
    assert short == set(range(SIZE)) - {EOS}
    assert enough == set(range(SIZE))


def test_no_ngram_has_a_plans_tokens() -> None:
    every = set(range(SIZE))
    [one] = kept(NoRepeatNgram(1, PLAN), [[A, B, BORDER, 3]])
    assert one == every - {3}
    rows = [[A, B, A, BORDER], [A, BORDER, 3, BORDER], [A, BORDER, 3, 4], [3, 4, BORDER, 3]]
    assert kept(NoRepeatNgram(2, PLAN), rows) == [every, every, every, every - {4}]


def test_a_plans_tokens_are_not_penalised() -> None:
    before = torch.full((1, SIZE), -1.0)
    after = RepetitionPenalty(2.0, PLAN)(before, torch.tensor([[A, BORDER, 3]]), torch.tensor([0]))
    assert (after == -2).nonzero()[:, 1].tolist() == [3]
    assert (after == -1).sum() == SIZE - 1


def test_a_tokenizer_without_plans_has_no_such_filter() -> None:
    options = DecodingOptions(min_tokens=2, no_repeat_ngram=2, repetition_penalty=2.0)
    assert not any(isinstance(f, PlanPrefix) for f in standard_filters(options, Symbols(0, 1, 2)))
    found = standard_filters(options, SYMBOLS)
    assert [f.plan for f in found[1:]] == [PLAN] * 4  # type: ignore[attr-defined]


# --- search ---


def check(hypothesis: Hypothesis, options: DecodingOptions) -> None:
    """Well-formed, or as far as it was said before it was cut."""
    said: list[int] = []
    most = min(options.max_key_points, max(1, options.max_tokens // 3))
    for token in hypothesis.tokens:
        assert token in wanted(said, most)
        said.append(token)
    assert len(said) <= options.max_tokens
    if hypothesis.finished:
        labels, spans = PLAN.read(said)
        assert len(labels) == len(spans) >= 1
        assert all(start < end for start, end in spans)
        assert all(one != other for one, other in pairwise(labels))
        words = sum(end - start for start, end in spans)
        assert words >= options.min_tokens


EVERY = [
    {"strategy": "greedy"},
    {"strategy": "greedy", "no_repeat_ngram": 2},
    {"strategy": "greedy", "min_tokens": 4, "max_key_points": 2},
    {"strategy": "beam", "beam_size": 4, "n_best": 4},
    {"strategy": "beam", "beam_size": 5, "n_best": 3, "min_tokens": 3, "no_repeat_ngram": 2},
    {"strategy": "beam", "beam_size": 3, "repetition_penalty": 3.0, "max_key_points": 1},
    {"strategy": "sample", "temperature": 3.0},
    {"strategy": "sample", "temperature": 10.0, "top_k": 5, "min_tokens": 2},
]


@pytest.mark.parametrize("asked", EVERY)
@pytest.mark.parametrize("longest", [1, 2, 4, 14])
def test_whatever_is_found_is_well_formed(
    asked: dict[str, object], longest: int, table: type, rows: Rows
) -> None:
    least = min(longest, int(str(asked.get("min_tokens", 0))))
    options = DecodingOptions.parse({**asked, "max_tokens": longest, "min_tokens": least})
    batch = rows([[d] for d in range(25)])
    found = generate(table(SIZE), batch, options, SYMBOLS)
    for hypotheses in found:
        assert 1 <= len(hypotheses) <= options.n_best
        for hypothesis in hypotheses:
            check(hypothesis, options)
    if longest == 14:
        assert any(h.finished for hypotheses in found for h in hypotheses)
        plans = {PLAN.read(h.tokens)[0][0] for (h, *_) in found}
        assert len(plans) > 1
    if longest < 3:
        assert not any(h.finished for hypotheses in found for h in hypotheses)


@pytest.mark.parametrize("norm", ["pre", "pointer"])
@pytest.mark.parametrize("asked", EVERY[::3])
def test_a_network_too(
    norm: str, asked: dict[str, object], transformer: Callable[..., Transformer], rows: Rows
) -> None:
    options = DecodingOptions.parse({**asked, "max_tokens": 14})
    sources = [[1, 5, 6, 2], [1, 3, 2], [1, 4, 4, 5, 2]]
    plan = Symbols(PAD, BOS, EOS, unk=3, size=13, plan=PLAN)
    together = generate(transformer(norm), rows(sources), options, plan)
    for source, hypotheses in zip(sources, together, strict=True):
        [alone] = generate(transformer(norm), rows([source]), options, plan)
        assert [h.tokens for h in alone] == [h.tokens for h in hypotheses]
        for hypothesis in hypotheses:
            check(hypothesis, options)


def test_a_row_without_any_word_left_ends(table: type, rows: Rows) -> None:
    """Wherever it is: each of six words was said."""
    options = DecodingOptions(strategy="greedy", no_repeat_ngram=1, max_tokens=20)
    found = generate(table(SIZE), rows([[d] for d in range(25)]), options, SYMBOLS)
    stuck = [h for (h,) in found if h.tokens[-1] == BORDER]
    assert stuck
    assert all(h.finished for h in stuck)
    assert all(set(h.tokens) >= WORDS for h in stuck)


def test_roll_outs_too(table: type, rows: Rows) -> None:
    options, model = DecodingOptions(max_tokens=10), table(SIZE)
    batch = rows([[d] for d in range(10)])
    for said in roll_out(model, model.start(batch), torch.arange(10), options, SYMBOLS):
        for hypothesis in said:
            check(hypothesis, options)
