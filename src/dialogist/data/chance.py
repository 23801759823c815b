"""`Chance`: random numbers by name, the same in every process, release and order of asking.

What an epoch makes of a dialogue is drawn from these: a run goes on exactly without saving any
state of a generator.
"""

import hashlib
import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from random import Random

from dialogist.records import Dialogue

_LARGEST_MEAN = 100.0  # beyond it exp(-mean) is of no use


class Chance:
    """Draws that are a function of what it is named by, such as (seed, epoch, row).

    Python promises to keep the numbers of `random.Random.random` for a seed; no more is used.
    """

    def __init__(self, *name: str | int) -> None:
        text = "dialogist chance " + " ".join(map(str, name))
        digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
        self._next = Random(int.from_bytes(digest, "big")).random

    def generator(self) -> Random:
        """The standard library's generator, for rules that take one."""
        return Random(int(self._next() * (1 << 53)))

    def share(self) -> float:
        """Uniform in [0, 1)."""
        return self._next()

    def below(self, count: int) -> int:
        """One of 0 .. count - 1, all alike."""
        return int(self._next() * count)

    def order(self, count: int) -> list[int]:
        """A permutation of 0 .. count - 1."""
        keys = [self._next() for _ in range(count)]
        return sorted(range(count), key=keys.__getitem__)

    def choice(self, weights: Sequence[float]) -> int:
        """The number of one of the weights, as often as it weighs (their sum is above 0)."""
        left = self._next() * sum(weights)
        for number, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return number
        return max(i for i, weight in enumerate(weights) if weight > 0)  # rounding

    def poisson(self, mean: float) -> int:
        """A Poisson number, by inversion (``mean`` at most 100)."""
        assert 0 <= mean <= _LARGEST_MEAN
        left, number, part = self._next(), 0, math.exp(-mean)
        while left >= part and number < 10 * _LARGEST_MEAN:
            left -= part
            number += 1
            part *= mean / number
        return number


# A fixed random sample of a stream of dialogues, the same however the stream is read.


class FixedSample:
    """Keeps those ``size`` dialogues whose positions have the smallest hashes.

    So it needs no memory of what went before, and a smaller sample is the head of a larger one.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._position = 0
        self._kept: list[tuple[int, Dialogue]] = []  # a heap, the largest hash (negated) on top

    def offer(self, dialogue: Dialogue) -> None:
        """Take in the next dialogue of the stream."""
        hashed = blake2b(f"train sample {self._position}".encode(), digest_size=16).digest()
        entry = (-int.from_bytes(hashed, "big"), dialogue)
        self._position += 1
        if len(self._kept) < self.size:
            heapq.heappush(self._kept, entry)
        elif self._kept and entry > self._kept[0]:
            heapq.heapreplace(self._kept, entry)

    def watch(self, dialogues: Iterable[Dialogue]) -> Iterator[Dialogue]:
        """Pass a stream on, and offer all of it."""
        for dialogue in dialogues:
            self.offer(dialogue)
            yield dialogue

    def dialogues(self) -> list[Dialogue]:
        """The sample, in the order of the hashes."""
        return [dialogue for _, dialogue in sorted(self._kept, key=lambda entry: -entry[0])]
