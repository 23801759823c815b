"""From prepared text to token ids within limits, and to padded batches of training pairs.

The batches of an epoch are a pure function of (seed, epoch). So a run resumes from two integers,
epoch and next batch, and sees each pair exactly once per epoch, killed or not.
"""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Annotated, Literal, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from dialogist.config import Config
from dialogist_lab.data.preparation import Example, Limits
from dialogist_lab.data.vocabulary import Tokenizer
from dialogist_lab.decoding import Symbols
from dialogist_lab.models.generator import FIRST_KEY_POINT, Batch, Plan, Targets, padded

Lengths: TypeAlias = NDArray[np.int32]
"""(pairs, 2): the lengths of each pair's source and target in tokens, begin and end in."""

Indices: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """A source and one of its targets, begin and end symbols in; for use without a target.

    Utterance ``i`` of the source starts at ``starts[i]``. ``key_points`` are those of the target
    (`dialogist_lab.models.generator`), if references were cut by key points, and sub-summary ``i``
    is ``target[ends[i - 1]:ends[i]]``, the first from 1, after the begin symbol.
    """

    source: tuple[int, ...]
    target: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    key_points: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Encoded:
    """One dialogue as token ids: a pair per reference, or one without a target."""

    pairs: tuple[EncodedPair, ...]
    unknown: tuple[str, ...]  # the words behind ids from V on, if these are told apart
    tokens: int  # were there
    tokens_read: int  # within the limits
    summaries_cut: int  # references that were too long


def encode(
    example: Example,
    tokenizer: Tokenizer,
    limits: Limits,
    labels: Sequence[str] = (),
    tell_unknown_apart: bool = False,
) -> Encoded:
    """Encode one example; limits are applied from utterance to whole.

    ``labels`` are those of the rule pack that cut the targets, if one did. A target can copy only
    what the model reads: unknown words beyond the limits stay unknown.
    """
    symbols = tokenizer.symbols
    apart: dict[str, int] | None = {} if tell_unknown_apart else None
    whole = [tokenizer.encode(f"{u.speaker} {u.text}", apart) for u in example.utterances]
    kept = [ids[: limits.utterance_tokens] for ids in whole[: limits.utterances]]
    body = list(chain.from_iterable(kept))
    source, read = _enclosed(body, symbols, limits.source_tokens, limits.keep_end)
    starts = tuple(s for s in list(accumulate(map(len, kept), initial=1))[:-1] if s <= read)
    unknown = tuple(apart or ())
    if apart is not None:
        seen = frozenset(body[:read])
        apart = {word: index for word, index in apart.items() if index in seen}
    pairs, summaries_cut = [], 0
    for number, text in enumerate(example.targets):
        planned = example.sub_summaries[number] if example.sub_summaries else ()
        texts = [part for _, part in planned] if example.sub_summaries else [text]
        parts = [tokenizer.encode(part, apart, grow=False) for part in texts]
        most = limits.sub_summary_tokens if example.sub_summaries else None
        shortened = [ids[:most] for ids in parts]
        body = list(chain.from_iterable(shortened))
        target, room = _enclosed(body, symbols, limits.summary_tokens, limits.keep_end)
        bounds = pairwise((0, *accumulate(map(len, shortened))))
        # With the last words go the last key points.
        fitting = [
            (FIRST_KEY_POINT + labels.index(label), min(end, room) + 1)
            for (label, _), (start, end) in zip(planned, bounds, strict=False)
            if start <= room
        ]
        key_points, ends = tuple(zip(*fitting, strict=True)) or ((), ())
        pairs.append(EncodedPair(source, target, starts, key_points, ends))
        summaries_cut += room < sum(map(len, parts))
    if not example.targets:
        pairs.append(EncodedPair(source, starts=starts))
    return Encoded(tuple(pairs), unknown, sum(map(len, whole)), read, summaries_cut)


def _enclosed(
    ids: Sequence[int], symbols: Symbols, limit: int | None, keep_end: bool
) -> tuple[tuple[int, ...], int]:
    """Begin + ids + end, cut to ``limit``, and how many of the ids are in it.

    ``keep_end``: whether a cut sequence has the end symbol.
    """
    room = len(ids) if limit is None else min(len(ids), limit - 1 - int(keep_end))
    return (symbols.bos, *ids[:room], symbols.eos)[:limit], room


def collate(pairs: Sequence[EncodedPair], symbols: Symbols) -> Batch:
    """Pad to the longest of the batch; masks are made here and nowhere else."""
    copied, source_mask = padded([pair.source for pair in pairs], symbols.pad)
    extra = max(0, int(copied.max()) + 1 - symbols.size)
    return Batch(
        source=symbols.known(copied),
        source_mask=source_mask,
        target=Targets.of([pair.target for pair in pairs], symbols),
        utterance=_utterances(pairs, copied.shape[1], symbols.eos),
        copied=copied if extra else None,
        extra=extra,
        plan=_plan(pairs, symbols) if any(pair.key_points for pair in pairs) else None,
    )


def _plan(pairs: Sequence[EncodedPair], symbols: Symbols) -> Plan:
    """The key points of each target, and each sub-summary as a target of its own."""
    parts = [
        (symbols.bos, *pair.target[start:end], symbols.eos)
        for pair in pairs
        for start, end in pairwise((1, *pair.ends))
    ]
    return Plan.of([pair.key_points for pair in pairs], parts, symbols)


def _utterances(pairs: Sequence[EncodedPair], width: int, eos: int) -> Tensor:
    """(B, width) the utterance of each position, -1 outside of all: begin, end and padding."""
    result = np.full((len(pairs), width), -1, dtype=np.int64)
    for row, pair in zip(result, pairs, strict=True):
        end = len(pair.source) - int(pair.source[-1] == eos)  # a cut may have taken the end symbol
        for number, start in enumerate(pair.starts):
            row[start:end] = number
    return torch.from_numpy(result)


@dataclass(frozen=True)  # no slots: they leave no room for what is cached
class TrainingData:
    """The encoded training pairs, and the ids that a batch is made with."""

    pairs: Sequence[EncodedPair]
    symbols: Symbols

    @cached_property
    def lengths(self) -> Lengths:
        """(pairs, 2) source and target lengths, by which a sampler plans an epoch."""
        rows = [(len(pair.source), len(pair.target)) for pair in self.pairs]
        return np.array(rows, dtype=np.int32).reshape(-1, 2)

    def fingerprint(self) -> str:
        """A digest of every id of every pair: a run is resumed on the same data or not at all."""
        digest = hashlib.sha256()
        for pair in self.pairs:
            digest.update(repr((pair.source, pair.target, pair.key_points)).encode())
        return digest.hexdigest()

    def target_tokens(self, indices: Indices) -> int:
        """How many tokens the given pairs' targets have, the begin symbol not counted."""
        return int(self.lengths[indices, 1].sum()) - len(indices)

    def batch(self, indices: Iterable[int]) -> Batch:
        """The padded batch of the given pairs."""
        return collate([self.pairs[int(i)] for i in indices], self.symbols)


class ShuffleBufferConfig(Config):
    """``tf.data``'s ``shuffle(buffer).batch(size)``, as report 1: 64 examples, buffer 10,000.

    ``examples``: pairs of a batch. ``buffer``: pairs that are shuffled at a time.
    """

    kind: Literal["shuffle-buffer"] = "shuffle-buffer"
    examples: int = Field(64, ge=1)
    buffer: int = Field(10_000, ge=1)

    def plan(self, lengths: Lengths, seed: int, epoch: int) -> list[Indices]:
        """Draw each next pair at random from a buffer that is refilled in file order."""
        chance, count = _Chance(seed, epoch), len(lengths)
        buffer = list(range(min(self.buffer, count)))
        order = []
        for incoming, place in enumerate(chance.places(count - len(buffer), len(buffer))):
            order.append(buffer[place])
            buffer[place] = len(buffer) + incoming
        order += [buffer[place] for place in chance.order(len(buffer))]
        ids = np.array(order, dtype=np.int64)
        return [ids[start : start + self.examples] for start in range(0, count, self.examples)]


class TokenBucketConfig(Config):
    """Batches of like lengths, bounded by their padded size in tokens.

    Pairs are sorted by source, then target length within random chunks of ``chunk`` batches'
    worth, so that an epoch differs from the last and padding stays small.

    ``tokens``: padded size of a batch at most. ``chunk``: batches that are sorted together.
    """

    kind: Literal["token-bucket"] = "token-bucket"
    tokens: int = Field(6_000, ge=16)
    chunk: int = Field(24, ge=1)

    def plan(self, lengths: Lengths, seed: int, epoch: int) -> list[Indices]:
        """Shuffle, sort within chunks, cut into batches, shuffle the batches."""
        chance, count = _Chance(seed, epoch), len(lengths)
        order = chance.order(count)
        mean = max(1, int(lengths.sum(dtype=np.int64)) // max(1, count))
        width = max(1, self.chunk * self.tokens // mean)
        batches: list[Indices] = []
        for start in range(0, count, width):
            chunk = order[start : start + width]
            # Ties in length keep the shuffled order, so equal lengths still mix between epochs.
            chunk = chunk[np.lexsort((lengths[chunk, 1], lengths[chunk, 0]))]
            batches += self._cut(chunk, lengths)
        return [batches[i] for i in chance.order(len(batches))]

    def _cut(self, chunk: Indices, lengths: Lengths) -> list[Indices]:
        """The batches that sorted pairs, source rising, form."""
        begins, longest = [0], 0
        for place, (source, target) in enumerate(lengths[chunk].tolist()):
            longest = max(longest, target)
            size = place - begins[-1]
            if size and (size + 1) * (source + longest) > self.tokens:
                begins.append(place)
                longest = target
        return [chunk[a:b] for a, b in pairwise((*begins, len(chunk)))]


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

    def places(self, count: int, size: int) -> list[int]:
        """``count`` numbers below ``size``."""
        return (self._raw(count) % np.uint64(size)).tolist()  # type: ignore[no-any-return]

    def _raw(self, count: int) -> NDArray[np.uint64]:
        return np.asarray(self._bits.random_raw(count), dtype=np.uint64)
