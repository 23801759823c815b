"""Which pairs form which batch, as a pure function of (seed, epoch).

Because an epoch's plan can be computed again at any time, a training run resumes from two
integers (epoch, next batch) and sees each pair exactly once per epoch, killed or not.
"""

import hashlib
from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from dialogist.config import Config
from dialogist.data.collate import Lengths

Indices: TypeAlias = NDArray[np.int64]

_BLOCK = 1 << 20  # draws from the shuffle buffer made at once; another number, another order


class BatchPlan(Sequence[Indices]):
    """The batches of an epoch in the order of training; 8 bytes a pair, 8 a batch.

    Attributes:
        indices: (pairs,) the indices of all pairs, batch after batch.
        ends: (batches,) where in ``indices`` each batch ends.
    """

    def __init__(self, indices: Indices, ends: Indices) -> None:
        self.indices = indices
        self.ends = ends

    def __len__(self) -> int:
        """How many batches."""
        return len(self.ends)

    @overload
    def __getitem__(self, index: int) -> Indices: ...

    @overload
    def __getitem__(self, index: slice) -> list[Indices]: ...

    def __getitem__(self, index: int | slice) -> Indices | list[Indices]:
        """The indices of the pairs of a batch, or of each of several batches."""
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        start = self.ends[place - 1] if place else 0
        return self.indices[start : self.ends[place]]


class ShuffleBufferConfig(Config):
    """``tf.data``'s ``shuffle(buffer).batch(size)``, as report 1: 64 examples, buffer 10,000.

    ``examples``: pairs of a batch. ``buffer``: pairs that are shuffled at a time.
    """

    kind: Literal["shuffle-buffer"] = "shuffle-buffer"
    examples: int = Field(64, ge=1)
    buffer: int = Field(10_000, ge=1)

    def plan(self, lengths: Lengths, seed: int, epoch: int) -> BatchPlan:
        """Draw each next pair at random from a buffer that is refilled in file order."""
        chance, count = _Chance(seed, epoch), len(lengths)
        buffer = np.arange(min(self.buffer, count))
        order = np.empty(count, dtype=np.int64)
        left = 0
        for start in range(len(buffer), count, _BLOCK):
            incoming = np.arange(start, min(start + _BLOCK, count))
            places = chance.places(len(incoming), len(buffer))
            order[left : left + len(incoming)] = _drawn(buffer, places, incoming)
            left += len(incoming)
        order[left:] = buffer[chance.order(len(buffer))]
        ends = np.arange(self.examples, count + self.examples, self.examples)
        return BatchPlan(order, np.minimum(ends, count))


class TokenBucketConfig(Config):
    """Batches of like lengths, bounded by their padded size in tokens.

    Pairs are sorted by source, then target length within random chunks of ``chunk`` batches'
    worth, so that an epoch differs from the last and padding stays small.

    ``tokens``: padded size of a batch at most. ``chunk``: batches that are sorted together.
    """

    kind: Literal["token-bucket"] = "token-bucket"
    tokens: int = Field(6_000, ge=16)
    chunk: int = Field(24, ge=1)

    def plan(self, lengths: Lengths, seed: int, epoch: int) -> BatchPlan:
        """Shuffle, sort within chunks, cut into batches, shuffle the batches."""
        chance, count = _Chance(seed, epoch), len(lengths)
        order = chance.order(count)
        mean = max(1, int(lengths.sum(dtype=np.int64)) // max(1, count))
        width = max(1, self.chunk * self.tokens // mean)
        sizes: list[int] = []
        for start in range(0, count, width):
            chunk = order[start : start + width]  # a view: what follows puts `order` in order
            # Ties in length keep the shuffled order, so equal lengths still mix between epochs.
            chunk[:] = chunk[np.lexsort((lengths[chunk, 1], lengths[chunk, 0]))]
            sizes += self._cut(lengths[chunk])
        return _shuffled(order, np.array(sizes, dtype=np.int64), chance)

    def _cut(self, rows: Lengths) -> list[int]:
        """The sizes of the batches that pairs, given by their lengths, source rising, form."""
        sizes: list[int] = []
        size = longest = 0
        for source, target in rows.tolist():
            longest = max(longest, target)
            if size and (size + 1) * (source + longest) > self.tokens:
                sizes.append(size)
                size, longest = 0, target
            size += 1
        return [*sizes, size]


SamplerConfig = Annotated[ShuffleBufferConfig | TokenBucketConfig, Field(discriminator="kind")]


class _Chance:
    """Random numbers that a later NumPy draws again.

    It promises to keep the raw bits of a generator, not what its permutations make of them.
    """

    def __init__(self, seed: int, epoch: int) -> None:
        digest = hashlib.sha256(f"dialogist sampler {seed} {epoch}".encode()).digest()
        self._bits = np.random.PCG64(int.from_bytes(digest, "little"))

    def order(self, count: int) -> Indices:
        """A permutation of ``count`` numbers."""
        return np.argsort(self._raw(count), kind="stable")

    def places(self, count: int, size: int) -> Indices:
        """``count`` numbers below ``size`` (even to one part in 2**64 / size)."""
        return (self._raw(count) % np.uint64(size)).astype(np.int64)

    def _raw(self, count: int) -> NDArray[np.uint64]:
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64)


def _drawn(buffer: Indices, places: Indices, incoming: Indices) -> Indices:
    """What comes out when each of ``incoming`` in turn takes a place; ``buffer`` is updated.

    Out comes what was put there last: by an earlier draw of the same place, or before all draws.
    """
    by_place = np.argsort(places, kind="stable")
    place = places[by_place]
    again = place[1:] == place[:-1]
    out = buffer[place]
    out[1:][again] = incoming[by_place[:-1][again]]
    last = np.append(~again, True)
    buffer[place[last]] = incoming[by_place[last]]
    drawn = np.empty_like(out)
    drawn[by_place] = out
    return drawn


def _shuffled(order: Indices, sizes: Indices, chance: _Chance) -> BatchPlan:
    """Batches of the given sizes, cut from ``order`` one after the other, in random order."""
    starts = np.cumsum(sizes) - sizes
    batches = chance.order(len(sizes))
    sizes = sizes[batches]
    ends = np.cumsum(sizes)
    # Place p of the plan takes from `order` what lies as far from its batch's start there.
    places = np.repeat(starts[batches] - (ends - sizes), sizes)
    places += np.arange(len(order))
    return BatchPlan(order[places], ends)
