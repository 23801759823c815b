"""What the selector is told of candidates, and of two that stand near each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialogist.selection.features import Matrix
from dialogist.selection.likeness import Likeness
from dialogist.selection.staleness import Staleness
from dialogist.selection.statements import Candidate
from dialogist.selection.terms import Rarity, terms_of
from dialogist.selection.units import Unit

REACH = 3
"""How many candidates on the other one of a pair may be: facts are rarely told farther apart."""

SIGNS = 27
"""How many signs of staleness there are."""

_FAR, _LONG = 6, 12  # units and words: more makes no difference


@dataclass(frozen=True, slots=True)
class Pairs:
    """``places`` (P, 2): the numbers of two candidates; ``features`` (P, K) of them together."""

    places: NDArray[np.int64]
    features: Matrix


def rows_of(candidates: Sequence[Candidate], units: Sequence[Unit], each: Matrix) -> Matrix:
    """(C, 6F + 5) of the normalized features (U, F) of all units.

    The last 2F tell of the whole dialogue: the mean over its candidates, and how each departs from
    it. What matters is what stands out among what else is said.
    """
    if not candidates:
        return np.zeros((0, 6 * each.shape[1] + 5), dtype=np.float32)
    beside = around(each)[[one.units[-1] for one in candidates]]
    own = np.array([each[list(one.units)].max(axis=0) for one in candidates])
    wording = np.array([_wording(one, units) for one in candidates])
    mean = np.broadcast_to(own.mean(axis=0), own.shape)
    return np.concatenate([beside, own, wording, own - mean, mean], axis=1).astype(np.float32)


def signs_of(candidates: Sequence[Candidate], units: Sequence[Unit]) -> Matrix:
    """(C, S): of each candidate the signs of staleness that one of its units shows."""
    staleness = Staleness(units)
    rows = [
        np.max([list(staleness.row(i).values()) for i in one.units], axis=0) for one in candidates
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), SIGNS)


def _wording(one: Candidate, units: Sequence[Unit]) -> list[float]:
    said = sum(units[i].words for i in one.units)
    return [
        len(one.units) - 1,
        one.kind == "quoted",
        float(np.log1p(one.words)) - 2,
        one.words / max(1, said) - 1,
        one.words / 10 - 1,
    ]


def around(x: Matrix) -> Matrix:
    """(U, 3F): each row with the one before and the one behind it, zeros beyond the ends."""
    none = np.zeros_like(x[:1])
    return np.concatenate([x, np.vstack([none, x[:-1]]), np.vstack([x[1:], none])], axis=1)


def pairs_of(candidates: Sequence[Candidate], units: Sequence[Unit], rarity: Rarity) -> Pairs:
    """All pairs of candidates that are at most `REACH` apart."""
    terms = [terms_of(" ".join(units[i].text for i in one.units)) for one in candidates]
    like = Likeness.between(terms, rarity)
    places = [
        (i, j)
        for i in range(len(candidates))
        for j in range(i + 1, min(len(candidates), i + REACH + 1))
    ]
    rows = [
        _together(
            j - i, units, (candidates[i].units[-1], candidates[j].units[0]), like.of[i].get(j)
        )
        for i, j in places
    ]
    return Pairs(
        np.array(places, dtype=np.int64).reshape(-1, 2),
        np.array(rows, dtype=np.float32).reshape(len(rows), REACH + 9),
    )


def _together(
    apart: int, units: Sequence[Unit], ends: tuple[int, int], likeness: float | None
) -> list[float]:
    """``ends``: the last unit of the first candidate, and the first of the second."""
    one, other = units[ends[0]], units[ends[1]]
    return [
        *(apart == n for n in range(1, REACH + 1)),
        one.speaker == other.speaker,
        one.turn == other.turn,
        other.turn - one.turn == 1,
        min(ends[1] - ends[0], _FAR) / 3,
        likeness or 0.0,
        "?" in one.text,
        "?" in other.text,
        min(other.words, _LONG) / 6,
        min(one.words, _LONG) / 6,
    ]
