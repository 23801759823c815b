"""Scaled dot-product and multi-head attention (Vaswani et al. 2017, equations 1 and 3.2.2).

Masks are additive (`dialogist.nn.masks`). Attention works on heads (N, H, T, d_k), the projections
around it on rows of real tokens (`dialogist.nn.packing`).
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.dropout import Dropout
from dialogist.nn.packing import Packing


def attention_weights(query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(Q K^T / sqrt(d_k) + M): (..., T, d_k), (..., S, d_k) -> (..., T, S)."""
    batch, (rows, width) = query.shape[:-2], query.shape[-2:]
    columns = key.shape[-2]
    if mask is None:
        mask = query.new_zeros(())
    else:  # (..., 1 or T, S) -> (X, 1 or T, S), X being the product of the batch dimensions
        mask = mask.expand(*batch, mask.shape[-2], columns).reshape(-1, mask.shape[-2], columns)
    flat_query, flat_key = query.reshape(-1, rows, width), key.reshape(-1, columns, width)
    # Scaling and mask ride along with the product: two passes less over the scores.
    scores = torch.baddbmm(mask, flat_query, flat_key.transpose(1, 2), alpha=1 / math.sqrt(width))
    return torch.softmax(scores, dim=-1).view(*batch, rows, columns)


def attend(
    query: Tensor, memory: "KeyValue", mask: Tensor | None, dropout: Dropout, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """Attention over heads (N, H, T, d_k), with dropout on the weights that are used.

    On a GPU the fused kernel is taken unless the weights are wanted. On a CPU the explicit form is
    the faster one: torch's fused kernel takes 2.7 times as long there, its backward above all.
    """
    if query.is_cuda and not need_weights:
        return fused_attention(query, memory, mask, dropout), None
    weights = attention_weights(query, memory.key, mask)
    return dropout(weights) @ memory.value, weights if need_weights else None


def fused_attention(
    query: Tensor, memory: "KeyValue", mask: Tensor | None, dropout: Dropout
) -> Tensor:
    """`attend` by torch's fused kernels: (N, H, T, d_k)."""
    rate = dropout.rate if dropout.training else 0.0
    return nn.functional.scaled_dot_product_attention(
        query, memory.key, memory.value, attn_mask=mask, dropout_p=rate
    )


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

    def project(self, memory: Tensor, packing: Packing) -> KeyValue:
        """Rows (P, memory_width) -> keys and values of every head."""
        return KeyValue(
            packing.split(self.key(memory), self.heads),
            packing.split(self.value(memory), self.heads),
        )

    def forward(
        self,
        query: Tensor,
        packing: Packing,
        memory: KeyValue,
        mask: Tensor | None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Rows (P, D), which lie as ``packing`` says, attend to ``memory``.

        Args:
            mask: broadcastable to (N, H, T, S), T and S being the widths of the packings.
            need_weights: return the weights (N, H, T, S); a fused kernel has none.
        """
        heads = packing.split(self.query(query), self.heads)
        blended, weights = attend(heads, memory, mask, self.dropout, need_weights)
        return self.output(packing.join(blended)), weights
