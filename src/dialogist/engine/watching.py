"""Watching a decoder's cross-attention while it runs: some layers, averaged over heads, no more.

``need_weights`` keeps every layer's weights of the whole model. For evidence a few layers of the
decoder are enough, so these alone are asked, by hooks that are gone afterwards.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from torch import Tensor, nn

from dialogist.nn.transformer import Decoder, DecoderLayer


@contextmanager
def watched(decoder: Decoder, layers: Iterable[int]) -> Iterator[dict[int, Tensor]]:
    """While open, what these layers (from 0) attended to last: (N, T, S), the mean over heads.

    T and S are the packings' rounded widths.
    """
    found: dict[int, Tensor] = {}
    hooks = []
    for number in layers:
        block = cast(DecoderLayer, decoder.layers[number]).cross_attention
        hooks += [
            block.register_forward_pre_hook(_ask),
            block.register_forward_hook(_keep(found, number)),
        ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _ask(block: nn.Module, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """``MultiHeadAttention.forward`` is called with ``need_weights`` as its last argument."""
    return (*arguments[:5], True)


def _keep(found: dict[int, Tensor], number: int) -> Any:
    def keep(block: nn.Module, arguments: tuple[Any, ...], result: tuple[Tensor, Tensor]) -> None:
        found[number] = result[1].float().mean(dim=1)

    return keep
