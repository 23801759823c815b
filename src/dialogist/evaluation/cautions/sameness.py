"""Which texts say nearly the same: the mark of a system that has one answer for everything.

    text -> hashed pairs of words -> MinHash -> candidates -> Jaccard -> groups

Two texts are nearly the same where they share seven tenths of their distinct pairs of words
(Jaccard): a sentence of some twenty words with one or two changed. Candidates are found by MinHash
(Broder 1997) in bands, so that 20,000 outputs are not compared each with each: texts at the limit
are candidates in 99 of 100 cases, and each candidate is then compared exactly.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from dialogist.data.shingles import Hashes, shingles_of
from dialogist.text.words import words_of

NEARLY = 0.7  # of the distinct pairs of words of both

_BANDS, _ROWS = 12, 3
_COMPARED = 8  # of a band's bucket: enough to join copies, and copies cost no quadratic time

# Odd, so that each scrambles without loss; PCG64's raw bits are the same in every NumPy.
_FACTORS = np.random.PCG64(1).random_raw(_BANDS * _ROWS) | np.uint64(1)


def same_groups(texts: Sequence[str]) -> list[list[int]]:
    """Positions of texts that say nearly the same, in groups of two or more, largest first.

    Capitals, punctuation and white space do not count. Texts without a word are in no group. Who is
    like a member is of the group, so its ends may differ more.
    """
    known: dict[str, int] = {}
    runs = [_pairs_of(text, known) for text in texts]
    parents = list(range(len(texts)))
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for place, own in enumerate(runs):
        for key in _bands(own) if len(own) else ():
            bucket = buckets[key]
            for other in bucket:
                if _root(parents, other) != _root(parents, place) and _alike(own, runs[other]):
                    parents[_root(parents, place)] = _root(parents, other)
            if len(bucket) < _COMPARED:
                bucket.append(place)
    groups: dict[int, list[int]] = defaultdict(list)
    for place in range(len(texts)):
        groups[_root(parents, place)].append(place)
    several = [group for group in groups.values() if len(group) > 1]
    return sorted(several, key=lambda group: (-len(group), group))


def _pairs_of(text: str, known: dict[str, int]) -> Hashes:
    words = words_of(text.casefold())
    return shingles_of(words, 2, known) if words else np.zeros(0, dtype=np.uint64)


def _bands(runs: Hashes) -> Iterator[tuple[int, bytes]]:
    """The least of each of 36 scramblings, three at a time."""
    least = (runs[None, :] * _FACTORS[:, None] >> np.uint64(11)).min(axis=1)
    for band in range(_BANDS):
        yield band, least[band * _ROWS : (band + 1) * _ROWS].tobytes()


def _alike(one: Hashes, other: Hashes) -> bool:
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared >= NEARLY * (len(one) + len(other) - shared)


def _root(parents: list[int], place: int) -> int:
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place
