"""Search: a beam against all sequences, and the rules of what may be written."""

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import Tensor

from dialogist.errors import ConfigError
from dialogist_lab.decoding import DecodingOptions, Symbols, length_normaliser, search

FEW = Symbols(pad=0, unk=1, bos=2, eos=3, size=6)


@dataclass(frozen=True)
class Prefixes:
    """The state of `Chain`: what each row was fed."""

    rows: Tensor

    def select(self, rows: Tensor) -> "Prefixes":
        return Prefixes(self.rows[rows])


class Chain:
    """A model of six words whose distribution depends on all words before, and on the dialogue."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.most_rows = 0

    def log_probs(self, before: tuple[int, ...]) -> Tensor:
        seed = hash((self.seed, before)) % 2**31
        drawn = torch.rand(FEW.size, generator=torch.Generator().manual_seed(seed))
        return torch.log_softmax(3 * drawn, dim=0)

    def step(self, tokens: Tensor, state: Prefixes) -> tuple[Tensor, Prefixes]:
        rows = torch.cat([state.rows, tokens[:, None]], dim=1)
        self.most_rows = max(self.most_rows, len(rows))
        return torch.stack([self.log_probs(tuple(row)) for row in rows.tolist()]), Prefixes(rows)


def start(dialogues: int) -> tuple[Prefixes, Tensor]:
    """A state that knows its dialogue by a first number, and sources."""
    numbers = torch.arange(100, 100 + dialogues)[:, None]
    return Prefixes(numbers), numbers


def best_of_all(
    model: Chain, dialogue: int, longest: int, alpha: float
) -> tuple[tuple[int, ...], float]:
    """Every text of at most ``longest`` words; finished ones, and cut ones of full length."""
    words = (1, 4, 5)
    found = []
    for length in range(longest + 1):
        for text in itertools.product(words, repeat=length):
            total, before = 0.0, (100 + dialogue, FEW.bos)
            for word in text:
                total += float(model.log_probs(before)[word])
                before = (*before, word)
            if length < longest:
                total += float(model.log_probs(before)[FEW.eos])
            score = total / length_normaliser(length + int(length < longest), alpha)
            found.append((text, score))
    return max(found, key=lambda entry: entry[1])


@pytest.mark.parametrize("alpha", [0.0, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_beam_finds_the_best_of_all_sequences(alpha: float, seed: int) -> None:
    model = Chain(seed)
    options = DecodingOptions(beam_size=27, length_penalty=alpha, max_tokens=4)
    for dialogue, found in enumerate(search(model, *start(3), options, FEW)):
        text, score = best_of_all(model, dialogue, 4, alpha)
        assert found.tokens == text
        assert found.score == pytest.approx(score, abs=1e-4)
        assert found.finished == (len(text) < 4)


def test_sampling_follows_the_distribution_and_the_seed() -> None:
    model, options = Chain(1), DecodingOptions(strategy="sample", max_tokens=1)
    torch.manual_seed(1)
    draws = [search(model, Prefixes(torch.full((500, 1), 100)), torch.ones(500, 1), options, FEW)]
    first = [h.tokens[0] if h.tokens else FEW.eos for h in draws[0]]
    probabilities = model.log_probs((100, FEW.bos)).exp()
    allowed = probabilities[[1, 3, 4, 5]].sum()
    for word in (1, 3, 4, 5):
        assert first.count(word) / 500 == pytest.approx(
            float(probabilities[word] / allowed), abs=0.08
        )
    torch.manual_seed(1)
    again = search(model, Prefixes(torch.full((500, 1), 100)), torch.ones(500, 1), options, FEW)
    assert again == draws[0]


@pytest.mark.parametrize("strategy", ["greedy", "beam", "sample"])
def test_no_ngram_comes_twice_and_lengths_hold(strategy: Any) -> None:
    options = DecodingOptions(
        strategy=strategy, beam_size=2, no_repeat_ngram=2, min_tokens=4, max_tokens=7
    )
    for found in search(Chain(2), *start(6), options, FEW):
        pairs = list(itertools.pairwise(found.tokens))
        assert len(set(pairs)) == len(pairs)
        assert 4 <= len(found.tokens) <= 7


def test_only_placeholders_of_the_source_are_written() -> None:
    symbols = replace(FEW, placeholders=(4, 5))
    state, _ = start(2)
    source = torch.tensor([[4, 1], [1, 1]])
    options = DecodingOptions(strategy="sample", max_tokens=30)
    torch.manual_seed(2)
    first, second = search(Chain(3), state, source, options, symbols)
    assert 5 not in first.tokens
    assert not {4, 5} & set(second.tokens)


def test_a_row_without_any_word_left_ends() -> None:
    options = DecodingOptions(strategy="greedy", no_repeat_ngram=1, min_tokens=20, max_tokens=20)
    (found,) = search(Chain(1), *start(1), options, FEW)
    assert found.finished
    assert sorted(found.tokens) == [1, 4, 5]
    assert math.isfinite(found.log_prob)


def test_options_that_contradict_each_other() -> None:
    with pytest.raises(ConfigError, match="'min_tokens' 9 exceeds"):
        DecodingOptions.parse({"min_tokens": 9, "max_tokens": 5})
