"""A digest of training pairs in their order, whether they lie in memory or in many shards.

Each pair is hashed together with its position; the hashes are added up modulo 2**256. So parts
that were made one after the other, by processes that may have died, are put together by adding.
(No seal against a forger, who could make other pairs of the same sum: it tells data apart.)
"""

import hashlib
import struct
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dialogist.data.collate import Pair

_MODULUS = 1 << 256


class PairSum:
    """The sum over pairs that follow each other, the first at position ``count`` of all."""

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.value = 0

    def add(self, sequences: Sequence[ArrayLike]) -> None:
        """Take in the next pair: its sequences (`Pair.sequences`) of numbers below 2**32."""
        arrays = [np.asarray(sequence, dtype="<u4") for sequence in sequences]
        sizes = (self.count, *(array.size for array in arrays))
        digest = hashlib.sha256(struct.pack(f"<{len(sizes)}Q", *sizes))
        for array in arrays:
            digest.update(array.tobytes())
        self.value = (self.value + int.from_bytes(digest.digest(), "little")) % _MODULUS
        self.count += 1


def combined(count: int, sums: Iterable[int]) -> str:
    """The fingerprint of ``count`` pairs from the sums over their parts, in hexadecimal."""
    return hashlib.sha256(f"{count} pairs {sum(sums) % _MODULUS:064x}".encode()).hexdigest()


def fingerprint_of(pairs: Iterable[Pair]) -> str:
    """The fingerprint of pairs in memory."""
    total = PairSum()
    for pair in pairs:
        total.add(pair.sequences)
    return combined(total.count, [total.value])
