"""Split dialogues into parts of which none repeats, wholly or in part, a dialogue of another."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate, groupby
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dialogist.errors import UsageError
from dialogist.records import Dialogue
from dialogist.language.tokens import words_in

# Runs of words as numbers: what dialogues that repeat each other have in common.


Hashes: TypeAlias = npt.NDArray[np.uint64]

_FACTOR = 0x9E3779B97F4A7C15


def dialogue_words(dialogue: Dialogue) -> list[str]:
    """Return the words of a dialogue in small letters; who speaks them does not count."""
    text = "\n".join(utterance.text for utterance in dialogue.utterances).lower()
    return words_in(text) or text.split()


def digest(text: str) -> int:
    """64 bits of a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def shingles_of(words: Sequence[str], width: int, known: dict[str, int]) -> Hashes:
    """The distinct hashes of all runs of ``width`` words; of fewer words, of all of them.

    ``known`` remembers the words' own hashes from call to call.
    """
    for word in words:
        if word not in known:
            known[word] = digest(word)
    hashes = np.array([known[word] for word in words], dtype=np.uint64)
    width = min(width, len(hashes))
    count = len(hashes) - width + 1
    total = np.zeros(count, dtype=np.uint64)
    for place in range(width):  # a polynomial in a fixed odd factor, modulo 2**64
        total = total * np.uint64(_FACTOR) + hashes[place : place + count]
    return np.unique(total)


# words -> 64-bit hashes of 8-word shingles -> pairs that share many -> union-find -> clusters
#
# Whole clusters go to one part. A hash of their text and the seed decides, so neither the order of
# the input nor chance matters. One shared 13-word shingle, the usual test for contamination, would
# be too eager here: service dialogues all say "can I help you with anything else today".


SHINGLE = 8
SHARED_PART = 0.5  # of the shorter dialogue's shingles ...
SHARED_RUN = 40  # ... or this many: a copied passage of nearly fifty words inside a longer dialogue
_SHARED_AT_LEAST = 4  # a greeting of eleven words alone proves nothing
# A shingle held by many dialogues is compared with the first few of them only: enough to join
# sixty near copies into one cluster, and it keeps boilerplate from costing quadratic time.
_COMPARED = 8


@dataclass(frozen=True, slots=True)
class Split:
    """The parts by name, each in the order of the input, and what was found to belong together.

    ``clusters`` lists the ids of each group of two or more (near) duplicates, largest first.
    """

    parts: dict[str, list[Dialogue]]
    clusters: tuple[tuple[str, ...], ...]


def split_dialogues(dialogues: Sequence[Dialogue], shares: Mapping[str, float], seed: int) -> Split:
    """Split into parts of about the given shares, (near) duplicates always together.

    Raises:
        UsageError: the shares are not positive, or do not add up to 1.
    """
    _check_shares(shares)
    clusters = find_clusters(dialogues)
    chosen = _assign(dialogues, clusters, shares, seed)
    parts: dict[str, list[Dialogue]] = {name: [] for name in shares}
    for dialogue, name in zip(dialogues, chosen, strict=True):
        parts[name].append(dialogue)
    several = sorted((c for c in clusters if len(c) > 1), key=lambda c: (-len(c), c))
    return Split(parts, tuple(tuple(dialogues[n].id for n in cluster) for cluster in several))


def find_clusters(dialogues: Sequence[Dialogue]) -> list[list[int]]:
    """Group the positions of dialogues that repeat each other, wholly or in part."""
    words = [dialogue_words(dialogue) for dialogue in dialogues]
    # In the order of their texts' hashes: which few are compared must not depend on the input.
    order = sorted(range(len(words)), key=lambda n: digest("\n".join(words[n])))
    known: dict[str, int] = {}
    # Dialogues without a word are alike: one run of nothing.
    shingles = [shingles_of(words[n] or [""], SHINGLE, known) for n in order]
    parents = list(range(len(order)))
    for (one, other), shared in _shared(shingles).items():
        smaller = min(len(shingles[one]), len(shingles[other]))
        part = shared >= max(SHARED_PART * smaller, min(smaller, _SHARED_AT_LEAST))
        if part or shared >= SHARED_RUN:
            parents[root_of(parents, other)] = root_of(parents, one)
    groups: dict[int, list[int]] = defaultdict(list)
    for place, position in enumerate(order):
        groups[root_of(parents, place)].append(position)
    return [sorted(group) for group in groups.values()]


def _shared(shingles: Sequence[Hashes]) -> Counter[tuple[int, int]]:
    """How many shingles two dialogues (by position, the smaller first) have in common."""
    shared: Counter[tuple[int, int]] = Counter()
    if not shingles:
        return shared
    hashes = np.concatenate(shingles)
    holders = np.repeat(np.arange(len(shingles)), [len(each) for each in shingles])
    by_hash = np.argsort(hashes, kind="stable")
    hashes, holders = hashes[by_hash], holders[by_hash]
    same = hashes[1:] == hashes[:-1]
    held_by_several = np.append(same, False) | np.insert(same, 0, False)
    pairs = zip(hashes[held_by_several].tolist(), holders[held_by_several].tolist(), strict=True)
    for _, run in groupby(pairs, key=lambda pair: pair[0]):
        places = [place for _, place in run]
        for n, one in enumerate(places[:_COMPARED]):
            shared.update((one, other) for other in places[n + 1 :])
    return shared


def root_of(parents: list[int], place: int) -> int:
    """The root of a place's tree in a forest that groups are joined in; paths get shorter."""
    while parents[place] != place:
        parents[place] = parents[parents[place]]
        place = parents[place]
    return place


def _assign(
    dialogues: Sequence[Dialogue],
    clusters: Sequence[Sequence[int]],
    shares: Mapping[str, float],
    seed: int,
) -> list[str]:
    """The part of each dialogue: clusters in hashed order, cut where the shares are used up."""

    def place(cluster: Sequence[int]) -> int:
        texts = (" ".join(dialogue_words(dialogues[n])) for n in cluster)
        return digest(f"{seed}\n{min(texts)}")

    names = list(shares)
    ends = list(accumulate(shares.values()))
    chosen = [""] * len(dialogues)
    before = 0
    for cluster in sorted(clusters, key=place):
        middle = (before + len(cluster) / 2) / len(dialogues)
        part = next((n for n, end in zip(names, ends, strict=True) if middle < end), names[-1])
        for position in cluster:
            chosen[position] = part
        before += len(cluster)
    return chosen


def _check_shares(shares: Mapping[str, float]) -> None:
    wrong = [name for name, share in shares.items() if not share > 0]
    if wrong:
        raise UsageError(f"share '{wrong[0]}' must be above 0 (got {shares[wrong[0]]})")
    total = sum(shares.values())
    if not abs(total - 1) < 1e-6:
        raise UsageError(f"shares must add up to 1 (they add up to {total:g})")
