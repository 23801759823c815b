"""Dropout with cheap randomness, the same on every run of a seed.

torch's own dropout costs more than the linear layer before it on a CPU: it draws one float per
element from a generator that runs on one thread. Here the seed of torch's generator makes a pool of
masks, by SplitMix64 (Steele, Lea and Flood 2014), which as a function of a counter is a few
vectorised integer operations on all threads; each application takes a window of the pool, where
torch's generator says. So a mask costs one multiplication, and no memory of its own.

Within a window elements are independent. Two windows of one pool are shifted copies of each other:
they agree nowhere in particular (two of one size lie at the same place once in 16,384 times, large
ones once in a quarter of their size), but where one drops an element, the other drops one a random
distance away. The pool is made anew whenever torch is seeded, which the trainer does for every
batch.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

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
