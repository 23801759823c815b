"""Encoded dialogues to one padded `Batch`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from dialogist.batch import Batch
from dialogist.data.encode import Encoded

Lengths: TypeAlias = NDArray[np.int32]
"""(pairs, 2): the lengths of each pair's source and target in tokens, begin and end in."""


@dataclass(frozen=True, slots=True)
class Pair:
    """One training pair: a source and one of its targets, begin and end symbols in."""

    source: tuple[int, ...]
    target: tuple[int, ...] = ()
    id: str = ""


def training_pairs(encoded: Sequence[Encoded]) -> list[Pair]:
    """One pair per reference; a dialogue without references gives none."""
    return [Pair(e.source, target, e.id) for e in encoded for target in e.targets]


def serving_pairs(encoded: Sequence[Encoded]) -> list[Pair]:
    """One pair per dialogue, without a target."""
    return [Pair(e.source, (), e.id) for e in encoded]


def lengths_of(pairs: Sequence[Pair]) -> Lengths:
    """What a sampler plans by."""
    lengths = np.empty((len(pairs), 2), dtype=np.int32)
    for i, pair in enumerate(pairs):
        lengths[i] = len(pair.source), len(pair.target)
    return lengths


def collate(pairs: Sequence[Pair], pad_id: int) -> Batch:
    """Pad to the longest of the batch; masks are made here and nowhere else."""
    lengths = torch.from_numpy(lengths_of(pairs))  # (B, 2)
    source = _padded([pair.source for pair in pairs], pad_id)
    target = _padded([pair.target for pair in pairs], pad_id)
    target_in, target_out = target[:, :-1], target[:, 1:]  # (B, T) each
    return Batch(
        source=source,
        source_mask=_within(lengths[:, 0], source.shape[1]),
        target_in=target_in,
        target_out=target_out,
        target_mask=_within(lengths[:, 1] - 1, target_in.shape[1]),
        ids=tuple(pair.id for pair in pairs),
    )


def _padded(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """(B, longest) int64. NumPy takes in a row five times as fast as a tensor does."""
    result = np.full((len(rows), max(map(len, rows))), pad_id, dtype=np.int64)
    for i, row in enumerate(rows):
        result[i, : len(row)] = row
    return torch.from_numpy(result)


def _within(lengths: Tensor, width: int) -> Tensor:
    """(B, width) True at positions below each row's length."""
    return torch.arange(width) < lengths[:, None]
