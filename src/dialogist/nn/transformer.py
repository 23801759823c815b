"""Encoder and decoder layers and stacks: the reports' (post-norm, ReLU) and the modern form."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

from torch import Tensor, nn

from dialogist.nn.attention import KeyValue, MultiHeadAttention
from dialogist.nn.dropout import Dropout


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
        norm: ``post`` (the reports, Vaswani et al.) or ``pre`` (Xiong et al. 2020).
        norm_eps: 1e-6 in the reports.
        activation: ``relu`` (the reports) or ``gelu`` (Hendrycks and Gimpel 2016, exact form).
        reuse_second_norm: normalise after the decoder's feed-forward with the parameters of
            ``layernorm2`` once more instead of a third norm's, as reports 2 and 3 do.
        memory_width: width of the encoder's output; None means ``width``.
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
    activation: Literal["relu", "gelu"]
    reuse_second_norm: bool = False
    memory_width: int | None = None

    def attention(self, memory_width: int | None = None) -> MultiHeadAttention:
        """A new attention block of this shape."""
        return MultiHeadAttention(
            self.width,
            self.heads,
            self.key_width,
            memory_width or self.width,
            self.attention_dropout,
        )

    def layer_norm(self) -> nn.LayerNorm:
        """A new layer norm of this shape."""
        return nn.LayerNorm(self.width, eps=self.norm_eps)


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2, position by position; dropout on its output."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.inner = nn.Linear(shape.width, shape.feed_forward)
        self.activation = nn.ReLU() if shape.activation == "relu" else nn.GELU()
        self.outer = nn.Linear(shape.feed_forward, shape.width)
        self.dropout = Dropout(shape.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(N, T, D) -> (N, T, D)."""
        dropped: Tensor = self.dropout(self.outer(self.activation(self.inner(x))))
        return dropped


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual and a layer norm."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.pre_norm = shape.norm == "pre"
        self.attention = shape.attention()
        self.attention_dropout = Dropout(shape.attention_output_dropout)
        self.feed_forward = FeedForward(shape)
        self.norm1, self.norm2 = shape.layer_norm(), shape.layer_norm()

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D), additive (B, 1, 1, S) -> (B, S, D) and weights (B, H, S, S)."""
        y = self.norm1(x) if self.pre_norm else x
        attended, weights = self.attention(y, self.attention.project(y), mask)
        x = x + self.attention_dropout(attended)
        if self.pre_norm:
            return x + self.feed_forward(self.norm2(x)), weights
        x = self.norm1(x)
        return self.norm2(x + self.feed_forward(x)), weights


@dataclass(frozen=True, slots=True)
class LayerCache:
    """What one decoder layer needs of the past: own keys and values, and the memory's."""

    memory: KeyValue
    past: KeyValue | None = None

    def select(self, rows: Tensor, memory_too: bool) -> "LayerCache":
        """Rows of the past, and of the memory where it changes."""
        memory = self.memory.select(rows) if memory_too else self.memory
        return LayerCache(memory, None if self.past is None else self.past.select(rows))


class DecoderLayer(nn.Module):
    """Block 1 masked self-attention, block 2 attention over the memory, block 3 feed-forward."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.pre_norm = shape.norm == "pre"
        self.self_attention = shape.attention()
        self.cross_attention = shape.attention(shape.memory_width)
        self.attention_dropout = Dropout(shape.attention_output_dropout)
        self.feed_forward = FeedForward(shape)
        self.norm1, self.norm2 = shape.layer_norm(), shape.layer_norm()
        self.norm3 = None if shape.reuse_second_norm else shape.layer_norm()

    def forward(
        self, x: Tensor, cache: LayerCache, self_mask: Tensor | None, memory_mask: Tensor
    ) -> tuple[Tensor, LayerCache, tuple[Tensor, Tensor]]:
        """One layer over all positions, or over the newest one with the past in ``cache``.

        Args:
            x: (N, T, D).
            self_mask: additive (1, 1, T, T); None where T is 1, which sees all of its past.
            memory_mask: additive (N, 1, 1, S).

        Returns:
            (N, T, D), the cache with these positions appended, and the weights of block 1
            (N, H, T, T_past + T) and block 2 (N, H, T, S).
        """
        norm3 = self.norm3 or self.norm2
        y = self.norm1(x) if self.pre_norm else x
        past = self.self_attention.project(y)
        past = past if cache.past is None else cache.past.append(past)
        attended, block1 = self.self_attention(y, past, self_mask)
        x = x + self.attention_dropout(attended)
        x = x if self.pre_norm else self.norm1(x)
        y = self.norm2(x) if self.pre_norm else x
        attended, block2 = self.cross_attention(y, cache.memory, memory_mask)
        x = x + self.attention_dropout(attended)
        x = x if self.pre_norm else self.norm2(x)
        x = x + self.feed_forward(norm3(x) if self.pre_norm else x)
        x = x if self.pre_norm else norm3(x)
        return x, replace(cache, past=past), (block1, block2)


class Encoder(nn.Module):
    """N encoder layers; pre-norm ends with one more layer norm."""

    def __init__(self, layers: int, shape: LayerShape) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(layers))
        self.final_norm = shape.layer_norm() if shape.norm == "pre" else nn.Identity()

    def forward(self, x: Tensor, mask: Tensor) -> tuple[Tensor, list[Tensor]]:
        """(B, S, D) embedded -> (B, S, D) memory and every layer's weights (B, H, S, S)."""
        weights = []
        for layer in self.layers:
            x, layer_weights = layer(x, mask)
            weights.append(layer_weights)
        return self.final_norm(x), weights


class Decoder(nn.Module):
    """N decoder layers; pre-norm ends with one more layer norm."""

    def __init__(self, layers: int, shape: LayerShape) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(layers))
        self.final_norm = shape.layer_norm() if shape.norm == "pre" else nn.Identity()

    def start(self, memory: Tensor) -> list[LayerCache]:
        """Project the memory (N, S, memory_width) once for every layer."""
        layers = cast(Iterable[DecoderLayer], self.layers)
        return [LayerCache(layer.cross_attention.project(memory)) for layer in layers]

    def forward(
        self,
        x: Tensor,
        caches: Sequence[LayerCache],
        self_mask: Tensor | None,
        memory_mask: Tensor,
    ) -> tuple[Tensor, list[LayerCache], dict[str, Tensor]]:
        """(N, T, D) embedded -> (N, T, D), new caches, and weights under the reports' names."""
        after: list[LayerCache] = []
        weights: dict[str, Tensor] = {}
        for i, (layer, cache) in enumerate(zip(self.layers, caches, strict=True), start=1):
            x, cache, (block1, block2) = layer(x, cache, self_mask, memory_mask)
            after.append(cache)
            weights[f"decoder_layer{i}_block1_self_att"] = block1
            weights[f"decoder_layer{i}_block2_decenc_att"] = block2
        return self.final_norm(x), after, weights
