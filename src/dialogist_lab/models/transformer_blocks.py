"""Layers of Transformers: dropout, embeddings, positions, attention, encoder and decoder stacks.

All work on padded (B, T, D). Masks are boolean, True where a position may be seen; what may not is
-1e9 in the scores, as in report 1 (Listing 1). In a bf16 autocast the residual stream is bf16.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, cast

import torch
from torch import Tensor, nn

from dialogist.errors import DataError
from dialogist_lab.decoding import Rows, State

BLOCKED = -1e9
"""What is added to the score of a position that must not be seen (report 1, Listing 1)."""

Activation = Literal["relu", "gelu"]


def working_type(device: torch.device) -> torch.dtype:
    """The number format that linear layers compute in here: bf16 inside of an autocast."""
    kind = device.type
    return torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else torch.float32


class Dropout(nn.Module):
    """Zero elements with probability ``rate`` while training and scale the others.

    On a CPU torch's own dropout costs more than the linear layer before it: it draws one number per
    element from a serial generator. Here each batch draws one pool of 15-bit numbers, and every
    application takes a window of it at a random place: within a window elements are independent,
    and two windows agree nowhere in particular. All of it follows from torch's seed and the state
    of its generator, and the pool is drawn anew whenever torch is seeded, as for every batch.
    """

    _pools: ClassVar[dict[tuple[torch.dtype, float], tuple[int, Tensor]]] = {}
    _MOST_PLACES = 1 << 14

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if x.is_cuda:  # there torch's own is one kernel, and cheap
            return nn.functional.dropout(x, self.rate)
        return x * self._factors(x)

    def added(self, residual: Tensor, x: Tensor) -> Tensor:
        """``residual`` + dropout(``x``), on a CPU in one pass over memory."""
        if not self.training or self.rate == 0 or x.is_cuda:
            return residual + self.forward(x)
        return torch.addcmul(residual, x, self._factors(x))

    def _factors(self, like: Tensor) -> Tensor:
        """0 or 1 / (share that is kept), of the shape of ``like``; not to be changed."""
        count, seed = like.numel(), torch.initial_seed()
        first = int(torch.randint(self._MOST_PLACES, ()))
        size, key = count + self._MOST_PLACES, (like.dtype, self.rate)
        pool = self._pools.get(key)
        if pool is None or pool[0] != seed or len(pool[1]) < size:
            # Batches are alike: with the size of the one before, a pool is drawn once a batch.
            likely = 0 if pool is None else min(len(pool[1]), 4 * size)
            pool = self._pools[key] = seed, self._drawn(key, max(size, likely), seed)
        return pool[1][first : first + count].view(like.shape)

    @staticmethod
    def _drawn(key: tuple[torch.dtype, float], size: int, seed: int) -> Tensor:
        dtype, rate = key
        generator = torch.Generator().manual_seed(seed)
        words = torch.empty((size + 3) // 4, dtype=torch.int64).random_(generator=generator)
        numbers = words.view(torch.int16)[:size].bitwise_and_(0x7FFF)
        scale = torch.tensor(1 / (1 - rate), dtype=dtype)
        # The scale as the format has it decides how many are kept, so that the mean stays exact.
        # Below the threshold the difference is negative, its sign bit spread out is all ones:
        # comparing and converting booleans to numbers does the same fifteen times slower.
        kept = numbers.sub_(round(0x8000 / float(scale))).bitwise_right_shift_(15)
        if dtype == torch.bfloat16:
            return kept.bitwise_and_(int(scale.view(torch.int16))).view(dtype)
        return kept.to(dtype).mul_(-scale)


def initialise_module(module: nn.Module, embeddings: Literal["keras", "scaled"]) -> None:
    """Glorot uniform matrices and zero biases of a linear layer; and what an embedding begins with.

    ``keras``: uniform +-0.05. ``scaled``: normal of deviation d^-0.5, so that, scaled by the root
    of their width, they have unit variance.
    """
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        if module.bias is not None:
            nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding) and embeddings == "keras":
        nn.init.uniform_(module.weight, -0.05, 0.05)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)


class MappedEmbedding(nn.Embedding):
    """A table (V, ``embedding``) whose rows a linear layer maps to ``width`` where the two differ.

    (Liu et al., KDD 2019, section 3.3.2.) Who shares the table shares the layer.
    """

    def __init__(self, size: int, embedding: int, width: int) -> None:
        super().__init__(size, embedding)
        self.projection = nn.Linear(embedding, width) if embedding != width else None

    def forward(self, input: Tensor) -> Tensor:
        x = super().forward(input)
        return x if self.projection is None else self.projection(x)


def sinusoids(positions: int, width: int) -> Tensor:
    """(positions, width): PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same.

    (Vaswani et al. 2017, section 3.5; odd widths end on a sine.)
    """
    position = torch.arange(positions, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angles = position / torch.pow(10000.0, even / width)  # (positions, ceil(width / 2))
    table = torch.zeros(positions, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles[:, : width // 2])
    return table.float()


class TokenEmbedding(nn.Module):
    """Token ids (B, T) -> (B, T, D): a table, which may be shared, sinusoids, dropout.

    Vectors are multiplied by sqrt(D) (Vaswani et al. 2017, section 3.4).
    """

    places: Tensor

    def __init__(self, table: MappedEmbedding, positions: int, width: int, dropout: float) -> None:
        super().__init__()
        self.table, self.dropout = table, Dropout(dropout)
        self.register_buffer("places", sinusoids(positions, width), persistent=False)

    def forward(self, ids: Tensor, first: int = 0, begin: Tensor | None = None) -> Tensor:
        """``first``: the position of the first column. ``begin``: (B, D) in its place, if given.

        Raises DataError where the sequence is longer than the positions.
        """
        end, (most, width) = first + ids.shape[1], self.places.shape
        if end > most:
            raise DataError(
                f"a sequence of {end} tokens is longer than the model's {most} positions: set a "
                "lower limit (source_tokens, summary_tokens, max_tokens)"
            )
        x = self.table(ids) * math.sqrt(width)
        if begin is not None:
            x = torch.cat([begin[:, None].to(x.dtype), x[:, 1:]], dim=1)
        placed = x + self.places[first:end]
        dropped: Tensor = self.dropout(placed.to(working_type(ids.device)))
        return dropped


@dataclass(frozen=True, slots=True)
class KeyValue(Rows):
    """What is attended to, projected once: (N, H, S, d_k) each."""

    key: Tensor
    value: Tensor

    def append(self, later: "KeyValue") -> "KeyValue":
        """With further positions at the end."""
        pairs = (self.key, later.key), (self.value, later.value)
        return KeyValue(*(torch.cat(pair, dim=2) for pair in pairs))


def attention_weights(
    query: Tensor, key: Tensor, visible: Tensor | None, dtype: torch.dtype | None = None
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k) + M): (N, H, T, d_k), (N, H, S, d_k) -> (N, H, T, S).

    ``visible``: boolean, broadcastable to (N, H, T, S). ``dtype``: of the softmax.
    """
    rows, heads, length, width = query.shape
    mask = query.new_zeros(())
    if visible is not None:
        mask = query.new_zeros(visible.shape).masked_fill_(~visible, BLOCKED)
        shape = (rows, heads, mask.shape[-2], key.shape[2])
        mask = mask.expand(*shape).reshape(rows * heads, *shape[2:])
    # Scaling and mask ride along with the product: two passes less over the scores.
    flat_query, flat_key = query.flatten(0, 1), key.flatten(0, 1)
    scale = 1 / math.sqrt(width)
    scores = torch.baddbmm(mask, flat_query, flat_key.transpose(1, 2), alpha=scale)
    return torch.softmax(scores, dim=-1, dtype=dtype).view(rows, heads, length, -1)


class MultiHeadAttention(nn.Module):
    """Scaled dot-product attention of ``heads`` heads (Vaswani et al. 2017, section 3.2.2).

    ``key_width`` is the width of a head; the reports' is that of the model.
    """

    def __init__(self, width: int, heads: int, key_width: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, heads * key_width)
        self.key = nn.Linear(width, heads * key_width)
        self.value = nn.Linear(width, heads * key_width)
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
        """(N, S, D) -> keys and values of every head."""
        return KeyValue(self._split(self.key(memory)), self._split(self.value(memory)))

    def forward(self, x: Tensor, memory: KeyValue, visible: Tensor | None) -> tuple[Tensor, Tensor]:
        """(N, T, D) attends to ``memory``: (N, T, D), and the weights (N, H, T, S)."""
        query = self._split(self.query(x))
        weights = attention_weights(query, memory.key, visible)
        used: Tensor = self.dropout(weights)
        blended = used @ memory.value  # (N, H, T, d_k)
        attended: Tensor = self.output(blended.transpose(1, 2).flatten(2))
        return attended, weights

    def _split(self, x: Tensor) -> Tensor:
        """(N, T, H * d_k) -> (N, H, T, d_k), contiguous: products are twice as fast then."""
        rows, length, _ = x.shape
        return x.view(rows, length, self.heads, -1).transpose(1, 2).contiguous()


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerShape:
    """What every layer of a stack has in common."""

    width: int  # D, of the residual stream
    heads: int
    key_width: int  # of a head
    feed_forward: int  # inner width of the position-wise network
    dropout: float  # after the feed-forward network (Keras ``dropout_ffn`` of the reports)
    attention_output_dropout: float  # on what an attention block adds; the reports have none
    norm: Literal["post", "pre"]  # post: the reports, Vaswani et al.; pre: Xiong et al. 2020
    norm_eps: float  # 1e-6 in the reports
    activation: Activation  # relu (the reports), or gelu (Hendrycks and Gimpel 2016, exact form)
    attention_dropout: float = 0.0  # on the weights (Keras ``MultiHeadAttention(dropout=)``)
    activation_dropout: float = 0.0  # inside the feed-forward network, after its activation
    # after the decoder's feed-forward once more the norm ``norm2``, as in reports 2 and 3
    reuse_second_norm: bool = False

    def attention(self) -> MultiHeadAttention:
        return MultiHeadAttention(self.width, self.heads, self.key_width, self.attention_dropout)

    def layer_norm(self) -> nn.LayerNorm:
        return nn.LayerNorm(self.width, eps=self.norm_eps)


class FeedForward(nn.Module):
    """x + dropout(max(0, x W1 + b1) W2 + b2), position by position; or GELU for the maximum."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.inner = nn.Linear(shape.width, shape.feed_forward)
        self.activation = nn.ReLU(inplace=True) if shape.activation == "relu" else nn.GELU()
        self.outer = nn.Linear(shape.feed_forward, shape.width)
        self.dropout = Dropout(shape.dropout)
        self.activation_dropout = Dropout(shape.activation_dropout)

    def forward(self, x: Tensor, residual: Tensor) -> Tensor:
        """(B, T, D), and what it is added to (B, T, D) -> (B, T, D)."""
        transformed = self.outer(self.activation_dropout(self.activation(self.inner(x))))
        return self.dropout.added(residual, transformed)


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, each with a residual and a layer norm."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.pre_norm = shape.norm == "pre"
        self.attention = shape.attention()
        self.attention_dropout = Dropout(shape.attention_output_dropout)
        self.feed_forward = FeedForward(shape)
        self.norm1, self.norm2 = shape.layer_norm(), shape.layer_norm()

    def forward(self, x: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D), boolean (B, 1, 1, S) -> (B, S, D) and weights (B, H, S, S)."""
        y = self.norm1(x) if self.pre_norm else x
        attended, weights = self.attention(y, self.attention.project(y), visible)
        x = self.attention_dropout.added(x, attended)
        if self.pre_norm:
            return self.feed_forward(self.norm2(x), x), weights
        x = self.norm1(x)
        return self.norm2(self.feed_forward(x, x)), weights


@dataclass(frozen=True, slots=True)
class LayerCache(Rows):
    """What one decoder layer needs of the past: the memory's keys and values, and its own."""

    memory: KeyValue
    past: KeyValue | None = None


class DecoderLayer(nn.Module):
    """Block 1 masked self-attention, block 2 attention over the memory, block 3 feed-forward."""

    def __init__(self, shape: LayerShape) -> None:
        super().__init__()
        self.pre_norm = shape.norm == "pre"
        self.self_attention = shape.attention()
        self.cross_attention = shape.attention()
        self.attention_dropout = Dropout(shape.attention_output_dropout)
        self.feed_forward = FeedForward(shape)
        self.norm1, self.norm2 = shape.layer_norm(), shape.layer_norm()
        self.norm3 = None if shape.reuse_second_norm else shape.layer_norm()

    def forward(
        self, x: Tensor, cache: LayerCache, visible: tuple[Tensor | None, Tensor]
    ) -> tuple[Tensor, LayerCache, tuple[Tensor, Tensor]]:
        """One layer over all positions, or over the newest one with the past in ``cache``.

        ``visible``: of its own positions, (T, T) or None for all, and of the memory, (N, 1, 1, S).

        Returns:
            (N, T, D), the cache with these positions appended, and the weights of block 1
            (N, H, T, T_past + T) and block 2 (N, H, T, S).
        """
        norm3 = self.norm3 or self.norm2
        y = self.norm1(x) if self.pre_norm else x
        new = self.self_attention.project(y)
        past = new if cache.past is None else cache.past.append(new)
        attended, block1 = self.self_attention(y, past, visible[0])
        x = self.attention_dropout.added(x, attended)
        x = x if self.pre_norm else self.norm1(x)
        y = self.norm2(x) if self.pre_norm else x
        attended, block2 = self.cross_attention(y, cache.memory, visible[1])
        x = self.attention_dropout.added(x, attended)
        x = x if self.pre_norm else self.norm2(x)
        x = self.feed_forward(norm3(x) if self.pre_norm else x, x)
        x = x if self.pre_norm else norm3(x)
        return x, LayerCache(cache.memory, past), (block1, block2)


class TransformerEncoder(nn.Module):
    """N encoder layers; pre-norm ends with one more layer norm."""

    GROUPS = 2

    def __init__(self, layers: int, shape: LayerShape) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(shape) for _ in range(layers))
        self.final_norm = shape.layer_norm() if shape.norm == "pre" else nn.Identity()

    def forward(
        self, x: Tensor, real: Tensor, need_weights: bool = False
    ) -> tuple[Tensor, list[Tensor]]:
        """(B, S, D) embedded, True where real (B, S) -> memory (B, S, D) and, if needed, every
        layer's weights (B, H, S, S): they are much to hold.

        On a CPU sequences of like lengths go through the layers together, lest most be padding.
        """
        if need_weights or x.is_cuda or len(x) < 2 * self.GROUPS:
            return self._layers(x, real, need_weights)
        lengths = real.sum(dim=1)
        order = lengths.argsort()
        parts = []
        for rows in order.chunk(self.GROUPS):
            width = max(1, int(lengths[rows].max()))
            part, _ = self._layers(x[rows, :width], real[rows, :width], False)
            parts.append(nn.functional.pad(part, (0, 0, 0, x.shape[1] - width)))
        return torch.cat(parts)[order.argsort()], []

    def _layers(self, x: Tensor, real: Tensor, need_weights: bool) -> tuple[Tensor, list[Tensor]]:
        weights: list[Tensor] = []
        for layer in self.layers:
            x, layer_weights = layer(x, real[:, None, None, :])
            if need_weights:
                weights.append(layer_weights)
        return self.final_norm(x), weights


@dataclass(frozen=True, slots=True)
class DecoderState(Rows):
    """What a Transformer decoder carries from step to step of a search, N rows."""

    caches: tuple[LayerCache, ...]  # of every layer
    visible: Tensor  # (N, 1, 1, S) which positions of the memory are real
    copies: State | None = None  # what can be written by copying, if anything
    begin: Tensor | None = None  # (N, D) in place of the begin symbol's vector, if anything is
    position: int = 0  # how many steps were made


class TransformerDecoder(nn.Module):
    """N decoder layers; pre-norm ends with one more layer norm."""

    def __init__(self, layers: int, shape: LayerShape) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(shape) for _ in range(layers))
        self.final_norm = shape.layer_norm() if shape.norm == "pre" else nn.Identity()

    def start(self, memory: Tensor, real: Tensor) -> DecoderState:
        """Project the memory (N, S, D), real (N, S), once for every layer."""
        layers = cast(Iterable[DecoderLayer], self.layers)
        caches = tuple(LayerCache(layer.cross_attention.project(memory)) for layer in layers)
        return DecoderState(caches, real[:, None, None, :])

    def forward(
        self, x: Tensor, state: DecoderState, need_weights: bool = False
    ) -> tuple[Tensor, DecoderState, dict[str, Tensor]]:
        """(N, T, D) embedded -> (N, T, D), the new state, and weights under the reports' names."""
        length, causal = x.shape[1], None
        if length > 1:
            ones = torch.ones(length, length, dtype=torch.bool, device=x.device)
            causal = ones.tril()[None, None]
        caches: list[LayerCache] = []
        weights: dict[str, Tensor] = {}
        for i, (layer, cache) in enumerate(zip(self.layers, state.caches, strict=True), start=1):
            x, cache, (block1, block2) = layer(x, cache, (causal, state.visible))
            caches.append(cache)
            if need_weights:
                weights[f"decoder_layer{i}_block1_self_att"] = block1
                weights[f"decoder_layer{i}_block2_decenc_att"] = block2
        after = replace(state, caches=tuple(caches), position=state.position + length)
        return self.final_norm(x), after, weights
