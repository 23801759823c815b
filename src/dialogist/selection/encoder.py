"""The selector's encoder: a small BERT in NumPy that reads a dialogue whole."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import models, normalizers, pre_tokenizers

from dialogist.selection.candidate_features import Pairs
from dialogist.selection.features import Matrix
from dialogist.selection.statements import Candidate
from dialogist.selection.units import Unit

LINEAR = ("qkv", "merge", "up", "down")
NORMS = ("norm1", "norm2")
"""The parts of a layer."""

_MOST, _SHARED = 510, 128  # pieces of a window, and those that it shares with the next one
_SPEAKER = 12  # pieces of a speaker's name
_LONGEST = 100  # characters of a word
_ROOT = np.float32(0.7978845608)
_TINY = np.float32(1e-12)
_DIGITS = 3  # of logits: what processors round in different ways stays the same


class Window(NamedTuple):
    """A part of a dialogue: its pieces, and where in them units are: first, and behind the last."""

    ids: NDArray[np.int64]
    places: dict[int, tuple[int, int]]


class Pieces:
    """BERT's WordPiece, of small letters."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """``vocabulary``: by id; an empty one is no piece."""
        self.vocabulary = vocabulary
        ids = {piece: i for i, piece in enumerate(vocabulary) if piece}
        self._start, self._end = ids["[CLS]"], ids["[SEP]"]
        model = models.WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=_LONGEST)
        self._tokenizer = tokenizers.Tokenizer(model)
        self._tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    def windows(self, turns: Sequence[tuple[str, str]], units: Sequence[Unit]) -> list[Window]:
        """The dialogue, "speaker: text" a turn; in parts that overlap where it is long."""
        ids, spans = self._all(turns, units)
        starts = [0]
        while starts[-1] + _MOST < len(ids):
            starts.append(min(starts[-1] + _MOST - _SHARED, len(ids) - _MOST))
        places: list[dict[int, tuple[int, int]]] = [{} for _ in starts]
        for unit, (first, end) in enumerate(spans):
            # The window whose middle is nearest: it shows most of what is said around the unit.
            middle = (first + end - _MOST) // 2
            best = bisect_left(starts, middle)
            if best == len(starts) or (best and middle - starts[best - 1] < starts[best] - middle):
                best -= 1
            start = starts[best]
            places[best][unit] = (max(0, first - start) + 1, min(_MOST, end - start) + 1)
        return [
            Window(np.array([self._start, *ids[start : start + _MOST]]), own)
            for start, own in zip(starts, places, strict=True)
            if own
        ]

    def _all(
        self, turns: Sequence[tuple[str, str]], units: Sequence[Unit]
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """The pieces of all turns, and those of each unit."""
        ids: list[int] = []
        spans: list[tuple[int, int]] = []
        own = iter(units)
        unit = next(own, None)
        for turn, (speaker, text) in enumerate(turns):
            if unit is None or unit.turn != turn:
                continue
            ids += self._tokenizer.encode(f"{speaker}:", add_special_tokens=False).ids[:_SPEAKER]
            found = self._tokenizer.encode(text, add_special_tokens=False)
            begins, ends = ([place[k] for place in found.offsets] for k in (0, 1))
            while unit is not None and unit.turn == turn:
                first = len(ids) + bisect_right(ends, unit.start)
                end = len(ids) + bisect_left(begins, unit.end)
                spans.append((first, end) if first < end else (len(ids) - 1, len(ids)))
                unit = next(own, None)
            ids += [*found.ids, self._end]
        return ids, spans


class _Norm(NamedTuple):
    weight: Matrix
    bias: Matrix

    def of(self, x: Matrix) -> Matrix:
        """(T, H) of (T, H)."""
        x = x - x.mean(axis=1, keepdims=True)
        x *= 1 / np.sqrt((x * x).mean(axis=1, keepdims=True) + _TINY)
        return x * self.weight + self.bias


class _Linear(NamedTuple):
    weight: Matrix
    bias: Matrix

    def of(self, x: Matrix) -> Matrix:
        """(T, O) of (T, I)."""
        found: Matrix = x @ self.weight.T
        found += self.bias
        return found


@dataclass(frozen=True, slots=True)
class _Layer:
    qkv: _Linear
    merge: _Linear
    up: _Linear
    down: _Linear
    norm1: _Norm
    norm2: _Norm
    heads: int

    def of(self, x: Matrix) -> Matrix:
        """(T, H) of (T, H): post-norm, as BERT's."""
        length, width = x.shape
        # (T, 3H) -> three of (heads, T, H / heads)
        q, k, v = self.qkv.of(x).reshape(length, 3, self.heads, -1).transpose(1, 2, 0, 3)
        scores = q @ k.transpose(0, 2, 1)
        scores *= np.float32((width / self.heads) ** -0.5)
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        read = (scores @ v).transpose(1, 0, 2).reshape(length, width)
        x = self.norm1.of(x + self.merge.of(read))
        return self.norm2.of(x + self.down.of(_gelu(self.up.of(x))))


def _gelu(x: Matrix) -> Matrix:
    inner = x * x
    inner *= np.float32(0.044715)
    inner += 1
    inner *= x
    inner *= _ROOT
    np.tanh(inner, out=inner)
    inner += 1
    inner *= x
    inner *= np.float32(0.5)
    return inner


class Read(NamedTuple):
    """What an encoder says: logits of candidates (C, 3: key, alone, stale) and of pairs (P,).

    ``trust`` (4,): by which the logits of the features' network are multiplied before both are
    added, of candidates and of pairs.
    """

    each: Matrix
    together: Matrix
    trust: Matrix


@dataclass(frozen=True, slots=True)
class Encoder:
    """A BERT of few layers, and what it says of candidates and of pairs of them.

    Attributes:
        table, scales: (V, H) int8 and (V, 1) fp32 of the pieces.
        positions: (512, H).
        look: H to 1, how much a piece counts in a candidate.
        hidden, out: of candidates, 2H to K to 3.
        pair_hidden, pair_out: of pairs, 2K + P to J to 1.
    """

    pieces: Pieces
    table: NDArray[np.int8]
    scales: Matrix
    positions: Matrix
    norm: _Norm
    layers: tuple[_Layer, ...]
    look: _Linear
    hidden: _Linear
    out: _Linear
    pair_hidden: _Linear
    pair_out: _Linear
    trust: Matrix

    def read(
        self,
        turns: Sequence[tuple[str, str]],
        units: Sequence[Unit],
        candidates: Sequence[Candidate],
        pairs: Pairs,
    ) -> Read:
        """Read a dialogue, and judge its candidates by that alone."""
        states = self._states(turns, units)
        read = [self._pooled([states[i] for i in one.units]) for one in candidates]
        hidden = _gelu(self.hidden.of(np.array(read)))
        first, second = (hidden[pairs.places[:, side]] for side in (0, 1))
        both = np.concatenate([first, second, pairs.features], axis=1)
        together = self.pair_out.of(_gelu(self.pair_hidden.of(both)))[:, 0]
        return Read(self.out.of(hidden).round(_DIGITS), together.round(_DIGITS), self.trust)

    def _states(self, turns: Sequence[tuple[str, str]], units: Sequence[Unit]) -> dict[int, Matrix]:
        """Of each unit the states (T, H) of its pieces."""
        found: dict[int, Matrix] = {}
        for window in self.pieces.windows(turns, units):
            x: Matrix = self.table[window.ids] * self.scales[window.ids]
            x = self.norm.of(x + self.positions[: len(x)])
            for layer in self.layers:
                x = layer.of(x)
            found |= {unit: x[first:end] for unit, (first, end) in window.places.items()}
        return found

    def _pooled(self, states: Sequence[Matrix]) -> Matrix:
        """(2H,): the mean over all pieces, and the mean by how much each counts."""
        x = np.concatenate(states)
        weights = self.look.of(x)
        weights = np.exp(weights - weights.max())
        found: Matrix = np.concatenate([x.mean(axis=0), (x * weights).sum(axis=0) / weights.sum()])
        return found


def encoder_of(stored: Mapping[str, NDArray[Any]]) -> Encoder:
    """The encoder of some tensors, as `dialogist.recipe.selector_encoder` names them."""
    matrices = {name: stored[name] * stored[f"{name}_scales"][..., None] for name in LINEAR}
    layers = tuple(
        _Layer(
            **{name: _Linear(matrices[name][i], stored[f"{name}_bias"][i]) for name in LINEAR},
            **{
                name: _Norm(stored[f"{name}_weight"][i], stored[f"{name}_bias"][i])
                for name in NORMS
            },
            heads=int(heads),
        )
        for i, heads in enumerate(stored["heads"])
    )
    heads = ("look", "hidden", "out", "pair_hidden", "pair_out")
    return Encoder(
        Pieces(stored["pieces"].tobytes().decode("utf-8").split("\n")),
        stored["table"],
        stored["table_scales"][:, None],
        stored["positions"],
        _Norm(stored["norm_weight"], stored["norm_bias"]),
        layers,
        **{name: _Linear(stored[f"head_{name}"], stored[f"head_{name}_bias"]) for name in heads},
        trust=stored["trust"],
    )
