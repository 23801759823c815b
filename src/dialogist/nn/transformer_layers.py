"""Transformer encoder and decoder: layers and stacks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, cast

import torch
from torch import Tensor, nn

from dialogist.nn.attention import MultiHeadAttention, WantedWeights
from dialogist.nn.autograd import Activation, fused_feed_forward
from dialogist.nn.kv_cache import LayerCache, appended
from dialogist.nn.layers import Dropout, LayerNorm
from dialogist.nn.packing import Masks, Packing, by_rows


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerShape:
    """What every layer of a stack has in common.

    Attributes:
        width: D, of the residual stream.
        heads, key_width: attention heads and the width of each.
        feed_forward: inner width of the position-wise network.
        dropout: after the feed-forward network (Keras ``dropout_ffn`` of the reports).
        attention_dropout: on the attention weights (Keras ``MultiHeadAttention(dropout=)``).
        attention_output_dropout: on what an attention block adds; the reports have none there.
        activation_dropout: inside the feed-forward network, after its activation.
        norm: ``post`` (the reports, Vaswani et al.) or ``pre`` (Xiong et al. 2020).
        norm_eps: 1e-6 in the reports.
        activation: ``relu`` (the reports) or ``gelu`` (Hendrycks and Gimpel 2016, exact form).
        reuse_second_norm: normalise after the decoder's feed-forward with the parameters of
            ``layernorm2`` once more instead of a third norm's, as reports 2 and 3 do.
        memory_width: width of the encoder's output; None means ``width``.
        match_speakers: the decoder's attention over the memory knows who speaks.
    """

    width: int
    heads: int
    key_width: int
    feed_forward: int
    dropout: float
    attention_dropout: float
    attention_output_dropout: float
    norm: Literal["post", "pre"]
    norm_eps: float
    activation: Activation
    activation_dropout: float = 0.0
    reuse_second_norm: bool = False
    memory_width: int | None = None
    match_speakers: bool = False

    @classmethod
    def of(cls, config: object, **own: Any) -> "LayerShape":
        """From a configuration's options of the same names, and ``own`` values."""
        names = [f.name for f in fields(cls) if hasattr(config, f.name)]
        return cls(**{name: getattr(config, name) for name in names} | own)

    def attention(self, memory_width: int | None = None, match: bool = False) -> MultiHeadAttention:
        """A new attention block of this shape."""
        return MultiHeadAttention(
            self.width,
            self.heads,
            self.key_width,
            memory_width or self.width,
            self.attention_dropout,
            match,
        )

    def layer_norm(self) -> LayerNorm:
        """A new layer norm of this shape."""
        return LayerNorm(self.width, eps=self.norm_eps)


class FeedForward(nn.Module):
    """x + dropout(max(0, x W1 + b1) W2 + b2), position by position; or GELU for the maximum.

    ``activation_dropout`` is a second dropout, of what the maximum gives.
    """

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.kind: Activation = shape.activation
        self.inner = nn.Linear(shape.width, shape.feed_forward)
        self.activation = nn.ReLU(inplace=True) if shape.activation == "relu" else nn.GELU()
        self.outer = nn.Linear(shape.feed_forward, shape.width)
        self.dropout = Dropout(shape.dropout)
        self.activation_dropout = Dropout(shape.activation_dropout)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        """(P, D), and what it is added to (P, D) -> (P, D)."""
        return self.dropout.added(residual, self._transform(x))

    def _transform(self, x: Tensor) -> Tensor:
        if self.training and torch.is_grad_enabled() and not self.activation_dropout.rate:
            return fused_feed_forward(x, self.inner, self.outer, self.kind)
        if x.is_cuda or torch.is_grad_enabled():
            return self._plain(x)
        return by_rows(self._plain, x)

    def _plain(self, x: Tensor) -> Tensor:
        made: Tensor = self.outer(self.activation_dropout(self.activation(self.inner(x))))
        return made


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual and a layer norm.

    ``short``: see `TransformerEncoder`.
    """

    def __init__(self, shape: LayerShape, short: bool = False) -> None:
        super().__init__()
        self.pre_norm, self.short = shape.norm == "pre", short
        self.attention = shape.attention()
        self.attention_dropout = Dropout(shape.attention_output_dropout)
        self.feed_forward = FeedForward(shape)
        self.norm1, self.norm2 = shape.layer_norm(), shape.layer_norm()

    def forward(
        self, x: Tensor, packing: Packing, mask: Tensor, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        """(P, D), additive (B, 1, 1, S) -> (P, D) and, if needed, weights (B, H, S, S)."""
        y = self.norm1(x) if self.pre_norm else x
        attended, weights = self._attend(y, packing, mask, need_weights)
        x = self.attention_dropout.added(x, attended)
        if self.pre_norm:
            return self.feed_forward(self.norm2(x), x), weights
        x = self.norm1(x)
        return self.norm2(self.feed_forward(x, x)), weights

    def _attend(
        self, y: Tensor, packing: Packing, mask: Tensor, need_weights: bool
    ) -> tuple[Tensor, Tensor | None]:
        in_use = not (torch.is_grad_enabled() or self.training or y.is_cuda)
        if in_use and not need_weights and not self.short:
            return self.attention.apart(y, packing), None
        heads, memory = self.attention.project_all(y, packing)
        return self.attention.attend(heads, packing, memory, mask, need_weights)


class DecoderLayer(nn.Module):
    """Block 1 masked self-attention, block 2 attention over the memory, block 3 feed-forward."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.pre_norm = shape.norm == "pre"
        self.self_attention = shape.attention()
        self.cross_attention = shape.attention(shape.memory_width, shape.match_speakers)
        self.attention_dropout = Dropout(shape.attention_output_dropout)
        self.feed_forward = FeedForward(shape)
        self.norm1, self.norm2 = shape.layer_norm(), shape.layer_norm()
        self.norm3 = None if shape.reuse_second_norm else shape.layer_norm()

    def forward(
        self,
        x: Tensor,
        packing: Packing,
        cache: LayerCache,
        masks: Masks,
        need_weights: WantedWeights,
        named: Tensor | None = None,
    ) -> tuple[Tensor, LayerCache, tuple[Tensor | None, Tensor | None]]:
        """One layer over all positions, or over the newest one with the past in ``cache``.

        Args:
            x: (P, D), lying as ``packing`` says.
            need_weights: of both blocks, of none, or (``last``) of block 2 alone.
            named: (P, 2, C) of whom is talked, where the memory knows who speaks.

        Returns:
            (P, D), the cache with these positions appended, and, if needed, the weights of block 1
            (N, H, T, T_past + T) and block 2 (N, H, T, S).
        """
        norm3 = self.norm3 or self.norm2
        y = self.norm1(x) if self.pre_norm else x
        heads, own = self.self_attention.project_all(y, packing)
        past = appended(cache.past, own)
        attended, block1 = self.self_attention.attend(
            heads, packing, past.known, masks.look_ahead, need_weights is True
        )
        x = self.attention_dropout.added(x, attended)
        x = x if self.pre_norm else self.norm1(x)
        y = self.norm2(x) if self.pre_norm else x
        attended, block2 = self.cross_attention(
            y, packing, cache.memory, masks.memory, named, bool(need_weights)
        )
        x = self.attention_dropout.added(x, attended)
        x = x if self.pre_norm else self.norm2(x)
        x = self.feed_forward(norm3(x) if self.pre_norm else x, x)
        x = x if self.pre_norm else norm3(x)
        return x, replace(cache, past=past), (block1, block2)


class TransformerEncoder(nn.Module):
    """N encoder layers; pre-norm ends with one more layer norm.

    ``short``: its sequences are many and short (utterances), so that one padded grid of all is
    cheaper than each on its own.
    """

    int8_layers = True

    def __init__(self, layers: int, shape: LayerShape, short: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(shape, short) for _ in range(layers))
        self.final_norm = shape.layer_norm() if shape.norm == "pre" else nn.Identity()

    @property
    def dtype(self) -> torch.dtype:
        """The number format its layers compute in."""
        return next(self.layers.parameters()).dtype

    def forward(
        self, x: Tensor, packing: Packing, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """(P, D) embedded -> (P, D) memory and, if needed, every layer's weights (B, H, S, S)."""
        mask = packing.mask(x.dtype)
        weights: list[Tensor] = []
        for layer in self.layers:
            x, layer_weights = layer(x, packing, mask, need_weights)
            weights += [] if layer_weights is None else [layer_weights]
        return self.final_norm(x), weights


class TransformerDecoder(nn.Module):
    """N decoder layers; pre-norm ends with one more layer norm."""

    int8_layers = True

    def __init__(self, layers: int, shape: LayerShape) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(layers))
        self.final_norm = shape.layer_norm() if shape.norm == "pre" else nn.Identity()

    @property
    def dtype(self) -> torch.dtype:
        """The number format its layers compute in."""
        return next(self.layers.parameters()).dtype

    def start(
        self, memory: Tensor, packing: Packing, spoken: Tensor | None = None
    ) -> list[LayerCache]:
        """Project the memory's rows (P, memory_width) once for every layer.

        ``spoken``: (B, S, C) who says each position, if the layers shall know.
        """
        layers = cast(Iterable[DecoderLayer], self.layers)
        blocks = [layer.cross_attention for layer in layers]
        return [LayerCache(block.project(memory, packing, spoken)) for block in blocks]

    def forward(
        self,
        x: Tensor,
        packing: Packing,
        caches: Sequence[LayerCache],
        masks: Masks,
        need_weights: WantedWeights = False,
        named: Tensor | None = None,
    ) -> tuple[Tensor, list[LayerCache], dict[str, Tensor]]:
        """(P, D) embedded -> (P, D), new caches, and weights under the reports' names.

        ``need_weights``: ``last`` gives those of the last layer's block 2 alone.
        ``named``: (P, 2, C) of whom is talked, where the memory knows who speaks.
        """
        after: list[LayerCache] = []
        weights: dict[str, Tensor] = {}
        for i, (layer, cache) in enumerate(zip(self.layers, caches, strict=True), start=1):
            wanted = need_weights if i == len(self.layers) else need_weights is True
            x, cache, (block1, block2) = layer(x, packing, cache, masks, wanted, named)
            after.append(cache)
            if block1 is not None:
                weights[f"decoder_layer{i}_block1_self_att"] = block1
            if block2 is not None:
                weights[f"decoder_layer{i}_block2_decenc_att"] = block2
        return self.final_norm(x), after, weights
