"""The selector's network: a few small perceptrons on candidates and pairs of them, in NumPy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file

from dialogist.highlights.features import Matrix, Pairs
from dialogist.highlights.pieces import (
    REACH_OF_WORDS,
    CandidatePieces,
    PieceTable,
    mean_and_peak,
    piece_table,
)
from dialogist.highlights.units import Rarity

BUNDLED = Path(__file__).resolve().parents[1] / "assets" / "selection" / "open.safetensors"
"""The selector that the package holds."""

CLIP = 4.0
"""Standard deviations: features beyond are cut."""

_LEAST_LOGIT = np.float32(-80)
_ROOT = np.float32(0.7978845608)
_AT_ONCE = 4096  # pieces: long dialogues need no more memory for it
_WEIGHTS = (
    "mean",
    "deviation",
    "words",
    "words_bias",
    "hidden",
    "hidden_bias",
    "out",
    "out_bias",
    "signs",
    "pair_hidden",
    "pair_hidden_bias",
    "pair_out",
    "pair_out_bias",
)


@dataclass(frozen=True, slots=True)
class Worth:
    """What candidates are worth to a summary.

    Attributes:
        key: (C,) how likely a summary must hold each.
        alone: (C,) how much each tells of the facts that a summary must hold.
        stale: (C,) how likely a later turn changes what each says.
        places, together: (P, 2), (P,) how much the two of a pair tell more than each alone; less
            than none where they tell the same.
    """

    key: NDArray[np.float32]
    alone: NDArray[np.float32]
    stale: NDArray[np.float32]
    places: NDArray[np.int64]
    together: NDArray[np.float32]

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
    """N networks whose mean counts; H and K are the widths of their hidden layers.

    Each sees features of a candidate and its words: a convolution over the vectors (V) of pieces,
    of which the mean and the most of D channels count.

    Attributes:
        mean, deviation: (F,) of the features of units.
        words, words_bias: (N, (2 `REACH_OF_WORDS` + 1) V, D), (N, D) of five pieces in a row.
        hidden, hidden_bias: (N, W + V + 2D, H), (N, H) of candidates.
        out, out_bias: (N, H, 3), (N, 3) for key, alone and stale.
        signs: (N, S) of the signs of staleness, for stale alone.
        pair_hidden, pair_hidden_bias: (N, 2H + P, K), (N, K) of pairs.
        pair_out, pair_out_bias: (N, K), (N,).
    """

    mean: Matrix
    deviation: Matrix
    words: Matrix
    words_bias: Matrix
    hidden: Matrix
    hidden_bias: Matrix
    out: Matrix
    out_bias: Matrix
    signs: Matrix
    pair_hidden: Matrix
    pair_hidden_bias: Matrix
    pair_out: Matrix
    pair_out_bias: Matrix
    rarity: Rarity
    piece_table: PieceTable

    def normalized(self, features: Matrix) -> Matrix:
        """Features of units (U, F) by their mean and deviation."""
        found: Matrix = np.clip((features - self.mean) / self.deviation, -CLIP, CLIP)
        return found

    def worth(self, rows: Matrix, signs: Matrix, pairs: Pairs, pieces: CandidatePieces) -> Worth:
        """Of candidates, by their rows (C, W), signs (C, S) and words, and of pairs of them."""
        known = np.concatenate([rows, self.piece_table.sums(pieces)], axis=1)
        width = known.shape[1]
        hidden = _gelu(
            known @ self.hidden[:, :width]
            + self.words_seen(pieces) @ self.hidden[:, width:]
            + self.hidden_bias[:, None]
        )
        logits = hidden @ self.out + self.out_bias[:, None]
        logits[:, :, 2] += self.signs @ signs.T
        each = _chances(logits)
        first, second = (hidden[:, pairs.places[:, side]] for side in (0, 1))
        told = np.broadcast_to(pairs.features, (len(hidden), *pairs.features.shape))
        both = np.concatenate([first, second, told], axis=2)
        joint = _gelu(both @ self.pair_hidden + self.pair_hidden_bias[:, None])
        more = (joint @ self.pair_out[:, :, None])[:, :, 0] + self.pair_out_bias[:, None]
        return Worth(each[:, 0], each[:, 1], each[:, 2], pairs.places, more.mean(axis=0))

    def words_seen(self, pieces: CandidatePieces) -> Matrix:
        """(N, C, 2D): what the networks see at the pieces of each candidate."""
        vectors = self.piece_table.vectors(pieces.ids)
        return np.stack(
            [
                mean_and_peak(self._at_each(vectors, number), pieces)
                for number in range(len(self.words))
            ]
        )

    def _at_each(self, vectors: Matrix, number: int) -> Matrix:
        """(T, D) of (T, V): what one network sees at each piece; the ends see nothing."""
        count, ends = 2 * REACH_OF_WORDS + 1, ((REACH_OF_WORDS, REACH_OF_WORDS), (0, 0))
        found = []
        for start in range(0, len(vectors) - count + 1, _AT_ONCE):
            own = vectors[start : start + _AT_ONCE + count - 1]
            near = [own[k : len(own) - count + 1 + k] for k in range(count)]
            seen = np.concatenate(near, axis=1) @ self.words[number]
            found.append(_gelu(seen + self.words_bias[number]))
        return np.pad(np.concatenate(found), ends)


def _chances(logits: Matrix) -> NDArray[np.float32]:
    """The mean over the perceptrons."""
    bounded = np.maximum(logits, _LEAST_LOGIT)  # below, exp would overflow and warn
    found: NDArray[np.float32] = (1 / (1 + np.exp(-bounded))).mean(axis=0)
    return found


def _gelu(x: Matrix) -> Matrix:
    found: Matrix = 0.5 * x * (1 + np.tanh(_ROOT * (x + np.float32(0.044715) * x * x * x)))
    return found


def read_network(path: Path) -> Network:
    """The network of a safetensors file, as `dialogist.recipe.selector` writes it."""
    stored: Mapping[str, NDArray[np.generic]] = load_file(path)
    stems = stored["stems"].tobytes().decode("utf-8").split("\n")
    counts = dict(zip(stems, stored["counts"].tolist(), strict=True))
    weights = {name: stored[name].astype(np.float32) for name in _WEIGHTS}
    rarity = Rarity(counts, int(stored["dialogues"][0]))
    return Network(**weights, rarity=rarity, piece_table=piece_table(stored))


@cache
def bundled_network() -> Network:
    """The network that the package holds: trained on the project's own dialogues."""
    return read_network(BUNDLED)
