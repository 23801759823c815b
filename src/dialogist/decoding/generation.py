"""`generate`: the one entry to search; and the same without a cache, to test it by."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dialogist.decoding import DecodingOptions
from dialogist.decoding.beam_search import BeamSearch, rerank_by_coverage
from dialogist.decoding.constraints import EndWhenStuck, Filter
from dialogist.decoding.search import (
    Greedy,
    GreedyAndSample,
    Hypothesis,
    RowSearch,
    Sampling,
    standard_filters,
)
from dialogist.models.base import Generator, Outputs, Stepper
from dialogist.nn.attention import WantedWeights
from dialogist.nn.kv_cache import State
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols

# A model without its cache: every step runs the whole network anew, as the reports' ``next_word``.
#
# The yardstick for tests (cached = uncached) and benchmarks; nothing else uses it.


@dataclass(frozen=True, slots=True)
class _Prefix:
    batch: Batch  # N rows
    said: Tensor  # (N, t)

    def select(self, rows: Tensor) -> "_Prefix":
        return _Prefix(self.batch.select(rows), self.said[rows])


class UncachedModel:
    """Wraps a `Generator`; report 1, Listing 9: one full pass, encoder included, per token."""

    def __init__(self, model: Generator) -> None:
        self.model = model

    @property
    def longest_target(self) -> int | None:
        """The wrapped model's."""
        return self.model.longest_target

    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """The wrapped model's."""
        return self.model.forward(batch, need_weights)

    def start(self, batch: Batch) -> _Prefix:
        """Nothing is computed yet."""
        return _Prefix(batch, batch.source.new_empty((len(batch), 0)))

    def force(self, batch: Batch, state: State, need_weights: WantedWeights = False) -> Outputs:
        """All of it anew."""
        return self.model.forward(batch, need_weights)

    def cross_attention(self, outputs: Outputs) -> Tensor | None:
        """The wrapped model's."""
        return self.model.cross_attention(outputs)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, _Prefix]:
        """(N,) -> (N, X) by teacher-forcing everything said so far."""
        assert isinstance(state, _Prefix)
        said = torch.cat([state.said, tokens[:, None]], dim=1)
        mask = torch.ones_like(said, dtype=torch.bool)
        batch = replace(state.batch, target_in=said, target_out=said, target_mask=mask)
        log_probs = self.model.forward(batch).log_probs.all()  # (N * t, X)
        last = log_probs.view(said.shape[0], said.shape[1], -1)[:, -1]
        return last, replace(state, said=said)

    def train(self, mode: bool = True) -> "UncachedModel":
        """The wrapped model's."""
        self.model.train(mode)
        return self

    def eval(self) -> "UncachedModel":
        """The wrapped model's."""
        self.model.eval()
        return self


# `generate`: the one entry to search.


@torch.inference_mode()
def generate(
    model: Generator,
    batch: Batch,
    options: DecodingOptions,
    symbols: Symbols,
    filters: Sequence[Filter] = (),
    state: State | None = None,
) -> list[list[Hypothesis]]:
    """Search a summary for each dialogue of a batch: n_best hypotheses each, best first.

    ``filters`` are applied after those the options ask for. The model is put in evaluation mode.
    ``state``: what its ``start`` gave for the batch, if it has been asked already.
    """
    model.eval()
    if state is None:
        state = model.start(batch)
    rows = torch.arange(len(batch), device=batch.source.device)
    if not options.coverage_penalty:
        return search_from(model, state, rows, options, symbols, filters)
    every = options.model_copy(update={"n_best": options.beam_size})
    found = search_from(model, state, rows, every, symbols, filters)
    return rerank_by_coverage(model, batch, state, found, options, symbols)


def search_from(
    model: Stepper,
    state: State,
    rows: Tensor,
    options: DecodingOptions,
    symbols: Symbols,
    filters: Sequence[Filter] = (),
) -> list[list[Hypothesis]]:
    """Search from a state whose rows (0, 1, 2 ...) each stand for a sequence to be written."""
    rules = [*standard_filters(options, symbols), *filters, EndWhenStuck(symbols.eos)]
    if options.strategy == "beam":
        return BeamSearch(options, symbols, rules).search(model, state, rows)
    choose = Greedy() if options.strategy == "greedy" else Sampling(options, len(rows))
    return RowSearch(options, symbols, rules, choose).search(model, state, rows)


@torch.inference_mode()
def roll_out(
    model: Stepper, state: State, rows: Tensor, options: DecodingOptions, symbols: Symbols
) -> tuple[list[Hypothesis], list[Hypothesis]]:
    """The texts of the rows (0, 1, 2 ...) greedily, and each once at random, in one search.

    The draws are those of ``options.seed``; what else the options say holds for both.
    """
    count = len(rows)
    both = torch.cat([rows, rows + count])
    rules = [*standard_filters(options, symbols), EndWhenStuck(symbols.eos)]
    choose = GreedyAndSample(options, count)
    state = state.select(rows.repeat(2))
    found = RowSearch(options, symbols, rules, choose).search(model, state, both)
    said = [hypotheses[0] for hypotheses in found]
    return said[:count], said[count:]
