"""Multi-head attention, its kernel for training on a CPU, and speaker-aware scores."""

import math
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor, nn

from dialogist.nn.autograd import fused_linears
from dialogist.nn.layers import Dropout, keep_factors
from dialogist.nn.packing import Packing

# Attention for training on a CPU, block by block (`dialogist.nn.attention` says what it is).

_BLOCK = 4 << 20
"""Elements of the weights that are computed at a time in training: they stay in the cache."""


def blockwise_attention(
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


# Attention that knows who speaks: a number for what is said by whom the summary is talking about.
#
# The score of a source position grows by a learned number, one for each head, where its utterance
# is spoken by the subject of the sentence being written (the first speaker named in it), and by
# another where it is spoken by the last speaker named at all. Both begin at zero. (Ours: what a
# network lacks that mixes up who is "I": docs/notes/2026-11-25-who-did-what.md. Relations as
# biases on scores: Shaw et al. 2018, section 3.1; Raffel et al. 2020, section 2.1.)
#
# A speaker is a unit vector, so such a number is a product like those of queries and keys. Keys
# have the speaker's vector behind them, queries the two numbers in the places of the two speakers:
# no mask of all targets over all sources is ever made, and every kernel for attention can be used
# as it is.

PEOPLE = 16
"""So many speakers of a dialogue are told apart; what further ones say matches nobody."""

_FACTOR = 60.0
"""The numbers are held as this part of what is added: Adam's steps are alike for all weights, and
these have further to go than an element of a matrix."""


class Mentions(nn.Module):
    """Which tokens name a speaker or end a sentence, and what follows from that.

    A speaker is his or her number, -1 nobody.
    """

    speaker_of: Tensor
    ends: Tensor

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        # The tokenizer's: not part of the weights file, and nothing can be read before `learn`.
        self.register_buffer("speaker_of", None, persistent=False)
        self.register_buffer("ends", None, persistent=False)

    def learn(self, speakers: Iterable[int], ends: Iterable[int], device: torch.device) -> None:
        """Token ids: the speakers' in order, and those that end a sentence."""
        numbers = torch.full((self.vocabulary,), -1)
        for number, token in enumerate([*speakers][:PEOPLE]):
            numbers[token] = number
        ending = torch.zeros(self.vocabulary, dtype=torch.bool)
        ending[list(ends)] = True
        self.speaker_of, self.ends = numbers.to(device), ending.to(device)

    def spoken(self, source: Tensor, utterance: Tensor | None, width: int) -> Tensor:
        """Whose words each source position is: (B, S) ids -> (B, width, PEOPLE) unit vectors or 0.

        An utterance is its speaker's if it begins with the speaker's token. ``utterance`` as in
        `Batch`; positions from S on are padding.
        """
        assert utterance is not None
        places = torch.arange(source.shape[1], device=source.device)
        before = nn.functional.pad(utterance[:, :-1], (1, 0), value=-1)
        begins = torch.where(utterance != before, places, 0).cummax(dim=1).values
        speakers = self.speaker_of[source.gather(1, begins)]
        known = speakers.masked_fill(utterance < 0, -1)
        return _unit(nn.functional.pad(known, (0, width - source.shape[1]), value=-1))

    def nobody(self, rows: int) -> Tensor:
        """Before the first token: (N, 2) the subject, and the last speaker named."""
        return self.speaker_of.new_full((rows, 2), -1)

    def after(self, named: Tensor, tokens: Tensor) -> Tensor:
        """What (N, 2) is after one more token of each row (N,)."""
        speaker = self.speaker_of[tokens]
        subject, last = named.unbind(dim=1)
        subject = torch.where(subject < 0, speaker, subject).masked_fill(self.ends[tokens], -1)
        return torch.stack([subject, torch.where(speaker < 0, last, speaker)], dim=1)

    def along(self, tokens: Tensor) -> Tensor:
        """After each token of (B, T): (B, T, 2)."""
        named, found = self.nobody(len(tokens)), []
        for column in tokens.unbind(dim=1):
            named = self.after(named, column)
            found.append(named)
        return torch.stack(found, dim=1)

    @staticmethod
    def units(named: Tensor) -> Tensor:
        """(..., 2) numbers -> (..., 2, PEOPLE), what `SpeakerMatch` takes."""
        return _unit(named)


def _unit(speakers: Tensor) -> Tensor:
    """(...) numbers -> (..., PEOPLE) unit vectors, zeros for nobody."""
    return nn.functional.one_hot(speakers + 1, PEOPLE + 1)[..., 1:]


class SpeakerMatch(nn.Module):
    """The two numbers of each head of an attention block, (H, 2)."""

    def __init__(self, heads: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(heads, 2))

    def keys(self, key: Tensor, spoken: Tensor) -> Tensor:
        """Keys (N, H, S, d_k), and who says each position (N, S, C) -> (N, H, S, d_k + C)."""
        units = spoken.to(key.dtype)[:, None].expand(-1, key.shape[1], -1, -1)
        return torch.cat([key, units], dim=3)

    def queries(self, rows: Tensor, named: Tensor) -> Tensor:
        """Queries (P, H * d_k), and who was named (P, 2, C) -> (P, H * (d_k + C)).

        Scaled so that dividing products by the root of the new width gives the old scores, and the
        numbers added to them.
        """
        heads, people = len(self.weight), named.shape[2]
        own = rows.view(len(rows), heads, -1)
        width = own.shape[2]
        matched = (_FACTOR * self.weight) @ named.to(self.weight.dtype)  # (P, H, C)
        wide = width + people
        added = (matched * math.sqrt(wide)).to(rows.dtype)
        return torch.cat([own * math.sqrt(wide / width), added], dim=2).flatten(1)


# Scaled dot-product and multi-head attention (Vaswani et al. 2017, equations 1 and 3.2.2).
#
# Masks are additive (`dialogist.nn.packing`). Attention works on heads (N, H, T, d_k), the
# projections around it on rows of real tokens (`dialogist.nn.packing`).

WantedWeights: TypeAlias = bool | Literal["last"]
"""Which attention weights a model gives: all (True), none (False), or only those of the decoder's
last attention over the memory, which is what evidence needs."""

_KEYS = 160
"""So many keys a product takes in one go: MKL splits longer sums (measured: 192 and up)."""


def attention_weights(
    query: Tensor, key: Tensor, mask: Tensor | None, dtype: torch.dtype | None = None
) -> Tensor:
    """softmax(Q K^T / sqrt(d_k) + M): (..., T, d_k), (..., S, d_k) -> (..., T, S).

    ``dtype``: of the softmax; None: that of the queries.
    """
    batch, (rows, width) = query.shape[:-2], query.shape[-2:]
    columns = key.shape[-2]
    if mask is None:
        mask = query.new_zeros(())
    else:  # (..., 1 or T, S) -> (X, 1 or T, S), X being the product of the batch dimensions
        mask = mask.expand(*batch, mask.shape[-2], columns).reshape(-1, mask.shape[-2], columns)
        mask = mask.to(query.dtype)
    flat_query, flat_key = query.reshape(-1, rows, width), key.reshape(-1, columns, width)
    # Scaling and mask ride along with the product: two passes less over the scores.
    scores = torch.baddbmm(mask, flat_query, flat_key.transpose(1, 2), alpha=1 / math.sqrt(width))
    return torch.softmax(scores, dim=-1, dtype=dtype).view(*batch, rows, columns)


def attend(
    query: Tensor, memory: "KeyValue", mask: Tensor | None, dropout: Dropout, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """Attention over heads (N, H, T, d_k), with dropout on the weights that are used.

    On a GPU the fused kernel is taken unless the weights are wanted. On a CPU explicit forms are
    faster in training, where the fused kernel takes 2.7 times as long, its backward above all; and
    in use where keys lie as `MultiHeadAttention.project` has them. Where they do not, as in the
    past of a decoder, the fused kernel takes half as long (18 us for 36;
    docs/notes/2026-11-24-summary-speed.md).
    """
    fused = query.is_cuda or (memory.key.stride(-1) == 1 and not torch.is_grad_enabled())
    if fused and not need_weights:
        return fused_attention(query, memory, mask, dropout), None
    if torch.is_grad_enabled() and not need_weights:
        return blockwise_attention(query, *memory, mask, dropout), None
    weights = attention_weights(query, memory.key, mask)
    return blend(dropout(weights), memory.value), weights if need_weights else None


def blend(weights: Tensor, value: Tensor) -> Tensor:
    """The values by their weights: (..., T, S), (..., S, d_v) -> (..., T, d_v).

    The same to the last bit however much padding there is behind (weights of zero): fp32 products
    of more than `_KEYS` keys are added up in another order depending on their number, so outside
    of training they are taken in blocks. In int8 the last bit can decide which way an activation
    is rounded, and so let a dialogue's neighbours in a batch have a say in its summary.
    """
    keys = value.shape[-2]
    if keys <= _KEYS or weights.is_cuda or weights.dtype != torch.float32 or weights.requires_grad:
        return weights @ value
    flat, held = weights.flatten(0, -3), value.flatten(0, -3)
    blended = torch.bmm(flat[:, :, :_KEYS], held[:, :_KEYS])
    for start in range(_KEYS, keys, _KEYS):
        block = slice(start, start + _KEYS)
        blended = torch.baddbmm(blended, flat[:, :, block], held[:, block])
    return blended.view(*weights.shape[:-1], value.shape[-1])


def fused_attention(
    query: Tensor, memory: "KeyValue", mask: Tensor | None, dropout: Dropout
) -> Tensor:
    """`attend` by torch's fused kernels: (N, H, T, d_k)."""
    rate = dropout.rate if dropout.training else 0.0
    return nn.functional.scaled_dot_product_attention(
        query, memory.key, memory.value, attn_mask=mask, dropout_p=rate
    )


def attend_apart(rows: Tensor, packing: Packing, heads: int) -> Tensor:
    """Self-attention of each sequence on its own, by torch's fused kernel.

    For encoders in use on a CPU: no padding, no copies into a grid, no weights in memory, and a
    sequence's numbers are the same whatever is beside it. 176 tokens take 0.6 ms for the grid's
    1.1 to 2.3, 14 dialogues at once 16 for 43 (docs/notes/2026-11-24-summary-speed.md).

    Args:
        rows: (P, 3 * H * d_k) queries, keys and values side by side.

    Returns:
        (P, H * d_k).
    """
    made = []
    for part in torch.split(rows[: packing.count], packing.lengths):
        grid = part.view(1, len(part), 3, heads, -1).transpose(1, 3)  # (1, H, 3, S, d_k)
        query, key, value = grid.unbind(2)
        blended = nn.functional.scaled_dot_product_attention(query, key, value)
        made.append(blended.transpose(1, 2).flatten(2)[0])
    spare = len(rows) - packing.count
    return torch.cat([*made, made[-1][-1:].expand(spare, -1)])


class KeyValue(NamedTuple):
    """What is attended to, projected once: key (N, H, S, d_k) and value (N, H, S, d_k)."""

    key: Tensor
    value: Tensor

    def select(self, rows: Tensor) -> "KeyValue":
        """The given rows, in the given order, each tensor lying as it did."""
        lying = self.key.transpose(2, 3)
        if lying.is_contiguous():
            key = lying.index_select(0, rows).transpose(2, 3)
        else:
            key = self.key.index_select(0, rows)
        return KeyValue(key, self.value.index_select(0, rows))

    def append(self, later: "KeyValue") -> "KeyValue":
        """Further positions at the end."""
        return KeyValue(
            torch.cat([self.key, later.key], dim=2), torch.cat([self.value, later.value], dim=2)
        )


class MultiHeadAttention(nn.Module):
    """Multi-head attention whose key width per head is free of the model's width.

    The reports use Keras' layer with ``key_dim = d_model`` *per head*, so 19 heads on d = 15 build;
    the usual choice is ``d_model // heads``. ``memory_width`` is the width of what is attended to.
    ``match``: it knows who speaks (`dialogist.nn.attention`).
    """

    def __init__(
        self,
        width: int,
        heads: int,
        key_width: int,
        memory_width: int,
        dropout: float,
        match: bool = False,
    ) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, heads * key_width)
        self.key = nn.Linear(memory_width, heads * key_width)
        self.value = nn.Linear(memory_width, heads * key_width)
        self.output = nn.Linear(heads * key_width, width)
        self.dropout = Dropout(dropout)
        self.match = SpeakerMatch(heads) if match else None
        self.merged: nn.Module | None = None
        self.format: torch.dtype | None = None

    def merge(
        self, linear: Callable[[Tensor, Tensor], nn.Module], format: torch.dtype | None = None
    ) -> None:
        """Compute query, key and value of one input as one product: for self-attention in use.

        ``linear`` makes a layer of a weight (O, I) and a bias (O,). The three layers are given up.
        ``format``: of queries, keys and values; None: what the layer gives.
        """
        self.format = format
        parts = (self.query, self.key, self.value)
        weight = torch.cat([part.weight.detach() for part in parts])
        self.merged = linear(weight, torch.cat([part.bias.detach() for part in parts]))
        del self.query, self.key, self.value

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

    def project(self, memory: Tensor, packing: Packing, spoken: Tensor | None = None) -> KeyValue:
        """Rows (P, memory_width) -> keys and values of every head.

        ``spoken``: (N, S, C) who says each position, for attention that knows who speaks.

        Outside of training the keys lie in memory as the product with them reads them, (N, H, d_k,
        S): few queries at a time meet them again and again, in 0.6 of the time
        (docs/notes/2026-11-24-summary-speed.md).
        """
        rows, value = fused_linears(memory, [self.key, self.value])
        key = packing.split(rows, self.heads)
        if self.match is not None and spoken is not None:
            key = self.match.keys(key, spoken)
        if not torch.is_grad_enabled():
            key = key.transpose(2, 3).contiguous().transpose(2, 3)
        return KeyValue(key, packing.split(value, self.heads))

    def project_all(self, x: Tensor, packing: Packing) -> tuple[Tensor, KeyValue]:
        """Rows (P, D) that attend to each other -> queries (N, H, T, d_k), keys and values."""
        if self.merged is None:
            made = fused_linears(x, [self.query, self.key, self.value])
            query, key, value = (packing.split(rows, self.heads) for rows in made)
        else:
            rows = self._merged_rows(x)
            query, key, value = packing.split(rows, 3 * self.heads).chunk(3, dim=1)
        return query, KeyValue(key, value)

    def _merged_rows(self, x: Tensor) -> Tensor:
        """(P, D) -> (P, 3 * H * d_k), as `merge` said."""
        assert self.merged is not None
        rows: Tensor = self.merged(x)
        return rows if self.format is None else rows.to(self.format)

    def apart(self, x: Tensor, packing: Packing) -> Tensor:
        """Rows (P, D) attend to their own sequence, one after the other (`attend_apart`)."""
        if self.merged is None:
            rows = torch.cat(fused_linears(x, [self.query, self.key, self.value]), dim=1)
        else:
            rows = self._merged_rows(x)
        made: Tensor = self.output(attend_apart(rows, packing, self.heads))
        return made

    def forward(
        self,
        query: Tensor,
        packing: Packing,
        memory: KeyValue,
        mask: Tensor | None,
        named: Tensor | None = None,
        need_weights: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Rows (P, D), which lie as ``packing`` says, attend to ``memory``.

        Args:
            mask: broadcastable to (N, H, T, S), T and S being the widths of the packings.
            named: (P, 2, C) of whom is talked, if ``memory`` knows who speaks.
            need_weights: return the weights (N, H, T, S); a fused kernel has none.
        """
        rows = self.query(query)
        if self.match is not None and named is not None:
            rows = self.match.queries(rows, named)
        heads = packing.split(rows, self.heads)
        return self.attend(heads, packing, memory, mask, need_weights)

    def attend(
        self,
        heads: Tensor,
        packing: Packing,
        memory: KeyValue,
        mask: Tensor | None,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """`forward` from projected queries (N, H, T, d_k)."""
        blended, weights = attend(heads, memory, mask, self.dropout, need_weights)
        return self.output(packing.join(blended)), weights
