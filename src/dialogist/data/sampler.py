"""Which examples form which batch, as a pure function of (seed, epoch).

Because an epoch's plan can be computed again at any time, a training run resumes from two
integers (epoch, next batch) and sees each example exactly once per epoch, killed or not.
"""

import random
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from dialogist.config import Config
from dialogist.data.collate import Pair

Plan = list[list[int]]
"""Batches of example indices, in the order of training."""


class ShuffleBufferConfig(Config):
    """``tf.data``'s ``shuffle(buffer).batch(size)``, as report 1: 64 examples, buffer 10,000."""

    kind: Literal["shuffle-buffer"] = "shuffle-buffer"
    examples: int = Field(64, ge=1)
    buffer: int = Field(10_000, ge=1)

    def plan(self, pairs: Sequence[Pair], seed: int, epoch: int) -> Plan:
        """Draw each next example at random from a buffer that is refilled in file order."""
        chance = _chance(seed, epoch)
        buffer = list(range(min(self.buffer, len(pairs))))
        order: list[int] = []
        for following in range(len(buffer), len(pairs)):
            place = chance.randrange(len(buffer))
            order.append(buffer[place])
            buffer[place] = following
        chance.shuffle(buffer)
        order += buffer
        return [order[i : i + self.examples] for i in range(0, len(order), self.examples)]


class TokenBucketConfig(Config):
    """Batches of like lengths, bounded by their padded size in tokens.

    Examples are sorted by source, then target length within random chunks of ``chunk`` batches'
    worth, so that an epoch differs from the last and padding stays small.
    """

    kind: Literal["token-bucket"] = "token-bucket"
    tokens: int = Field(6_000, ge=16)
    chunk: int = Field(24, ge=1)

    def plan(self, pairs: Sequence[Pair], seed: int, epoch: int) -> Plan:
        """Shuffle, sort within chunks, cut into batches, shuffle the batches."""
        chance = _chance(seed, epoch)
        order = list(range(len(pairs)))
        chance.shuffle(order)
        # Ties in length keep the shuffled order, so equal lengths still mix between epochs.
        batches: Plan = []
        for chunk in self._chunks(order, pairs):
            chunk.sort(key=lambda i: (len(pairs[i].source), len(pairs[i].target)))
            batches += self._cut(chunk, pairs)
        chance.shuffle(batches)
        return batches

    def _chunks(self, order: list[int], pairs: Sequence[Pair]) -> list[list[int]]:
        mean = max(1, sum(map(_size, pairs)) // max(1, len(pairs)))
        width = max(1, self.chunk * self.tokens // mean)
        return [order[i : i + width] for i in range(0, len(order), width)]

    def _cut(self, chunk: Sequence[int], pairs: Sequence[Pair]) -> Plan:
        batches: Plan = []
        source = target = 0
        for i in chunk:
            grown_source = max(source, len(pairs[i].source))
            grown_target = max(target, len(pairs[i].target))
            full = batches and (len(batches[-1]) + 1) * (grown_source + grown_target) > self.tokens
            if not batches or full:
                batches.append([])
                grown_source, grown_target = len(pairs[i].source), len(pairs[i].target)
            batches[-1].append(i)
            source, target = grown_source, grown_target
        return batches


SamplerConfig = Annotated[ShuffleBufferConfig | TokenBucketConfig, Field(discriminator="kind")]


def _size(pair: Pair) -> int:
    return len(pair.source) + len(pair.target)


def _chance(seed: int, epoch: int) -> random.Random:
    return random.Random(f"dialogist sampler {seed} {epoch}")
