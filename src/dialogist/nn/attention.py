"""Scaled dot-product and multi-head attention (Vaswani et al. 2017, equations 1 and 3.2.2).

Masks are additive: 0 where attention is allowed, a very large negative number where it is not, as
in report 1, equation 1. They are made from boolean masks once per forward pass.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.dropout import Dropout

BLOCKED = -1e9
"""What report 1 (Listing 1) adds to the score of a position that must not be seen."""


def additive_mask(allowed: Tensor, dtype: torch.dtype) -> Tensor:
    """(...) True = may be seen  ->  (...) 0 or `BLOCKED`."""
    return torch.zeros(allowed.shape, dtype=dtype, device=allowed.device).masked_fill_(
        ~allowed, BLOCKED
    )


def padding_mask(real: Tensor, dtype: torch.dtype) -> Tensor:
    """(B, S) True = real  ->  (B, 1, 1, S) additive: no query sees padding."""
    return additive_mask(real, dtype)[:, None, None, :]


def look_ahead_mask(length: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """(1, 1, T, T) additive: position t sees positions 0..t."""
    allowed = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    return additive_mask(allowed, dtype)[None, None]


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(Q K^T / sqrt(d_k) + M): (..., T, d_k), (..., S, d_k) -> (..., T, S)."""
    # Q is scaled before the product: the same scores, over T x d_k instead of T x S numbers.
    scores = (query / math.sqrt(query.shape[-1])) @ key.transpose(-2, -1)
    return torch.softmax(scores if mask is None else scores + mask, dim=-1)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Attention(Q, K, V) and its weights (report 1, equation 1 and Listing 1).

    Args:
        query: (..., T, d_k). key: (..., S, d_k). value: (..., S, d_v).
        mask: additive, broadcastable to (..., T, S).

    Returns:
        (..., T, d_v) blended values and (..., T, S) weights.
    """
    weights = attention_weights(query, key, mask)
    return weights @ value, weights


class KeyValue(NamedTuple):
    """What is attended to, projected once: key (N, H, S, d_k) and value (N, H, S, d_k)."""

    key: Tensor
    value: Tensor

    def select(self, rows: Tensor) -> "KeyValue":
        """The given rows, in the given order."""
        return KeyValue(self.key.index_select(0, rows), self.value.index_select(0, rows))

    def append(self, later: "KeyValue") -> "KeyValue":
        """Further positions at the end."""
        return KeyValue(
            torch.cat([self.key, later.key], dim=2), torch.cat([self.value, later.value], dim=2)
        )


class MultiHeadAttention(nn.Module):
    """Multi-head attention whose key width per head is free of the model's width.

    The reports use Keras' layer with ``key_dim = d_model`` *per head*, so 19 heads on d = 15 build;
    the usual choice is ``d_model // heads``. ``memory_width`` is the width of what is attended to.
    """

    def __init__(
        self, width: int, heads: int, key_width: int, memory_width: int, dropout: float
    ) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, heads * key_width)
        self.key = nn.Linear(memory_width, heads * key_width)
        self.value = nn.Linear(memory_width, heads * key_width)
        self.output = nn.Linear(heads * key_width, width)
        self.dropout = Dropout(dropout)

    def initialise_as_keras(self) -> None:
        """Glorot uniform as Keras computes it for these kernels, which have three axes there.

        Keras takes the axes before the last two as a receptive field: (D, H, d_k) gives the fans
        D * H and D * d_k, (H, d_k, D) gives H * d_k and H * D (``keras.initializers``).
        """
        key_width = self.output.in_features // self.heads
        for layer in (self.query, self.key, self.value):
            limit = math.sqrt(6 / (layer.in_features * (self.heads + key_width)))
            nn.init.uniform_(layer.weight, -limit, limit)
        limit = math.sqrt(6 / (self.heads * (key_width + self.output.out_features)))
        nn.init.uniform_(self.output.weight, -limit, limit)

    def project(self, memory: Tensor) -> KeyValue:
        """(N, S, memory_width) -> keys and values of every head."""
        return KeyValue(self._split(self.key(memory)), self._split(self.value(memory)))

    def forward(
        self, query: Tensor, memory: KeyValue, mask: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """(N, T, D) -> (N, T, D) and weights (N, H, T, S); ``mask`` broadcasts to the latter."""
        weights = attention_weights(self._split(self.query(query)), memory.key, mask)
        blended = self.dropout(weights) @ memory.value  # (N, H, T, d_k)
        # (N, H, T, d_k) -> (N, T, H * d_k)
        joined = blended.transpose(1, 2).reshape(query.shape[0], query.shape[1], -1)
        return self.output(joined), weights

    def _split(self, projected: Tensor) -> Tensor:
        """(N, T, H * d_k) -> (N, H, T, d_k)."""
        n, length, _ = projected.shape
        return projected.view(n, length, self.heads, -1).transpose(1, 2)
