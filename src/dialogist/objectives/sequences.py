"""From tokens to sequences: sums and means over each row of a batch."""

import torch
from torch import Tensor


def per_sequence(log_probs: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities at the real positions (M,) of (N, T) -> each row's mean, (N,)."""
    counts = mask.sum(dim=1)
    rows = torch.arange(len(counts), device=mask.device).repeat_interleave(counts)
    sums = torch.zeros(len(counts), device=log_probs.device).index_add(0, rows, log_probs)
    return sums / counts.clamp(min=1)
