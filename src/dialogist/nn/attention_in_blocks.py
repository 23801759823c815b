"""Attention for training on a CPU, block by block (`dialogist.nn.attention` says what it is)."""

import math

import torch
from torch import Tensor

from dialogist.nn.dropout import Dropout, keep_factors

_BLOCK = 4 << 20
"""Elements of the weights that are computed at a time in training: they stay in the cache."""


def attention_in_blocks(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout: Dropout
) -> Tensor:
    """`attend` for training on a CPU, some heads at a time: (N, H, T, d_v).

    Mask, product, softmax and blending pass over the weights of a few heads while these are in the
    cache, forward and backward; of the widest tensors of a step only the weights are kept, and no
    gradient of their size is ever made.
    """
    batch, (rows, _), columns = query.shape[:-2], query.shape[-2:], key.shape[-2]
    flat = [part.reshape(-1, *part.shape[-2:]) for part in (query, key, value)]
    if mask is None:
        mask = query.new_zeros(1, 1, 1)
    elif mask.shape[:-2].numel() == 1:
        mask = mask.reshape(1, *mask.shape[-2:]).to(query.dtype)
    else:
        mask = mask.expand(*batch, *mask.shape[-2:]).reshape(-1, *mask.shape[-2:]).to(query.dtype)
    factors = None
    if dropout.training and dropout.rate:
        shape = query.new_empty(()).expand(len(flat[0]), rows, columns)
        factors = keep_factors(shape, dropout.rate)
    blended: Tensor = _AttentionInBlocks.apply(*flat, mask, factors)  # type: ignore[no-untyped-call]
    return blended.view(*batch, rows, -1)


class _AttentionInBlocks(torch.autograd.Function):
    """softmax(Q K^T / sqrt(d_k) + M) V of (X, T, d_k), (X, S, d_k), (X, S, d_v)."""

    @staticmethod
    def forward(ctx, query, key, value, mask, factors):  # type: ignore[no-untyped-def]
        weights = query.new_empty(*query.shape[:2], key.shape[1])
        blended = query.new_empty(*query.shape[:2], value.shape[2])
        for at in _blocks(weights):
            block = weights[at]
            of_block = mask if len(mask) == 1 else mask[at]
            torch.baddbmm(
                of_block, query[at], key[at].transpose(1, 2), alpha=_scale(query), out=block
            )
            torch.softmax(block, dim=-1, out=block)
            used = block if factors is None else block * factors[at]
            torch.bmm(used, value[at], out=blended[at])
        ctx.save_for_backward(query, key, value, weights, factors)
        return blended

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        query, key, value, weights, factors = ctx.saved_tensors
        scale, gradient = _scale(query), gradient.contiguous()
        d_query, d_key, d_value = map(torch.empty_like, (query, key, value))
        blocks = _blocks(weights)
        buffer = torch.empty_like(weights[blocks[0]])
        for at in blocks:
            block = weights[at]
            used = block if factors is None else block * factors[at]
            torch.bmm(used.transpose(1, 2), gradient[at], out=d_value[at])
            inside = buffer[: len(block)]
            torch.bmm(gradient[at], value[at].transpose(1, 2), out=inside)
            if factors is not None:
                inside *= factors[at]
            torch.ops.aten._softmax_backward_data.out(
                inside, block, -1, block.dtype, grad_input=inside
            )
            torch.baddbmm(d_query[at], inside, key[at], beta=0, alpha=scale, out=d_query[at])
            of_key = inside.transpose(1, 2)
            torch.baddbmm(d_key[at], of_key, query[at], beta=0, alpha=scale, out=d_key[at])
        return d_query, d_key, d_value, None, None


def _scale(query: Tensor) -> float:
    return 1 / math.sqrt(query.shape[-1])


def _blocks(weights: Tensor) -> list[slice]:
    """Of the heads: powers of two, so that batches of one length have few sizes."""
    heads, rows, columns = weights.shape
    size = 1 << max(1, (_BLOCK // (rows * columns)).bit_length() - 1)
    return [slice(start, min(start + size, heads)) for start in range(0, heads, size)]
