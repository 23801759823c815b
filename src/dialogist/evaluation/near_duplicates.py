"""Dialogues that two splits share, and outputs that say nearly the same.

Two texts are nearly the same where they share seven tenths of their distinct pairs of words
(Jaccard): a sentence of some twenty words with one or two changed. Candidates are found by MinHash
(Broder 1997) in bands, so that 20,000 outputs are not compared each with each: texts at the limit
are candidates in 99 of 100 cases, and each candidate is then compared exactly.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from dialogist.data.split import Hashes, dialogue_words, root_of, shingles_of
from dialogist.records import JSON, Dialogue
from dialogist.language.tokens import words_in

RUN = 13
RUN_OF_CHARACTERS = 20
WHOLE = 0.5
PART = 0.1
LONG = 20
_AT_LEAST = 4
_RARE = 10  # dialogues of a split

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two dialogues that share text; an id is ``#12`` where the twelfth has none.

    ``shared``: runs of words that both hold; ``share``: the part (0 to 1) of the shorter one's.
    """

    train: str
    held: str
    shared: int
    share: float
    whole: bool

    def to_json(self) -> dict[str, JSON]:
        """All fields."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Overlaps:
    """What two splits share: pairs, whole copies first, and how many dialogues were compared."""

    pairs: tuple[Overlap, ...]
    train_dialogues: int
    held_dialogues: int

    @property
    def train(self) -> tuple[str, ...]:
        """Ids of the training dialogues concerned: those to leave out."""
        return tuple(dict.fromkeys(pair.train for pair in self.pairs))

    @property
    def held(self) -> tuple[str, ...]:
        """Ids of the held-out dialogues concerned."""
        return tuple(dict.fromkeys(pair.held for pair in self.pairs))


def find_overlaps(train: Iterable[Dialogue], held: Sequence[Dialogue]) -> Overlaps:
    """Pairs of a training and a held-out dialogue that repeat each other, wholly or in part.

    ``train`` is read once; memory is that of the held-out dialogues.
    """
    index = _Index(held)
    met: list[_Meeting] = []
    count = 0
    for count, dialogue in enumerate(train, 1):
        met += index.meet(dialogue, count)
    pairs = [pair for meeting in met if (pair := index.pair(meeting)) is not None]
    pairs.sort(key=lambda pair: (not pair.whole, -pair.share, pair.train, pair.held))
    return Overlaps(tuple(pairs), count, len(held))


@dataclass(frozen=True, slots=True)
class _Meeting:
    """A training dialogue beside a held-out one; ``rare``: shared runs that may be rare."""

    train: str
    held: int
    shared: int
    shorter: int
    rare: Ints

    @property
    def whole(self) -> bool:
        enough = min(self.shorter, _AT_LEAST)
        return self.shared >= WHOLE * self.shorter and self.shared >= enough


class _Index:
    """The held-out dialogues' runs: each distinct one with those that hold it."""

    def __init__(self, held: Sequence[Dialogue]) -> None:
        self._known: dict[str, int] = {}
        self._ids = [_name(dialogue, number) for number, dialogue in enumerate(held, 1)]
        runs = [self._runs(dialogue) for dialogue in held]
        self._sizes = np.array([len(each) for each in runs], dtype=np.int64)
        every = np.concatenate([np.zeros(0, dtype=np.uint64), *runs])
        owners = np.repeat(np.arange(len(held)), self._sizes)
        order = np.argsort(every, kind="stable")
        self._hashes, begins = np.unique(every[order], return_index=True)
        self._owners = owners[order]
        self._ends = np.append(begins, len(every))
        self._held_by = np.diff(self._ends)
        self._met_by = np.zeros(len(self._hashes), dtype=np.int64)  # training dialogues

    def _runs(self, dialogue: Dialogue) -> Hashes:
        words = dialogue_words(dialogue)
        if not words:
            return np.zeros(0, dtype=np.uint64)
        characters = sum(len(word) == 1 and not word.isascii() for word in words)
        width = RUN_OF_CHARACTERS if 2 * characters > len(words) else RUN
        return shingles_of(words, width, self._known)

    def meet(self, dialogue: Dialogue, number: int) -> list[_Meeting]:
        """Every held-out dialogue that shares enough with a training one, or may prove to."""
        runs = self._runs(dialogue)
        places = np.searchsorted(self._hashes, runs)
        inside = places < len(self._hashes)
        places = places[inside][self._hashes[places[inside]] == runs[inside]]
        if not len(places):
            return []
        self._met_by[places] += 1
        counts = self._held_by[places]
        owners = self._owners[_ranges(self._ends[places], counts)]
        shared = np.repeat(places, counts)
        rare = np.repeat(self._rare(places), counts)
        found = []
        for held in np.unique(owners).tolist():
            here = owners == held
            meeting = _Meeting(
                train=_name(dialogue, number),
                held=held,
                shared=int(here.sum()),
                shorter=min(len(runs), int(self._sizes[held])),
                rare=shared[here & rare],
            )
            if meeting.whole or _is_part(len(meeting.rare), meeting.shorter):
                found.append(meeting)
        return found

    def pair(self, meeting: _Meeting) -> Overlap | None:
        """The overlap, now that it is known which runs are rare; None: set phrases only."""
        rare = int(self._rare(meeting.rare).sum())
        if not (meeting.whole or _is_part(rare, meeting.shorter)):
            return None
        return Overlap(
            train=meeting.train,
            held=self._ids[meeting.held],
            shared=meeting.shared,
            share=meeting.shared / meeting.shorter,
            whole=meeting.whole,
        )

    def _rare(self, places: Ints) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (self._held_by[places] <= _RARE) & (
            self._met_by[places] <= _RARE
        )
        return found


def _is_part(rare: int, shorter: int) -> bool:
    return rare >= _AT_LEAST and (rare >= PART * shorter or rare >= LONG)


def _ranges(begins: Ints, counts: Ints) -> Ints:
    """The numbers from each begin on, as many as its count, one after the other."""
    before = np.cumsum(counts) - counts
    found: Ints = np.repeat(begins - before, counts) + np.arange(counts.sum())
    return found


def _name(dialogue: Dialogue, number: int) -> str:
    return dialogue.id or f"#{number}"


_NEARLY = 0.7  # of the distinct pairs of words of both

_BANDS, _ROWS = 12, 3
_COMPARED = 8  # of a band's bucket: enough to join copies, and copies cost no quadratic time

# Odd, so that each scrambles without loss; PCG64's raw bits are the same in every NumPy.
_FACTORS = np.random.PCG64(1).random_raw(_BANDS * _ROWS) | np.uint64(1)


def near_duplicate_groups(texts: Sequence[str]) -> list[list[int]]:
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
                if root_of(parents, other) != root_of(parents, place) and _alike(own, runs[other]):
                    parents[root_of(parents, place)] = root_of(parents, other)
            if len(bucket) < _COMPARED:
                bucket.append(place)
    groups: dict[int, list[int]] = defaultdict(list)
    for place in range(len(texts)):
        groups[root_of(parents, place)].append(place)
    several = [group for group in groups.values() if len(group) > 1]
    return sorted(several, key=lambda group: (-len(group), group))


def _pairs_of(text: str, known: dict[str, int]) -> Hashes:
    words = words_in(text.casefold())
    return shingles_of(words, 2, known) if words else np.zeros(0, dtype=np.uint64)


def _bands(runs: Hashes) -> Iterator[tuple[int, bytes]]:
    """The least of each of 36 scramblings, three at a time."""
    least = (runs[None, :] * _FACTORS[:, None] >> np.uint64(11)).min(axis=1)
    for band in range(_BANDS):
        yield band, least[band * _ROWS : (band + 1) * _ROWS].tobytes()


def _alike(one: Hashes, other: Hashes) -> bool:
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared >= _NEARLY * (len(one) + len(other) - shared)
