"""Search in general: greedy, sampling, cache, neighbours, lengths."""

import math
from collections import Counter
from collections.abc import Callable

import pytest
import torch
from bench.uncached_model import UncachedModel

from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate
from dialogist.decoding.search import Hypothesis, Sampling, Symbols
from dialogist.errors import ConfigError
from dialogist.models.transformer import Transformer
from dialogist.tensors import Batch

Rows = Callable[[list[list[int]]], Batch]
Model = Callable[..., Transformer]
SOURCES = [[1, 5, 6, 7, 8, 2], [1, 9, 2], [1, 4, 4, 10, 2], [1, 11, 12, 3, 2], [1, 3, 2]]


def close(one: list[list[Hypothesis]], other: list[list[Hypothesis]]) -> None:
    for a, b in zip(one, other, strict=True):
        assert [h.tokens for h in a] == [h.tokens for h in b]
        assert [h.finished for h in a] == [h.finished for h in b]
        assert [h.log_prob for h in a] == pytest.approx([h.log_prob for h in b], abs=1e-5)
        assert [h.score for h in a] == pytest.approx([h.score for h in b], abs=1e-5)


def test_greedy_by_hand(table: type, rows: Rows, symbols: Symbols) -> None:
    model = table()
    options = DecodingOptions(strategy="greedy", max_tokens=6)
    found = generate(model, rows([[d] for d in range(20)]), options, symbols)
    lengths = set()
    for dialogue, (hypothesis,) in enumerate(found):
        prefix, total, finished = (), 0.0, False
        while len(prefix) < 6 and not finished:
            log_probs = model.log_probs(dialogue, prefix)
            token = max(range(2, 7), key=lambda t: log_probs[t])
            total += log_probs[token]
            finished = token == symbols.eos
            prefix = prefix if finished else (*prefix, token)
        assert hypothesis.tokens == prefix
        assert hypothesis.finished == finished
        assert hypothesis.log_prob == pytest.approx(total, abs=1e-5)
        assert hypothesis.score == hypothesis.log_prob
        assert hypothesis.mean_log_prob == pytest.approx(total / (len(prefix) + finished), abs=1e-5)
        lengths.add((len(prefix), finished))
    assert {finished for _, finished in lengths} == {True, False}
    assert len(lengths) > 3  # rows do leave at different times
    assert model.steps == sorted(model.steps, reverse=True)
    assert model.steps[-1] < 20  # and the finished cost nothing any more


def test_greedy_is_a_beam_of_one(table: type, rows: Rows, symbols: Symbols) -> None:
    """Without length penalty and with the end out of reach, there is nothing to rank."""
    batch = rows([[d] for d in range(30)])
    limits = {"min_tokens": 5, "max_tokens": 5, "length_penalty": 0.0}
    greedy = generate(table(), batch, DecodingOptions(strategy="greedy", **limits), symbols)
    beam = DecodingOptions(strategy="beam", beam_size=1, **limits)
    close(greedy, generate(table(), batch, beam, symbols))


@pytest.mark.parametrize("norm", ["post", "pre", "pointer"])
def test_cached_is_uncached(
    norm: str, strategy: DecodingOptions, transformer: Model, rows: Rows, symbols: Symbols
) -> None:
    model, batch = transformer(norm), rows(SOURCES)
    cached = generate(model, batch, strategy, symbols)
    close(cached, generate(UncachedModel(model), batch, strategy, symbols))
    assert len({h.tokens for (h, *_) in cached}) > 1


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_and_order_do_not_matter(
    seed: int, strategy: DecodingOptions, transformer: Model, rows: Rows, symbols: Symbols
) -> None:
    model = transformer("pre" if seed else "post", seed)
    together = generate(model, rows(SOURCES), strategy, symbols)
    alone = [generate(model, rows([row]), strategy, symbols)[0] for row in SOURCES]
    close(together, alone)
    order = [3, 0, 4, 1, 2]
    shuffled = generate(model, rows([SOURCES[i] for i in order]), strategy, symbols)
    close([together[i] for i in order], shuffled)
    doubled = generate(model, rows([*SOURCES, *SOURCES]), strategy, symbols)
    close([*together, *together], doubled)


def test_lengths_and_symbols_are_honoured(
    strategy: DecodingOptions, table: type, rows: Rows, symbols: Symbols
) -> None:
    options = strategy.model_copy(update={"min_tokens": 2, "max_tokens": 5})
    found = generate(table(spread=2.5), rows([[d] for d in range(60)]), options, symbols)
    hypotheses = [h for one in found for h in one]
    for h in hypotheses:
        assert 2 <= len(h.tokens) <= 5
        assert not {symbols.pad, symbols.bos, symbols.eos} & set(h.tokens)
        assert h.finished or len(h.tokens) == 5
    assert {len(h.tokens) for h in hypotheses} >= {2, 5}
    assert {h.finished for h in hypotheses} == {True, False}


def test_padding_and_begin_would_be_chosen_without_the_filter(table: type) -> None:
    """Else the test above could not fail."""
    model = table(spread=2.5)
    best = [max(range(7), key=lambda t, d=d: model.log_probs(d, ())[t]) for d in range(60)]
    assert {0, 1} <= set(best)


def test_one_token_at_most(
    strategy: DecodingOptions, table: type, rows: Rows, symbols: Symbols
) -> None:
    options = strategy.model_copy(update={"max_tokens": 1})
    found = generate(table(), rows([[d] for d in range(20)]), options, symbols)
    assert all(len(h.tokens) == int(not h.finished) for one in found for h in one)


def test_the_model_is_put_in_evaluation_mode_without_gradients(
    strategy: DecodingOptions, transformer: Model, rows: Rows, symbols: Symbols
) -> None:
    model = transformer().train()
    first = generate(model, rows(SOURCES), strategy, symbols)
    assert not model.training
    assert first == generate(model, rows(SOURCES), strategy, symbols)
    assert torch.is_grad_enabled()


# --- sampling ---


def sampled(seed: int, model: object, batch: Batch, symbols: Symbols) -> list[tuple[int, ...]]:
    options = DecodingOptions(strategy="sample", max_tokens=5, seed=seed)
    return [h.tokens for (h,) in generate(model, batch, options, symbols)]


def test_sampling_is_reproducible_by_its_seed(table: type, rows: Rows, symbols: Symbols) -> None:
    model, batch = table(), rows([[d] for d in range(10)])
    torch.manual_seed(0)
    first = sampled(1, model, batch, symbols)
    torch.manual_seed(99)
    state = torch.get_rng_state()
    assert sampled(1, model, batch, symbols) == first
    assert torch.equal(torch.get_rng_state(), state)  # training's generator is left alone
    assert sampled(2, model, batch, symbols) != first


@pytest.mark.parametrize("narrow", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 0.001}])
def test_narrowed_to_the_best_token_it_is_greedy(
    narrow: dict[str, float], table: type, rows: Rows, symbols: Symbols
) -> None:
    batch = rows([[d] for d in range(30)])
    options = DecodingOptions(strategy="sample", max_tokens=6, **narrow)
    greedy = DecodingOptions(strategy="greedy", max_tokens=6)
    close(
        generate(table(), batch, options, symbols),
        generate(table(), batch, greedy, symbols),
    )


def draw(scores: list[float], draws: int = 20_000, **options: float) -> list[float]:
    """How often each token is drawn."""
    choose = Sampling(DecodingOptions(strategy="sample", **options), 1)
    table = torch.tensor(scores).expand(draws, -1)
    tokens = choose(table, torch.zeros(draws, dtype=torch.long))
    return (torch.bincount(tokens, minlength=len(scores)) / draws).tolist()


CHANCES = [0.1, 0.4, 0.05, 0.25, 0.2]
LOGS = [math.log(p) for p in CHANCES]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, CHANCES),
        ({"temperature": 2.0}, [p**0.5 for p in CHANCES]),
        ({"temperature": 0.5}, [p**2 for p in CHANCES]),
        ({"top_k": 2}, [0, 0.4, 0, 0.25, 0]),
        ({"top_k": 99}, CHANCES),
        ({"top_p": 0.6}, [0, 0.4, 0, 0.25, 0]),
        ({"top_p": 0.7}, [0, 0.4, 0, 0.25, 0.2]),
        # nucleus after top-k: 0.4, 0.25, 0.2 of 0.85; the first two hold 0.76
        ({"top_k": 3, "top_p": 0.75}, [0, 0.4, 0, 0.25, 0]),
    ],
)
def test_the_distribution_drawn_from(options: dict[str, float], expected: list[float]) -> None:
    shares = [p / sum(expected) for p in expected]
    for found, share in zip(draw(LOGS, **options), shares, strict=True):
        assert abs(found - share) <= 5 * math.sqrt(share * (1 - share) / 20_000)


def test_what_is_filtered_out_is_never_drawn() -> None:
    assert draw([float("-inf"), *LOGS[1:], float("-inf")])[::5] == [0, 0]


def test_whole_sequences_follow_the_model(table: type, rows: Rows, symbols: Symbols) -> None:
    """Over many seeds: two tokens in a row, with temperature, against the table's own numbers."""
    model, batch, draws = table(vocabulary=4), rows([[3]]), 1500
    options = DecodingOptions(strategy="sample", max_tokens=2, temperature=1.5)
    found = Counter(
        generate(model, batch, options.model_copy(update={"seed": s}), symbols)[0][0].tokens
        for s in range(draws)
    )

    def share(token: int, prefix: tuple[int, ...]) -> float:
        warm = {t: math.exp(model.log_probs(3, prefix)[t] / 1.5) for t in (2, 3)}
        return warm[token] / sum(warm.values())

    expected = {
        (): share(2, ()),
        (3,): share(3, ()) * share(2, (3,)),
        (3, 3): share(3, ()) * share(3, (3,)),
    }
    assert sum(expected.values()) == pytest.approx(1)
    for tokens, p in expected.items():
        assert abs(found[tokens] / draws - p) < 5 * math.sqrt(p * (1 - p) / draws)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"min_tokens": 5, "max_tokens": 4}, "min_tokens"),
        ({"n_best": 2, "strategy": "greedy"}, "n_best"),
        ({"n_best": 5, "beam_size": 4}, "beam_size"),
        ({"top_p": 0.0}, "top_p"),
        ({"temperature": 0.0}, "temperature"),
        ({"beams": 4}, "beam_size"),
    ],
)
def test_options_that_make_no_sense(values: dict[str, object], word: str) -> None:
    with pytest.raises(ConfigError, match=word) as caught:
        DecodingOptions.parse(values)
    assert "\n" not in str(caught.value)
