"""Which encoded pairs form which batch, and one padded `Batch` of them."""

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Annotated, Literal, TypeAlias, TypeVar, overload

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from dialogist.config import Config
from dialogist.data.encode import Encoded, EncodedPlan
from dialogist.tensors import PLAN_BOS, PLAN_EOS, PLAN_PAD, Batch, Corrupted, Plan
from dialogist.tokenizers import Symbols

Lengths: TypeAlias = NDArray[np.int32]
"""(pairs, 2): the lengths of each pair's source and target in tokens, begin and end in."""


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """One training pair: a source and one of its targets, begin and end symbols in.

    ``starts``, ``key_points`` and ``ends`` as in `Encoded` and `EncodedPlan`. ``corrupted`` is the
    target with an error planted into it; it is made anew in each epoch and never stored.
    """

    source: tuple[int, ...]
    target: tuple[int, ...] = ()
    id: str = ""
    starts: tuple[int, ...] = ()
    key_points: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()
    corrupted: tuple[int, ...] = ()

    @property
    def sequences(self) -> tuple[tuple[int, ...], ...]:
        """All of a pair that is stored, but its id; `EncodedPair.of` takes them back."""
        return self.source, self.target, self.starts, self.key_points, self.ends

    @classmethod
    def of(cls, sequences: Sequence[tuple[int, ...]], id: str) -> "EncodedPair":
        """Make a pair of its `sequences`."""
        source, target, starts, key_points, ends = sequences
        return cls(source, target, id, starts, key_points, ends)


def encoded_pairs(encoded: Encoded) -> list[EncodedPair]:
    """One pair per reference; a dialogue without references, or without a token, gives none.

    (Nothing can be learned from nothing but to invent, and a hierarchical encoder needs a token.)
    """
    if not encoded.coverage.tokens_read:
        return []
    plans = encoded.plans or (EncodedPlan(),) * len(encoded.targets)
    return [
        EncodedPair(encoded.source, target, encoded.id, encoded.starts, plan.key_points, plan.ends)
        for target, plan in zip(encoded.targets, plans, strict=True)
    ]


def serving_pairs(encoded: Iterable[Encoded]) -> list[EncodedPair]:
    """One pair per dialogue, without a target."""
    return [EncodedPair(one.source, (), one.id, one.starts) for one in encoded]


def lengths_of(pairs: Sequence[EncodedPair]) -> Lengths:
    """What a sampler plans by."""
    lengths = np.empty((len(pairs), 2), dtype=np.int32)
    for i, pair in enumerate(pairs):
        lengths[i] = len(pair.source), len(pair.target)
    return lengths


def collate(pairs: Sequence[EncodedPair], symbols: Symbols) -> Batch:
    """Pad to the longest of the batch; masks are made here and nowhere else."""
    lengths = torch.from_numpy(lengths_of(pairs))  # (B, 2)
    copied = _padded([pair.source for pair in pairs], symbols.pad)
    target = _padded([pair.target for pair in pairs], symbols.pad)
    target_in, target_out = _known(target[:, :-1], symbols), target[:, 1:]  # (B, T) each
    extra = int(copied.max()) + 1 - symbols.size
    return Batch(
        source=_known(copied, symbols),
        source_mask=_within(lengths[:, 0], copied.shape[1]),
        target_in=target_in,
        target_out=target_out,
        target_mask=_within(lengths[:, 1] - 1, target_in.shape[1]),
        ids=tuple(pair.id for pair in pairs),
        utterance=_utterances(pairs, copied.shape[1], symbols.eos),
        copied=copied if extra > 0 else None,
        extra=max(0, extra),
        plan=_plan(pairs, symbols) if any(pair.key_points for pair in pairs) else None,
        corrupted=_corrupted(pairs, symbols),
    )


def _corrupted(pairs: Sequence[EncodedPair], symbols: Symbols) -> Corrupted | None:
    """The corrupted targets, if there is any, and where each differs from the right one."""
    rows = [row for row, pair in enumerate(pairs) if pair.corrupted]
    if not rows:
        return None
    target = _padded([pairs[row].corrupted for row in rows], symbols.pad)  # (R, T + 1)
    lengths = torch.tensor([len(pairs[row].corrupted) for row in rows])
    wrong = torch.zeros(target.shape, dtype=torch.bool)
    for place, row in enumerate(rows):
        wrong[place, differing(pairs[row].target, pairs[row].corrupted)] = True
    return Corrupted(
        rows=torch.tensor(rows),
        target_in=_known(target[:, :-1], symbols),
        target_out=target[:, 1:],
        target_mask=_within(lengths - 1, target.shape[1] - 1),
        wrong=wrong[:, 1:],
    )


def differing(right: Sequence[int], other: Sequence[int]) -> list[int]:
    """The places of ``other`` that stand for something else in ``right``, or for nothing."""
    codes = SequenceMatcher(None, right, other, autojunk=False).get_opcodes()
    return [i for code, _, _, start, end in codes if code != "equal" for i in range(start, end)]


def _plan(pairs: Sequence[EncodedPair], symbols: Symbols) -> Plan:
    """Key points and sub-summaries (see `Plan`), each sub-summary as a target of its own."""
    key_points = _padded([(PLAN_BOS, *p.key_points, PLAN_EOS) for p in pairs], PLAN_PAD)
    counts = torch.tensor([len(pair.key_points) for pair in pairs])
    parts = [
        (symbols.bos, *pair.target[start:end], symbols.eos)
        for pair in pairs
        for start, end in pairwise((1, *pair.ends))
    ]
    target = _padded(parts, symbols.pad)
    lengths = torch.tensor([len(part) - 1 for part in parts])
    dialogues = torch.arange(len(pairs))
    return Plan(
        key_points_in=key_points[:, :-1],
        key_points_out=key_points[:, 1:],
        key_points_mask=_within(counts + 1, key_points.shape[1] - 1),
        owner=dialogues.repeat_interleave(counts),
        place=torch.cat([torch.arange(count) for count in counts.tolist()]),
        target_in=_known(target[:, :-1], symbols),
        target_out=target[:, 1:],
        target_mask=_within(lengths, target.shape[1] - 1),
    )


def _known(ids: Tensor, symbols: Symbols) -> Tensor:
    """The unknown token for words that are told apart: what a table can be asked for."""
    return ids.masked_fill(ids >= symbols.size, symbols.unk)


def _utterances(pairs: Sequence[EncodedPair], width: int, eos: int) -> Tensor:
    """(B, width) the utterance of each position, -1 outside of all: begin, end and padding."""
    result = np.full((len(pairs), width), -1, dtype=np.int64)
    for row, pair in zip(result, pairs, strict=True):
        end = len(pair.source) - int(pair.source[-1] == eos)  # a cut may have taken the end symbol
        for number, start in enumerate(pair.starts):
            row[start:end] = number
    return torch.from_numpy(result)


def _padded(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """(B, longest) int64. NumPy takes in a row five times as fast as a tensor does."""
    result = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for i, row in enumerate(rows):
        result[i, : len(row)] = row
    return torch.from_numpy(result)


def _within(lengths: Tensor, width: int) -> Tensor:
    """(B, width) True at positions below each row's length."""
    return torch.arange(width) < lengths[:, None]


Indices: TypeAlias = NDArray[np.int64]

# Which pairs form which batch is a pure function of (seed, epoch). Because an epoch's plan can be
# computed again at any time, a training run resumes from two integers (epoch, next batch) and sees
# each pair exactly once per epoch, killed or not.


_BLOCK = 1 << 20  # draws from the shuffle buffer made at once; another number, another order


_T = TypeVar("_T")


class LazySequence(Sequence[_T]):
    """What a list does with places and slices; subclasses say how one item comes about."""

    @abstractmethod
    def _made(self, place: int) -> _T:
        """The item at ``place``, from 0 to below the length."""

    @overload
    def __getitem__(self, index: int) -> _T: ...

    @overload
    def __getitem__(self, index: slice) -> list[_T]: ...

    def __getitem__(self, index: int | slice) -> _T | list[_T]:
        places = range(len(self))[index]
        return [self._made(i) for i in places] if isinstance(places, range) else self._made(places)


class BatchPlan(LazySequence[Indices]):
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

    def _made(self, place: int) -> Indices:
        """The indices of the pairs of a batch."""
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
