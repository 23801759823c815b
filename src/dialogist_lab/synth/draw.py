"""Random draws of one pair: only ``random()`` is used, whose sequence Python promises to keep."""

import math
from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

_T = TypeVar("_T")


def seed_of(*parts: object) -> int:
    """A 64-bit number made of the parts, the same in every process and release."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class Draw:
    """What is left to chance, as a pure function of the seed."""

    __slots__ = ("random",)

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random

    def below(self, end: int) -> int:
        """A whole number from 0 to ``end - 1``."""
        return int(self.random() * end)

    def pick(self, values: Sequence[_T]) -> _T:
        """One of the values, each as likely."""
        return values[int(self.random() * len(values))]

    def chance(self, share: float) -> bool:
        """True in that share (0 to 1) of the draws."""
        return self.random() < share

    def between(self, low: float, high: float) -> float:
        """A number from ``low`` to ``high``."""
        return low + (high - low) * self.random()

    def weighted(self, weights: Sequence[float]) -> int:
        """A position, as likely as its weight says; weights need not add up to 1."""
        rest = self.random() * sum(weights)
        for position, weight in enumerate(weights):
            rest -= weight
            if rest < 0:
                return position
        return len(weights) - 1

    def normal(self) -> float:
        """A draw of the standard normal distribution (Box and Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.random()))
        return radius * math.cos(2.0 * math.pi * self.random())
