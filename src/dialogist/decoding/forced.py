"""Hypotheses as targets: what was said is run once more with teacher forcing."""

from collections.abc import Sequence

import torch
from torch import Tensor

from dialogist.decoding.search import Hypothesis, fed
from dialogist.tokenizers import Symbols


def targets_of(said: Sequence[Hypothesis], symbols: Symbols) -> tuple[Tensor, Tensor, Tensor]:
    """A decoder's input, output and mask (N, T); a hypothesis that was cut has no end symbol."""
    ids = [[*h.tokens, *([symbols.eos] if h.finished else [])] for h in said]
    longest = max(map(len, ids))
    out = torch.tensor([[*row, *[symbols.pad] * (longest - len(row))] for row in ids])
    first = torch.full((len(ids), 1), symbols.bos)
    mask = torch.arange(longest) < torch.tensor([len(row) for row in ids])[:, None]
    return fed(torch.cat([first, out[:, :-1]], dim=1), symbols), out, mask
