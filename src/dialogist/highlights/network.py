"""The selector's network: a few small perceptrons on candidates and pairs of them, in NumPy.

The words of candidates are vectors: each piece of a word has one, from a pretrained encoder.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import models, normalizers, pre_tokenizers

from dialogist.highlights.candidates import Candidate
from dialogist.highlights.features import (
    Matrix,
    Rarity,
    UnitFeatures,
    changes_of,
    pairs_of,
    rows_of,
)
from dialogist.language.reading import Reading, Unit

BUNDLED = Path(__file__).resolve().parents[1] / "assets" / "highlights" / "selector.safetensors"
"""The selector that the package holds."""

CLIP = 4.0
"""Standard deviations: features beyond are cut."""

LAYERS = ("words", "hidden", "out", "pair_hidden", "pair_out", "change_hidden", "change_out")
"""Each has weights and, as ``NAME_bias``, a bias."""

_ROOT = np.float32(0.7978845608)
_AT_ONCE = 4096  # pieces: long dialogues need no more memory for it

REACH_OF_WORDS = 2
"""How many pieces before and behind one the selector sees with it."""

_LONGEST = 100  # characters of a word that has pieces
_UNKNOWN, _END = "[UNK]", "[SEP]"


class Owned(NamedTuple):
    """Which pieces some things have: ``owned`` (R,) by their numbers, of one thing after another.

    ``starts`` (C,): where in ``owned`` each thing begins; none is without pieces.
    """

    owned: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(C,): how many pieces each has."""
        return np.diff(self.starts, append=len(self.owned))


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a dialogue, ``ids`` (T,), with `REACH_OF_WORDS` ends of sequence around them.

    ``places``: the numbers of the pieces of each unit.
    """

    ids: NDArray[np.int64]
    places: Sequence[range]

    def of(self, groups: Sequence[Sequence[int]]) -> Owned:
        """The pieces of some groups of units, each of one unit or more."""
        owned = [[piece for unit in group for piece in self.places[unit]] for group in groups]
        starts = np.cumsum([0, *map(len, owned)])[:-1]
        return Owned(np.array([piece for group in owned for piece in group]), starts)


@dataclass(slots=True)
class PieceTable:
    """BERT's frequent pieces, lower case, and a vector for each.

    Attributes:
        pieces: by id; an empty one is none.
        values, scales: (V, K) int8 and (V, 1) fp32, whose product are the vectors.
        weights: (V, 1), by which a piece counts in the sum of a candidate: rare ones count more.
    """

    pieces: Sequence[str]
    values: NDArray[np.int8]
    scales: Matrix
    weights: Matrix
    _ids: dict[str, int] = field(init=False)
    _tokenizer: tokenizers.Tokenizer = field(init=False)

    def __post_init__(self) -> None:
        self._ids = {piece: i for i, piece in enumerate(self.pieces) if piece}
        self._tokenizer = tokenizers.Tokenizer(
            models.WordPiece(self._ids, unk_token=_UNKNOWN, max_input_chars_per_word=_LONGEST)
        )
        self._tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        self._tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()

    def pieces_of(self, units: Sequence[Unit]) -> Pieces:
        """The pieces of all units."""
        ids, places = [self._ids[_END]] * REACH_OF_WORDS, []
        for unit in units:
            encoded = self._tokenizer.encode(unit.text, add_special_tokens=False).ids
            places.append(range(len(ids), len(ids) + max(1, len(encoded))))
            ids += encoded or [self._ids[_UNKNOWN]]
        return Pieces(np.array([*ids, *ids[:REACH_OF_WORDS]]), places)

    def vectors(self, ids: NDArray[np.int64]) -> Matrix:
        """(T, K) of (T,)."""
        vectors: Matrix = self.values[ids] * self.scales[ids]
        return vectors

    def sums(self, pieces: Pieces, groups: Owned) -> Matrix:
        """(C, K): what the pieces of each thing sum up to, by the root of their number."""
        ids = pieces.ids[groups.owned]
        sums: Matrix = np.add.reduceat(self.vectors(ids) * self.weights[ids], groups.starts)
        sums /= np.sqrt(groups.lengths.astype(np.float32))[:, None]
        return sums


def mean_and_peak(x: Matrix, groups: Owned) -> Matrix:
    """(N, C, 2D) of (T, N, D): of the pieces of each thing the mean and the most."""
    owned = x[groups.owned]
    mean = np.add.reduceat(owned, groups.starts) / groups.lengths.astype(np.float32)[:, None, None]
    both = np.concatenate([mean, np.maximum.reduceat(owned, groups.starts)], axis=2)
    return np.ascontiguousarray(both.swapaxes(0, 1))


def piece_table(stored: Mapping[str, NDArray[Any]]) -> PieceTable:
    """The table of some tensors."""
    return PieceTable(
        stored["pieces"].tobytes().decode("utf-8").split("\n"),
        stored["piece_values"],
        stored["piece_scales"][:, None],
        stored["piece_weights"][:, None],
    )


@dataclass(frozen=True, slots=True)
class Worth:
    """What candidates are worth to a summary.

    Attributes:
        key: (C,) how likely a summary must hold each.
        alone: (C,) how much each tells of the facts that a summary must hold.
        stale: (C,) how likely something later changes what each says, besides ``changed``.
        places, together: (P, 2), (P,) how much the two of a pair tell more than each alone; less
            than none where they tell the same.
        changes, changed: (Q, 2), (Q,) a candidate and a unit, and how likely the unit changes what
            the candidate says.
    """

    key: NDArray[np.float32]
    alone: NDArray[np.float32]
    stale: NDArray[np.float32]
    places: NDArray[np.int64]
    together: NDArray[np.float32]
    changes: NDArray[np.int64]
    changed: NDArray[np.float32]

    def only(self, numbers: Sequence[int]) -> "Worth":
        """The worth where all other candidates are worth nothing."""
        kept = np.zeros(len(self.key), dtype=np.float32)
        kept[list(numbers)] = 1
        both = kept[self.places].prod(axis=1)
        return replace(
            self, key=self.key * kept, alone=self.alone * kept, together=self.together * both
        )


@dataclass(frozen=True, slots=True)
class Network:
    """N networks whose mean counts; H, K and J are the widths of their hidden layers.

    Each sees features of a candidate and its words: a convolution over the vectors (V) of pieces,
    of which the mean and the most of D channels count.

    Attributes:
        mean, deviation: (F,) of the features of units.
        weights: words ((2 `REACH_OF_WORDS` + 1) V, N D) of five pieces in a row, hidden
            (N, W + V + 2D, H) of candidates, out (N, H, 3) for key, alone and stale, pair_hidden
            (N, 2H + P, K) and pair_out (N, K, 1) of pairs, change_hidden (N, H + F + 2D + Q, J) and
            change_out (N, J, 1) of candidates and units that may change them; and their biases.
    """

    mean: Matrix
    deviation: Matrix
    weights: Mapping[str, Matrix]
    rarity: Rarity
    piece_table: PieceTable

    def worth(self, reading: Reading, candidates: Sequence[Candidate]) -> Worth:
        """What some candidates of a dialogue, at least one, are worth."""
        described = UnitFeatures(reading, self.rarity)
        each = np.clip((described.matrix - self.mean) / self.deviation, -CLIP, CLIP)
        pieces = self.piece_table.pieces_of(reading.units)
        of_units = pieces.of([(i,) for i in range(len(reading.units))])
        groups = pieces.of([candidate.units for candidate in candidates])
        sums = self.piece_table.sums(pieces, groups)
        rows = np.concatenate([rows_of(candidates, each), sums], axis=1)
        pairs = pairs_of(reading, candidates, self.rarity)
        changes = changes_of(reading, candidates, described.alike)
        words = self._words_seen(self.piece_table.vectors(pieces.ids))
        of_candidates, of_each = mean_and_peak(words, groups), mean_and_peak(words, of_units)
        judged = []
        for number in range(len(self.weights["out"])):
            net = {name: tensor[number] for name, tensor in self.weights.items() if name != "words"}
            known = np.concatenate([rows, of_candidates[number]], axis=1)
            unit = np.concatenate([each, of_each[number]], axis=1)
            hidden = _gelu(known @ net["hidden"] + net["hidden_bias"])
            chances = _chances(hidden @ net["out"] + net["out_bias"])
            first, second, shared = _split(net["pair_hidden"], hidden.shape[1], hidden.shape[1])
            joint = (hidden @ first)[pairs.places[:, 0]] + (hidden @ second)[pairs.places[:, 1]]
            joint = _gelu(joint + pairs.features @ shared + net["pair_hidden_bias"])
            first, second, shared = _split(net["change_hidden"], hidden.shape[1], unit.shape[1])
            other = (hidden @ first)[changes.places[:, 0]] + (unit @ second)[changes.places[:, 1]]
            other = _gelu(other + changes.features @ shared + net["change_hidden_bias"])
            judged.append(
                (
                    chances,
                    (joint @ net["pair_out"] + net["pair_out_bias"])[:, 0],
                    _chances(other @ net["change_out"] + net["change_out_bias"])[:, 0],
                )
            )
        chances, together, changed = (np.mean(part, axis=0) for part in zip(*judged, strict=True))
        key, alone, stale = chances.T
        return Worth(key, alone, stale, pairs.places, together, changes.places, changed)

    def _words_seen(self, vectors: Matrix) -> Matrix:
        """(T, N, D) of (T, V): what each network sees at each piece; the ends see nothing."""
        weights, bias = self.weights["words"], self.weights["words_bias"]
        count, ends = 2 * REACH_OF_WORDS + 1, ((REACH_OF_WORDS, REACH_OF_WORDS), (0, 0))
        seen = []
        for start in range(0, len(vectors) - count + 1, _AT_ONCE):
            part = vectors[start : start + _AT_ONCE + count - 1]
            near = np.concatenate(
                [part[k : len(part) - count + 1 + k] for k in range(count)], axis=1
            )
            seen.append(np.maximum(near @ weights + bias.reshape(-1), 0))
        padded: Matrix = np.pad(np.concatenate(seen), ends)
        return padded.reshape(len(vectors), *bias.shape)


def _split(weights: Matrix, first: int, second: int) -> tuple[Matrix, Matrix, Matrix]:
    """The rows of weights for two things and for both together."""
    return weights[:first], weights[first : first + second], weights[first + second :]


def _chances(logits: Matrix) -> Matrix:
    bounded = np.maximum(logits, np.float32(-80))  # below, exp would overflow and warn
    chances: Matrix = np.float32(1) / (np.float32(1) + np.exp(-bounded))
    return chances


def _gelu(x: Matrix) -> Matrix:
    y: Matrix = 0.5 * x * (1 + np.tanh(_ROOT * (x + np.float32(0.044715) * x * x * x)))
    return y


def read_network(path: Path) -> Network:
    """The network of a safetensors file, as the laboratory's training writes it."""
    stored: Mapping[str, NDArray[np.generic]] = load_file(path)
    stems = stored["stems"].tobytes().decode("utf-8").split("\n")
    counts = dict(zip(stems, stored["counts"].tolist(), strict=True))
    names = (*LAYERS, *(f"{name}_bias" for name in LAYERS))
    mean, deviation = (stored[name].astype(np.float32) for name in ("mean", "deviation"))
    weights = {name: stored[name].astype(np.float32) for name in names}
    words = weights["words"].swapaxes(0, 1)  # all networks at once
    return Network(
        mean,
        deviation,
        weights | {"words": words.reshape(len(words), -1)},
        Rarity(counts, int(stored["dialogues"][0])),
        piece_table(stored),
    )


@cache
def bundled_network() -> Network:
    """The network that the package holds: trained on the project's own dialogues."""
    return read_network(BUNDLED)
