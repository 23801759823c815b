"""The weights that models give, as named maps over one dialogue's tokens."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
import torch
from torch import Tensor

from dialogist.models.base import Outputs
from dialogist.nn.output_layer import Copies, PointerLogProbs
from dialogist_lab.explain.explanation import AttentionMap, Axis, AxisKind, Role, Weights


@dataclass(frozen=True, slots=True)
class Said:
    """Where the tokens that were said lie among the positions of teacher forcing.

    ``lengths``: how many positions each (sub-)summary has, its end in. ``kept``: how many of these
    were said: not the end of one that search cut.
    """

    lengths: tuple[int, ...]
    kept: tuple[int, ...]

    @property
    def rows(self) -> list[int]:
        """Of all M positions those that were said."""
        starts = [0, *accumulate(self.lengths)]
        pairs = zip(starts, self.kept, strict=False)
        return [row for start, kept in pairs for row in range(start, start + kept)]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Where each (sub-)summary begins and ends among the tokens said."""
        return list(pairwise([0, *accumulate(self.kept)]))


class Places:
    """The source's tokens and utterances, as axes."""

    def __init__(self, utterance: Tensor) -> None:
        """``utterance``: (S,) the utterance of each position, -1 outside."""
        self.numbers = utterance.cpu().numpy()
        self.source = whole("source", len(self.numbers))
        self.utterances = whole("utterances", int(self.numbers.max()) + 1)

    def within(self, utterance: int) -> Axis:
        """The tokens of one utterance."""
        return Axis("source", tuple(np.flatnonzero(self.numbers == utterance).tolist()))

    def by_utterance(self, weights: Weights) -> Weights:
        """(H, rows, S) -> (H, rows, U): the sums over the tokens of each utterance."""
        inside = self.numbers[:, None] == np.arange(len(self.utterances))  # (S, U)
        return np.asarray(weights @ inside.astype(np.float32))


def whole(kind: AxisKind, length: int) -> Axis:
    """An axis over all things of a kind."""
    return Axis(kind, tuple(range(length)))


def encoder_maps(attention: Mapping[str, Tensor], places: Places) -> Iterator[AttentionMap]:
    """Of a batch of one dialogue: flat (1, H, S, S), or of tokens, pooling and utterances."""
    for name, weights in attention.items():
        layer = _layer(name)
        if name.startswith("encoder_"):
            axis = places.source
            yield AttentionMap(name, "encoder", _array(weights[0]), axis, axis, layer)
        elif name.startswith("utterance_encoder_"):
            axis = places.utterances
            yield AttentionMap(name, "utterances", _array(weights[0]), axis, axis, layer)
        elif name.startswith("token_encoder_"):
            yield from _within(name, _array(weights), places)
        elif name == "pooling":
            yield _pooling(_array(weights[:, :, 0]), places)


def _within(name: str, weights: Weights, places: Places) -> Iterator[AttentionMap]:
    """(U, H, S, S), S being the longest utterance's length: a map for each utterance."""
    for number, own in enumerate(weights):
        axis = places.within(number)
        size = len(axis)
        if size:
            part = own[:, :size, :size]
            yield AttentionMap(name, "within", part, axis, axis, _layer(name), number)


def _pooling(weights: Weights, places: Places) -> AttentionMap:
    """(U, 1, longest) -> one row per utterance over all of the source."""
    grid = np.zeros((1, len(places.utterances), len(places.source)), dtype=np.float32)
    for number, own in enumerate(weights[:, 0]):
        columns = places.within(number).places
        grid[0, number, columns] = own[: len(columns)]
    return AttentionMap("pooling", "pooling", grid, places.utterances, places.source)


def leader_maps(
    attention: Mapping[str, Tensor], key_points: int, places: Places
) -> Iterator[AttentionMap]:
    """The Leader's, of a batch of one dialogue, cut to the key points that were said."""
    rows, fed = whole("key points", key_points), whole("fed key points", key_points)
    for name, weights in attention.items():
        role: Role = "leader self" if "self_att" in name else "leader cross"
        columns = fed if role == "leader self" else places.utterances
        part = _array(weights[0])[:, :key_points, : len(columns)]
        yield AttentionMap(f"leader_{name}", role, part, rows, columns, _layer(name))


def decoder_maps(attention: Mapping[str, Tensor], said: Said, over: Axis) -> Iterator[AttentionMap]:
    """The decoder's: self-attention for each (sub-)summary, cross-attention ``over`` as one map.

    ``attention`` is (R, H, T, ...) or, where there are no heads (additive), (1, T, S).
    """
    for name, weights in attention.items():
        found = _array(weights if weights.dim() == 4 else weights[:, None])
        if "self_att" in name:
            yield from _selves(name, found, said)
        else:
            parts = [own[:, :kept] for own, kept in zip(found, said.kept, strict=True)]
            joined = np.concatenate(parts, axis=1)[..., : len(over)]
            rows = whole("target", sum(said.kept))
            yield AttentionMap(name, "cross", joined, rows, over, max(1, _layer(name)))


def _selves(name: str, weights: Weights, said: Said) -> Iterator[AttentionMap]:
    """(R, H, T, T) -> a map for each (sub-)summary in which anything was said."""
    for part, (start, stop) in enumerate(said.spans):
        size, places = stop - start, tuple(range(start, stop))
        if size:
            own, group = weights[part, :, :size, :size], part if len(said.spans) > 1 else None
            axes = Axis("target", places), Axis("fed", places)
            yield AttentionMap(name, "self", own, axes[0], axes[1], _layer(name), group)


def coverage_map(cross: AttentionMap) -> AttentionMap:
    """What a model with coverage is told: the sum of its weights before each token."""
    before = np.cumsum(cross.weights, axis=1) - cross.weights
    return AttentionMap("coverage", "coverage", before, cross.rows, cross.columns, cross.layer)


def copies_of(outputs: Outputs, said: Said) -> Copies | None:
    """What the pointer says at each token that was said; None without a pointer."""
    if not isinstance(outputs.log_probs, PointerLogProbs):
        return None
    gate, weights, ids, extra = outputs.log_probs.copies
    rows = torch.tensor(said.rows, dtype=torch.int64, device=gate.device)
    return Copies(gate[rows].cpu(), weights[rows].cpu(), ids[rows].cpu(), extra)


def copy_maps(copies: Copies, places: Places, hierarchical: bool) -> Iterator[AttentionMap]:
    """Where the pointer looks: by token, and in hierarchical models by utterance as well."""
    weights = _array(copies.weights[None, :, : len(places.source)])
    rows = whole("target", weights.shape[1])
    yield AttentionMap("pointer", "copy", weights, rows, places.source)
    if hierarchical:
        sums = places.by_utterance(weights)
        yield AttentionMap("pointer_utterances", "copied utterances", sums, rows, places.utterances)


def _layer(name: str) -> int:
    """The number in ``..._layer3_...``; 0 where there is none."""
    digits = name.partition("layer")[2].partition("_")[0]
    return int(digits) if digits.isdigit() else 0


def _array(weights: Tensor) -> Weights:
    return np.asarray(weights.float().cpu().numpy(), dtype=np.float32)


def lengths_of(parts: Sequence[tuple[int, bool]]) -> Said:
    """From each (sub-)summary's number of tokens and whether it is finished."""
    return Said(
        tuple(tokens + 1 for tokens, _ in parts),
        tuple(tokens + int(finished) for tokens, finished in parts),
    )
