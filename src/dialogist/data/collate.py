"""Encoded dialogues to one padded `Batch`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

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


def pairs_of_all(encoded: Iterable[Encoded]) -> list[EncodedPair]:
    """The pairs of many dialogues."""
    return [pair for one in encoded for pair in encoded_pairs(one)]


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
