"""Dropout with cheap randomness, the same on every run of a seed.

torch's own dropout costs more than the linear layer before it on a CPU: it draws one float per
element from a generator that runs on one thread. Here one number drawn from torch's generator
seeds SplitMix64 (Steele, Lea and Flood 2014), which as a function of a counter is a few vectorised
integer operations on all threads: 1.4 ms where `torch.nn.functional.dropout` takes 12.9 ms on
(6144, 256) bf16 (docs/results.md). The state of torch's generator so governs every mask.
"""

import torch
from torch import Tensor, nn

_GOLDEN = -7046029254386353131  # 2^64 / golden ratio, odd: SplitMix64's step
_MIX = -4658895280553007687, -7723592293110705685  # its two multipliers
_counters: dict[torch.device, Tensor] = {}


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

    def extra_repr(self) -> str:
        return f"rate={self.rate}"


def keep_factors(like: Tensor, rate: float) -> Tensor:
    """Independent 0 or ~1 / (1 - ``rate``), of the shape and format of ``like``."""
    scale = torch.tensor(1 / (1 - rate), dtype=like.dtype)
    as_int = {2: torch.int16, 4: torch.int32, 8: torch.int64}[like.element_size()]
    top = torch.iinfo(as_int).max
    threshold = round((top + 1) / float(scale))
    drawn = random_bits(like.numel() * like.element_size(), like.device).view(as_int)
    # Below the threshold the difference is negative, its sign bit spread out is all ones: `and`
    # with the bits of the scale leaves the scale itself, and zero elsewhere. Comparing and
    # converting booleans to numbers does the same four times slower.
    kept = drawn.bitwise_and_(top).sub_(threshold).bitwise_right_shift_(8 * like.element_size() - 1)
    factors = kept.bitwise_and_(int(scale.view(as_int))).view(like.dtype)
    return factors[: like.numel()].view(like.shape)


def random_bits(count: int, device: torch.device) -> Tensor:
    """At least ``count`` random bytes as int64: SplitMix64 from one draw of torch's generator."""
    words = (count + 7) // 8
    counters = _counters.get(device)
    if counters is None or counters.shape[0] < words:
        counters = _counters[device] = torch.arange(words, device=device) * _GOLDEN
    seed = torch.empty((), dtype=torch.int64, device=device).random_(-(2**63), 2**63 - 1)
    z = counters[:words] + seed
    # SplitMix64 shifts in zeros, torch the sign: the masks take the copies of the sign away.
    z.bitwise_xor_((z >> 30).bitwise_and_(2**34 - 1)).mul_(_MIX[0])
    z.bitwise_xor_((z >> 27).bitwise_and_(2**37 - 1)).mul_(_MIX[1])
    return z.bitwise_xor_((z >> 31).bitwise_and_(2**33 - 1))
