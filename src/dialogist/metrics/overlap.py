"""What two sequences share: n-grams, and the longest common subsequence by bits.

A set of positions in a reference is one integer, bit ``i`` for position ``i``; one step of the
dynamic programme is then a few operations on integers (Hyyrö 2004, "Bit-parallel LCS-length
computation revisited"), instead of a row of comparisons.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeAlias, TypeVar

Triple: TypeAlias = tuple[float, float, float]
"""Precision, recall and F1, 0-100."""

Token = TypeVar("Token", bound=Hashable)


def shared(one: Counter[Token], other: Counter[Token]) -> int:
    """How many the two multisets have in common, each counted as often as both have it."""
    if len(one) > len(other):
        one, other = other, one
    # get, not []: a Counter calls __missing__ for what it lacks.
    return sum([min(count, other.get(token, 0)) for token, count in one.items()])


def triple(common: float, size: float, reference_size: float) -> Triple:
    """Precision, recall and F1 of what a text and a reference share; 0 where that is nothing."""
    if common <= 0:
        return 0.0, 0.0, 0.0
    precision, recall = common / size, common / reference_size
    return 100 * precision, 100 * recall, 100 * (2 * precision * recall / (precision + recall))


def positions(tokens: Iterable[Token]) -> dict[Token, int]:
    """Where each token stands, as bits."""
    places: dict[Token, int] = {}
    for i, token in enumerate(tokens):
        places[token] = places.get(token, 0) | 1 << i
    return places


def lcs_length(places: dict[Token, int], size: int, tokens: Sequence[Token]) -> int:
    """Length of the longest common subsequence of ``tokens`` and a reference.

    Args:
        places: `positions` of the reference.
        size: how many tokens the reference has.
        tokens: the other sequence.
    """
    every = (1 << size) - 1
    flat = every  # bit i is 0 where the length rises between positions i - 1 and i
    for token in tokens:
        match = places.get(token)
        if match is not None:
            common = flat & match
            flat = (flat + common | flat - common) & every
    return size - flat.bit_count()


def lcs_positions(places: dict[Token, int], size: int, tokens: Sequence[Token]) -> int:
    """Which positions of the reference are in the common subsequence, as bits; see `lcs_length`.

    There can be several longest ones. This is the one that ``rouge-score`` and ROUGE-1.5.5 read
    out of their table from its end: a match is taken wherever there is one, else the reference
    goes back, unless that is shorter.
    """
    every = (1 << size) - 1
    flat = every
    rows: list[tuple[int, int]] = []  # for each token: where it matches, where the length rises
    for token in tokens:
        match = places.get(token, 0)
        common = flat & match
        flat = (flat + common | flat - common) & every
        rows.append((match, every ^ flat))
    found, left = 0, every
    for match, rises in reversed(rows):
        stops = (match | rises) & left  # the reference goes back to the last of these
        if not stops:
            break
        top = 1 << stops.bit_length() - 1
        if match & top:
            found |= top
            left = top - 1
        else:
            left = (top << 1) - 1
    return found
