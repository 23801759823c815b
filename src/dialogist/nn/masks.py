"""Attention masks: 0 where attention is allowed, a very large negative number where it is not.

They are added to the scores (report 1, equation 1) and made from boolean masks once per forward
pass.
"""

import torch
from torch import Tensor

BLOCKED = -1e9
"""What report 1 (Listing 1) adds to the score of a position that must not be seen."""


def additive_mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """(...) True = may be seen  ->  (...) 0 or `BLOCKED`."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(
        ~allowed, BLOCKED
    )


def look_ahead_mask(length: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """(1, 1, T, T) additive: position t sees positions 0..t."""
    allowed = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return additive_mask(allowed, dtype)[None, None]
