"""`generate`: the one entry to search."""

from collections.abc import Sequence

import torch
from torch import Tensor

from dialogist.batch import Batch
from dialogist.decoding.beam import BeamSearch
from dialogist.decoding.coverage import ranked_by_coverage
from dialogist.decoding.filters import EndWhenStuck, Filter
from dialogist.decoding.options import DecodingOptions
from dialogist.decoding.search import (
    Greedy,
    GreedyAndSample,
    Hypothesis,
    RowSearch,
    Sampling,
    standard_filters,
)
from dialogist.models.base import Generator, Stepper
from dialogist.nn.kv_cache import State
from dialogist.tokenizers import Symbols


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
        return search(model, state, rows, options, symbols, filters)
    every = options.model_copy(update={"n_best": options.beam_size})
    found = search(model, state, rows, every, symbols, filters)
    return ranked_by_coverage(model, batch, state, found, options, symbols)


def search(
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
