"""Layers that every network uses: layer norm, dropout, embeddings, positions."""

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from dialogist.errors import DataError
from dialogist.nn.autograd import embedding_lookup

# Layer norm (Ba, Kiros and Hinton 2016) whose parameters stay fp32 in a bf16 model.


class LayerNorm(nn.LayerNorm):
    """torch's, for input of any format: the CPU kernel mixes formats, the GPU's does not."""

    def forward(self, x: Tensor) -> Tensor:
        format = x.dtype if x.is_cuda else self.weight.dtype
        weight, bias = self.weight.to(format), self.bias.to(format)
        return nn.functional.layer_norm(x, self.normalized_shape, weight, bias, self.eps)


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


# Dropout with cheap randomness, the same on every run of a seed.
#
# torch's own dropout costs more than the linear layer before it on a CPU: it draws one float per
# element from a generator that runs on one thread. Here the seed of torch's generator makes a pool
# of masks, by SplitMix64 (Steele, Lea and Flood 2014), which as a function of a counter is a few
# vectorised integer operations on all threads; each application takes a window of the pool, where
# torch's generator says. So a mask costs one multiplication, and no memory of its own.
#
# Within a window elements are independent. Two windows of one pool are shifted copies of each
# other: they agree nowhere in particular (two of one size lie at the same place once in 16,384
# times, large ones once in a quarter of their size), but where one drops an element, the other
# drops one a random distance away. The pool is made anew whenever torch is seeded, which the
# trainer does for every batch.

_GOLDEN = -7046029254386353131  # 2^64 / golden ratio, odd: SplitMix64's step
_MIX = -4658895280553007687, -7723592293110705685  # its two multipliers
_LEAST = 1 << 14  # places for a window
_MOST = 8  # times what is asked for first, and a pool is not made any larger

_Key = tuple[torch.dtype, torch.device, float]


class Dropout(nn.Module):
    """Zero elements with probability ``rate`` while training and scale the others.

    The scale is 1 / (1 - rate) as the number format has it; where that is rounded (bf16), the
    probability is adjusted so that the expected value of an element stays exactly the same.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0:
            return x
        if x.is_cuda:  # there torch's own is one kernel, and cheap
            return torch.nn.functional.dropout(x, self.rate)
        return x * keep_factors(x, self.rate)

    def added(self, residual: Tensor, x: Tensor) -> Tensor:
        """``residual`` + dropout(``x``), on a CPU in one pass over memory."""
        if not self.training or self.rate == 0 or x.is_cuda:
            dropped: Tensor = self(x)
            return residual + dropped
        return torch.addcmul(residual, x, keep_factors(x, self.rate))

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


@dataclass(slots=True)
class _Pool:
    """Factors, the first of the endless sequence that belongs to a seed; and how many were used."""

    seed: int
    factors: Tensor
    used: int


_pools: dict[_Key, _Pool] = {}


def keep_factors(like: Tensor, rate: float) -> Tensor:
    """Independent 0 or ~1 / (1 - ``rate``), of the shape and format of ``like``; not to be changed.

    They depend on torch's seed, the state of its generator, the number of elements, the format and
    the rate; not on what was asked for before.
    """
    count = like.numel()
    places = max(_LEAST, count // 4)
    first = int(torch.randint(places, ()))
    pool = _pool((like.dtype, like.device, rate), count + places)
    return pool[first : first + count].view(like.shape)


def _pool(key: _Key, size: int) -> Tensor:
    """At least ``size`` factors that belong to torch's seed."""
    seed = torch.initial_seed()
    pool = _pools.get(key)
    if pool is None or pool.seed != seed or len(pool.factors) < size:
        # Batches are alike: with the size that the one before needed, a pool is made once a batch.
        likely = 0 if pool is None else min(pool.used, _MOST * size)
        pool = _pools[key] = _Pool(seed, _factors(key, max(size, likely), seed), 0)
    pool.used = max(pool.used, size)
    return pool.factors


def _factors(key: _Key, size: int, seed: int) -> Tensor:
    dtype, device, rate = key
    scale = torch.tensor(1 / (1 - rate), dtype=dtype)
    as_int = {2: torch.int16, 4: torch.int32, 8: torch.int64}[dtype.itemsize]
    top = torch.iinfo(as_int).max
    threshold = round((top + 1) / float(scale))
    drawn = random_bits(size * dtype.itemsize, seed, device).view(as_int)
    # Below the threshold the difference is negative, its sign bit spread out is all ones: `and`
    # with the bits of the scale leaves the scale itself, and zero elsewhere. Comparing and
    # converting booleans to numbers does the same four times slower.
    kept = drawn.bitwise_and_(top).sub_(threshold).bitwise_right_shift_(8 * dtype.itemsize - 1)
    return kept.bitwise_and_(int(scale.view(as_int))).view(dtype)[:size]


def random_bits(count: int, seed: int, device: torch.device) -> Tensor:
    """At least ``count`` random bytes as int64: SplitMix64 of ``seed``, its own word the first."""
    words = (count + 7) // 8
    first = (seed + 2**63) % 2**64 - 2**63  # torch's integers have a sign
    z = torch.arange(words, device=device).mul_(_GOLDEN).add_(first)
    # SplitMix64 shifts in zeros, torch the sign: the masks take the copies of the sign away.
    z.bitwise_xor_((z >> 30).bitwise_and_(2**34 - 1)).mul_(_MIX[0])
    z.bitwise_xor_((z >> 27).bitwise_and_(2**37 - 1)).mul_(_MIX[1])
    return z.bitwise_xor_((z >> 31).bitwise_and_(2**33 - 1))


# A table of embeddings that may be narrower than the layers it feeds.


class MappedEmbedding(nn.Embedding):
    """A table (V, ``embedding``) whose rows a linear layer maps to ``width`` where the two differ.

    (Liu et al., KDD 2019, section 3.3.2.) The layer belongs to the table: who shares the one shares
    the other.
    """

    def __init__(self, size: int, embedding: int, width: int) -> None:
        super().__init__(size, embedding)
        self.projection = nn.Linear(embedding, width) if embedding != width else None

    def forward(self, input: Tensor) -> Tensor:
        """(...) ids -> (..., width), in the number format of what makes them."""
        x = embedding_lookup(self.weight, input)
        if self.projection is None:
            return x
        mapped: Tensor = self.projection(x.to(self.projection.weight.dtype))
        return mapped


# Positions: fixed sinusoids (Vaswani et al. 2017, section 3.5) or a learned table.

PositionKind = Literal["sinusoidal", "learned"]


def sinusoids(positions: int, width: int) -> Tensor:
    """(positions, width): sin on even, cos on odd columns; odd widths end on a sine.

    PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos(pos / 10000^(2i/d)).
    """
    position = torch.arange(positions, dtype=torch.float64)[:, None]
    even = torch.arange(0, width, 2, dtype=torch.float64)
    angles = position / torch.pow(10000.0, even / width)  # (positions, ceil(width / 2))
    table = torch.zeros(positions, width, dtype=torch.float64)
    table[:, 0::2] = torch.sin(angles)
    table[:, 1::2] = torch.cos(angles[:, : width // 2])
    return table.float()


class Positions(nn.Module):
    """Adds position vectors to embeddings, and normalises the sum as BERT does if asked to.

    ``norm_eps``: of the layer norm behind the sum; None: there is none.
    """

    table: Tensor

    def __init__(
        self, kind: PositionKind, positions: int, width: int, norm_eps: float | None = None
    ) -> None:
        super().__init__()
        self.norm = None if norm_eps is None else LayerNorm(width, eps=norm_eps)
        if kind == "learned":
            self.table = nn.Parameter(nn.init.normal_(torch.empty(positions, width), std=0.02))
        else:  # computed anew at loading: not part of the weights file
            self.register_buffer("table", torch.empty(positions, width), persistent=False)
            if not self.table.is_meta:  # there `restore` computes it, once the shape is checked
                self.restore(self.table.device)

    def restore(self, device: torch.device) -> None:
        """Compute the sinusoids anew: for a module that was built on the meta device."""
        if not isinstance(self.table, nn.Parameter):
            self.table = sinusoids(*self.table.shape).to(device)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """(P, D) and each row's position (P,), or one position for all (1,) -> (P, D)."""
        placed = x + self.table.index_select(0, positions)
        return placed if self.norm is None else self.norm(placed)

    def require(self, length: int) -> None:
        """See that sequences of ``length`` tokens fit the table.

        Raises:
            DataError: they do not.
        """
        if length > self.table.shape[0]:
            raise DataError(
                f"a sequence of {length} tokens is longer than the model's {self.table.shape[0]} "
                "positions: set a lower limit (source_tokens, summary_tokens, max_tokens)"
            )


# From token ids to the layers' input: a table, a scale, positions, dropout.


class TokenEmbedding(nn.Module):
    """Rows of token ids (P,) -> (P, D).

    ``table`` may be shared with others. Its vectors are scaled by sqrt(D) before the positions are
    added (Vaswani et al. 2017, section 3.4).
    """

    def __init__(self, table: MappedEmbedding, width: int, positions: int, dropout: float) -> None:
        super().__init__()
        self.table = table
        self.scale = math.sqrt(width)
        self.positions = Positions("sinusoidal", positions, width)
        self.dropout = Dropout(dropout)

    def forward(self, ids: Tensor, places: Tensor, dtype: torch.dtype) -> Tensor:
        """(P,) ids at the positions ``places`` -> (P, D) in the layers' number format."""
        return self.place(self.vectors(ids, dtype), places)

    def vectors(self, ids: Tensor, dtype: torch.dtype) -> Tensor:
        """(P,) -> (P, D), without positions."""
        x: Tensor = self.table(ids)
        return (x * self.scale).to(dtype)

    def place(self, x: Tensor, places: Tensor) -> Tensor:
        """(P, D) and where each row stands -> (P, D) with positions, and with dropout."""
        placed: Tensor = self.dropout(self.positions(x, places).to(x.dtype))
        return placed


# Rows of an embedding table that training leaves as they are (word vectors that are kept).
#
# The mark is a buffer of the table's module: it moves with the model, and is not saved with it.
# Whoever changes weights heeds it (`dialogist.training.master_weights`).

_MARK = "frozen_rows"


def freeze_rows(table: nn.Embedding, rows: Tensor) -> None:
    """Keep the given rows; ``rows``: (n,) ids, each once."""
    table.register_buffer(_MARK, rows.to(table.weight.device), persistent=False)


def frozen_rows(model: nn.Module) -> dict[str, Tensor]:
    """The frozen rows (n,) of every table that has some, by its weight's first name."""
    names = {id(weight): name for name, weight in model.named_parameters()}
    marked = (m for m in model.modules() if isinstance(m, nn.Embedding) and hasattr(m, _MARK))
    return {names[id(table.weight)]: table.get_buffer(_MARK) for table in marked}
