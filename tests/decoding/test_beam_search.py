"""Tests of decoding.beam_search."""

import itertools
from collections.abc import Callable

import pytest
import torch

from dialogist.decoding import DecodingOptions
from dialogist.decoding.beam_search import blockwise_topk, length_normaliser
from dialogist.decoding.generation import generate
from dialogist.decoding.search import Hypothesis, Symbols
from dialogist.tensors import Batch

# The largest of many: what torch.topk finds, whatever the width.


@pytest.mark.parametrize("columns", [8, 63, 64, 1000, 2048, 2049, 5000, 32_773])
@pytest.mark.parametrize("count", [1, 2, 8])
def test_as_topk(columns: int, count: int) -> None:
    scores = torch.randn(5, columns, generator=torch.Generator().manual_seed(columns))
    values, places = blockwise_topk(scores, count)
    expected = scores.topk(count, dim=1)
    assert torch.equal(values, expected.values)
    assert torch.equal(places, expected.indices)


def test_few_that_are_possible() -> None:
    """Most of a row is ruled out; with equals every place is still found once."""
    scores = torch.full((2, 4096), float("-inf"))
    scores[0, [7, 8, 4095]] = torch.tensor([1.0, 3.0, 2.0])
    scores[1] = 0.5
    values, places = blockwise_topk(scores, 6)
    assert values[0, :3].tolist() == [3.0, 2.0, 1.0]
    assert places[0, :3].tolist() == [8, 4095, 7]
    assert torch.isneginf(values[0, 3:]).all()
    assert values[1].tolist() == [0.5] * 6
    for row in places.tolist():
        assert len(set(row)) == 6
    assert torch.equal(scores.gather(1, places), values)


# Beam search against brute force over every possible sequence, and what narrow beams promise.

Rows = Callable[[list[list[int]]], Batch]
WORDS = (3, 4, 5, 6)  # of a vocabulary of 7; 0, 1, 2 are padding, begin, end


def repeats(tokens: tuple[int, ...], n: int) -> bool:
    grams = [tokens[i : i + n] for i in range(len(tokens) - n + 1)]
    return n > 0 and len(set(grams)) < len(grams)


def brute_force(model: object, dialogue: int, options: DecodingOptions) -> list[Hypothesis]:
    """Every sequence there is, best first."""
    found = []
    for length in range(options.max_tokens + 1):
        for tokens in itertools.product(WORDS[: model.vocabulary - 3], repeat=length):
            if repeats(tokens, options.no_repeat_ngram):
                continue
            if length < options.max_tokens and length < options.min_tokens:
                continue
            finished = length < options.max_tokens
            spoken = (*tokens, 2) if finished else tokens
            total = sum(model.log_probs(dialogue, spoken[:i])[t] for i, t in enumerate(spoken))
            score = total / ((5 + len(spoken)) / 6) ** options.length_penalty
            found.append(Hypothesis(tokens, total, score, finished))
    return sorted(found, key=lambda h: -h.score)


@pytest.mark.parametrize("penalty", [0.0, 0.6, 1.0, 2.5])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_tokens": 3},
        {"max_tokens": 3, "min_tokens": 2},
        {"max_tokens": 3, "no_repeat_ngram": 1},
        {"max_tokens": 4, "no_repeat_ngram": 2, "min_tokens": 1},
    ],
    ids=["plain", "min", "unigram", "bigram"],
)
def test_a_full_beam_is_brute_force(
    penalty: float, limits: dict[str, int], table: type, rows: Rows, symbols: Symbols
) -> None:
    """All n_best of them, in order, with their scores, for several dialogues at once."""
    model = table(vocabulary=6 if limits["max_tokens"] == 4 else 7)
    options = DecodingOptions(beam_size=90, n_best=60, length_penalty=penalty, **limits)
    found = generate(model, rows([[0], [1], [2]]), options, symbols)
    for dialogue, hypotheses in enumerate(found):
        expected = brute_force(model, dialogue, options)[:60]
        assert len(expected) > 10
        assert [h.tokens for h in hypotheses] == [h.tokens for h in expected]
        assert [h.finished for h in hypotheses] == [h.finished for h in expected]
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in expected], abs=1e-5)
        assert [h.log_prob for h in hypotheses] == pytest.approx(
            [h.log_prob for h in expected], abs=1e-5
        )


def test_stopping_early_loses_nothing(table: type, rows: Rows, symbols: Symbols) -> None:
    """A dialogue leaves once nothing can enter its shelf: the best one is still the best one."""
    model = table(vocabulary=5, spread=3.0)
    options = DecodingOptions(beam_size=32, n_best=1, max_tokens=6, length_penalty=0.3)
    found = generate(model, rows([[d] for d in range(12)]), options, symbols)
    for dialogue, (best,) in enumerate(found):
        expected = brute_force(model, dialogue, options)[0]
        assert best.tokens == expected.tokens
        assert best.score == pytest.approx(expected.score, abs=1e-5)


def plain_beam(model: object, dialogue: int, options: DecodingOptions) -> list[Hypothesis]:
    """A narrow beam in plain Python that never stops early: K always go on, whatever ends."""
    width, shelf, beam = options.beam_size, [], [((), 0.0)]
    for _ in range(options.max_tokens):
        candidates = [
            (total + p, tokens, token)
            for tokens, total in beam
            for token, p in enumerate(model.log_probs(dialogue, tokens))
            if token >= 2
        ]
        candidates = sorted(candidates, reverse=True)[: 2 * width]
        shelf += [(tokens, total, True) for total, tokens, token in candidates if token == 2]
        going = [((*tokens, token), total) for total, tokens, token in candidates if token != 2]
        beam = going[:width]
    shelf += [(tokens, total, False) for tokens, total in beam]
    found = []
    for tokens, total, finished in shelf:
        length = len(tokens) + int(finished)
        score = total / length_normaliser(length, options.length_penalty)
        found.append(Hypothesis(tokens, total, score, finished))
    return sorted(found, key=lambda h: -h.score)[: options.n_best]


@pytest.mark.parametrize("width", [1, 2, 4])
@pytest.mark.parametrize("penalty", [0.0, 1.0, 3.0])
def test_narrow_beams_are_those_of_plain_python(
    width: int, penalty: float, table: type, rows: Rows, symbols: Symbols
) -> None:
    """An ending takes no place from those that go on, and stopping early changes nothing."""
    model = table(vocabulary=6, spread=2.0)
    options = DecodingOptions(beam_size=width, n_best=width, max_tokens=7, length_penalty=penalty)
    found = generate(model, rows([[d] for d in range(25)]), options, symbols)
    for dialogue, hypotheses in enumerate(found):
        expected = plain_beam(model, dialogue, options)
        assert [h.tokens for h in hypotheses] == [h.tokens for h in expected]
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in expected], abs=1e-5)


def test_decided_dialogues_leave(table: type, rows: Rows, symbols: Symbols) -> None:
    model = table(vocabulary=5, spread=4.0)
    options = DecodingOptions(beam_size=1, max_tokens=50, length_penalty=0.0)
    generate(model, rows([[d] for d in range(12)]), options, symbols)
    assert model.steps[0] == 12
    assert model.steps == sorted(model.steps, reverse=True)
    assert len(model.steps) < 50


@pytest.mark.parametrize("width", [2, 3, 8])
def test_n_best_is_sorted_distinct_and_consistent(
    width: int, table: type, rows: Rows, symbols: Symbols
) -> None:
    model = table()
    options = DecodingOptions(beam_size=width, n_best=width, max_tokens=5, length_penalty=0.8)
    for dialogue, hypotheses in enumerate(
        generate(model, rows([[d] for d in range(20)]), options, symbols)
    ):
        scores = [h.score for h in hypotheses]
        assert len(hypotheses) == width
        assert scores == sorted(scores, reverse=True)
        assert len({(h.tokens, h.finished) for h in hypotheses}) == width
        for h in hypotheses:  # whatever was pruned, a score is the score of its own tokens
            spoken = (*h.tokens, 2) if h.finished else h.tokens
            total = sum(model.log_probs(dialogue, spoken[:i])[t] for i, t in enumerate(spoken))
            assert h.log_prob == pytest.approx(total, abs=1e-5)
            assert h.score == pytest.approx(total / length_normaliser(len(spoken), 0.8), abs=1e-5)


def test_unfinished_is_flagged(table: type, rows: Rows, symbols: Symbols) -> None:
    options = DecodingOptions(beam_size=4, n_best=4, max_tokens=3, min_tokens=3)
    for hypotheses in generate(table(), rows([[0], [1]]), options, symbols):
        assert all(not h.finished and len(h.tokens) == 3 for h in hypotheses)


def test_a_wider_beam_is_better_on_the_whole(table: type, rows: Rows, symbols: Symbols) -> None:
    batch = rows([[d] for d in range(40)])

    def mean_score(width: int) -> float:
        options = DecodingOptions(beam_size=width, max_tokens=5, length_penalty=0.0)
        return sum(h.score for (h,) in generate(table(), batch, options, symbols)) / 40

    assert mean_score(1) < mean_score(2) < mean_score(4) <= mean_score(32) + 1e-6


def test_longer_summaries_with_a_larger_penalty(table: type, rows: Rows, symbols: Symbols) -> None:
    batch = rows([[d] for d in range(40)])

    def mean_length(penalty: float) -> float:
        options = DecodingOptions(beam_size=8, max_tokens=5, length_penalty=penalty)
        return sum(len(h.tokens) for (h,) in generate(table(), batch, options, symbols)) / 40

    assert mean_length(0.0) < mean_length(1.5) < mean_length(5.0)


def test_length_normaliser_of_wu_et_al() -> None:
    assert length_normaliser(1, 0.7) == 1.0
    assert length_normaliser(7, 1.0) == 2.0
    assert length_normaliser(19, 0.5) == 2.0
    assert length_normaliser(30, 0.0) == 1.0


def test_stopping_at_the_first_endings(table: type, rows: Rows, symbols: Symbols) -> None:
    """``early_stop``: done with the step in which the K-th hypothesis ends; what it holds is the
    best of all that ended until then, as plain Python finds it."""
    model = table(vocabulary=6, spread=2.0)
    options = DecodingOptions(beam_size=3, max_tokens=9, length_penalty=1.0, early_stop=True)
    patient = DecodingOptions(beam_size=3, max_tokens=9, length_penalty=1.0)
    differ = 0
    for dialogue in range(40):
        shelf, beam, steps = [], [((), 0.0)], 0
        while len(shelf) < 3 and steps < 9:
            steps += 1
            candidates = sorted(
                (
                    (total + p, tokens, token)
                    for tokens, total in beam
                    for token, p in enumerate(model.log_probs(dialogue, tokens))
                    if token >= 2
                ),
                reverse=True,
            )[:6]
            ended = [(total, tokens) for total, tokens, token in candidates if token == 2]
            shelf += [(t / length_normaliser(len(said) + 1, 1.0), said) for t, said in ended]
            beam = [((*said, token), t) for t, said, token in candidates if token != 2][:3]
        if len(shelf) < 3:
            shelf += [(t / length_normaliser(len(said), 1.0), said) for said, t in beam]
        model.steps.clear()
        [[found]] = generate(model, rows([[dialogue]]), options, symbols)
        assert found.tokens == max(shelf)[1]
        assert len(model.steps) <= steps  # fewer where nothing could win any more
        [[best]] = generate(model, rows([[dialogue]]), patient, symbols)
        assert best.score >= found.score - 1e-6
        differ += best.tokens != found.tokens
    assert 0 < differ < 20  # it is another search, and mostly finds the same


def test_only_those_that_are_asked_for_are_waited_for(
    table: type, rows: Rows, symbols: Symbols
) -> None:
    """One hypothesis is decided sooner than all four, and is the first of the four."""
    model, batch = table(vocabulary=6, spread=2.5), rows([[d] for d in range(20)])
    counts, found = [], []
    for n_best in (1, 4):
        model.steps.clear()
        options = DecodingOptions(beam_size=4, n_best=n_best, max_tokens=30, length_penalty=0.5)
        found.append(generate(model, batch, options, symbols))
        counts.append(sum(model.steps))
    assert [one[0] for one in found[0]] == [four[0] for four in found[1]]
    assert counts[0] < counts[1]
