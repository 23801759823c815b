"""Encoded dialogues to one padded `Batch`."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dialogist.batch import Batch
from dialogist.data.encode import Encoded


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


def collate(pairs: Sequence[Pair], pad_id: int) -> Batch:
    """Pad to the longest of the batch; masks are made here and nowhere else."""
    source = _padded([pair.source for pair in pairs], pad_id)
    target = _padded([pair.target for pair in pairs], pad_id)
    lengths = torch.tensor([len(pair.target) - 1 for pair in pairs])
    target_in, target_out = target[:, :-1], target[:, 1:]  # (B, T) each
    return Batch(
        source=source,
        source_mask=_within(torch.tensor([len(pair.source) for pair in pairs]), source.shape[1]),
        target_in=target_in,
        target_out=target_out,
        target_mask=_within(lengths, target_in.shape[1]),
        ids=tuple(pair.id for pair in pairs),
    )


def _padded(rows: Sequence[Sequence[int]], pad_id: int) -> Tensor:
    """(B, longest) int64."""
    result = torch.full((len(rows), max(map(len, rows))), pad_id, dtype=torch.int64)
    for i, row in enumerate(rows):
        result[i, : len(row)] = torch.tensor(row, dtype=torch.int64)
    return result


def _within(lengths: Tensor, width: int) -> Tensor:
    """(B, width) True at positions below each row's length."""
    return torch.arange(width) < lengths[:, None]
