"""`generate`: the one entry to search."""

from collections.abc import Sequence

import torch

from dialogist.batch import Batch
from dialogist.decoding.beam import BeamSearch
from dialogist.decoding.filters import EndWhenStuck, Filter
from dialogist.decoding.options import DecodingOptions
from dialogist.decoding.search import Hypothesis, Symbols, search_rows, standard_filters
from dialogist.models.base import Generator


@torch.inference_mode()
def generate(
    model: Generator,
    batch: Batch,
    options: DecodingOptions,
    symbols: Symbols,
    filters: Sequence[Filter] = (),
) -> list[list[Hypothesis]]:
    """Search a summary for each dialogue of a batch: n_best hypotheses each, best first.

    ``filters`` are applied after those the options ask for. The model is put in evaluation mode.
    """
    model.eval()
    rules = [*standard_filters(options, symbols), *filters, EndWhenStuck(symbols.eos)]
    if options.strategy == "beam":
        return BeamSearch(options, symbols, rules).search(model, batch)
    return search_rows(model, batch, options, symbols, rules)
