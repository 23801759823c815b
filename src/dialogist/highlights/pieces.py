"""The words of candidates as vectors: each piece of a word has one, from a pretrained encoder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import tokenizers
from numpy.typing import NDArray
from tokenizers import models, normalizers, pre_tokenizers

from dialogist.highlights.features import Matrix
from dialogist.highlights.statements import Candidate
from dialogist.highlights.units import Unit

REACH_OF_WORDS = 2
"""How many pieces before and behind one the selector sees with it."""

_LONGEST = 100  # characters of a word that has pieces
_UNKNOWN, _END = "[UNK]", "[SEP]"


class CandidatePieces(NamedTuple):
    """The pieces of a dialogue, ``ids`` (T,), with `REACH_OF_WORDS` ends of sequence around them.

    ``owned`` (R,): the numbers of the pieces of one candidate after another; ``starts`` (C,):
    where in ``owned`` each candidate begins.
    """

    ids: NDArray[np.int64]
    owned: NDArray[np.int64]
    starts: NDArray[np.int64]


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

    def pieces_of(self, units: Sequence[Unit], candidates: Sequence[Candidate]) -> CandidatePieces:
        """The pieces of all units, and those of some candidates."""
        ends = [self._ids[_END]] * REACH_OF_WORDS
        ids, places = [*ends], []
        for unit in units:
            own = self._tokenizer.encode(unit.text, add_special_tokens=False).ids
            places.append(range(len(ids), len(ids) + max(1, len(own))))
            ids += own or [self._ids[_UNKNOWN]]
        owned = [piece for one in candidates for i in one.units for piece in places[i]]
        lengths = [sum(len(places[i]) for i in one.units) for one in candidates]
        starts = np.cumsum([0, *lengths])[:-1]
        return CandidatePieces(np.array([*ids, *ends]), np.array(owned), starts)

    def vectors(self, ids: NDArray[np.int64]) -> Matrix:
        """(T, K) of (T,)."""
        found: Matrix = self.values[ids] * self.scales[ids]
        return found

    def sums(self, pieces: CandidatePieces) -> Matrix:
        """(C, K): what the pieces of each candidate sum up to, by the root of their number."""
        ids = pieces.ids[pieces.owned]
        found: Matrix = np.add.reduceat(self.vectors(ids) * self.weights[ids], pieces.starts)
        found /= np.sqrt(_lengths(pieces))
        return found


def _lengths(pieces: CandidatePieces) -> Matrix:
    """(C, 1): how many pieces candidates have."""
    return np.diff(pieces.starts, append=len(pieces.owned)).astype(np.float32)[:, None]


def mean_and_peak(x: Matrix, pieces: CandidatePieces) -> Matrix:
    """(C, 2D) of (T, D): of the pieces of each candidate the mean and the most."""
    own = x[pieces.owned]
    mean = np.add.reduceat(own, pieces.starts) / _lengths(pieces)
    return np.concatenate([mean, np.maximum.reduceat(own, pieces.starts)], axis=1)


def piece_table(stored: Mapping[str, NDArray[Any]]) -> PieceTable:
    """The table of some tensors."""
    return PieceTable(
        stored["pieces"].tobytes().decode("utf-8").split("\n"),
        stored["piece_values"],
        stored["piece_scales"][:, None],
        stored["piece_weights"][:, None],
    )
