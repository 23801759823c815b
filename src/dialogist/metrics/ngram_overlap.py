"""What two sequences share (n-grams, longest common subsequence), and the words of ROUGE."""

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Generic, TypeAlias, TypeVar

from dialogist.language.porter import porter_stem

# What two sequences share: n-grams, and the longest common subsequence by bits.
#
# A set of positions in a reference is one integer, bit ``i`` for position ``i``; one step of the
# dynamic programme is then a few operations on integers (Hyyrö 2004, "Bit-parallel LCS-length
# computation revisited"), instead of a row of comparisons.

Triple: TypeAlias = tuple[float, float, float]
"""Precision, recall and F1, 0-100."""

SequenceT = TypeVar("SequenceT", bound=Hashable)


def shared(one: Counter[SequenceT], other: Counter[SequenceT]) -> int:
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


def positions(tokens: Iterable[SequenceT]) -> dict[SequenceT, int]:
    """Where each token stands, as bits."""
    places: dict[SequenceT, int] = {}
    for i, token in enumerate(tokens):
        places[token] = places.get(token, 0) | 1 << i
    return places


def lcs_length(places: dict[SequenceT, int], size: int, tokens: Sequence[SequenceT]) -> int:
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


def lcs_positions(places: dict[SequenceT, int], size: int, tokens: Sequence[SequenceT]) -> int:
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


# Words as ROUGE sees them: ``rouge-score``'s tokenizer, for any script, with a memory.
#
# For English the words are ``rouge-score``'s own. It drops everything but ASCII letters and digits,
# so Chinese would score 0: here each CJK character is a word, and so is a run of letters of another
# script that is not Latin. Latin letters with accents split a word, as in ``rouge-score``.

_T = TypeVar("_T")

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LATIN = "\u0000-\u024f"
_LAST_LATIN = "\u024f"
_PIECE = re.compile(rf"[{_CJK}]|(?:(?![{_CJK}{_LATIN}_])\w)+|[{_LATIN}]+")
_WORD = re.compile("[a-z0-9]+")
_REMEMBERED = 200_000  # words: some 40 MB, more than any corpus at hand has


class Memory(dict[str, _T], Generic[_T]):
    """What a function says of a word, asked once a word; it forgets all when it is full."""

    def __init__(self, function: Callable[[str], _T]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: str) -> _T:
        if len(self) >= _REMEMBERED:
            self.clear()
        self[word] = found = self._function(word)
        return found


class RougeWords:
    """Splits texts into lower-case words, stemmed (Porter, with NLTK's extensions) or not."""

    def __init__(self, stemmer: bool = True) -> None:
        # rouge-score leaves words of up to three letters alone.
        self._stems = Memory(lambda word: porter_stem(word) if len(word) > 3 else word)
        self.stemmer = stemmer

    def __call__(self, text: str) -> list[str]:
        """The words of a text."""
        if text.isascii():
            return self._latin(text)
        words: list[str] = []
        for piece in _PIECE.findall(text):
            words += self._latin(piece) if piece[0] <= _LAST_LATIN else [piece.lower()]
        return words

    def _latin(self, text: str) -> list[str]:
        found: list[str] = _WORD.findall(text.lower())
        return [self._stems[word] for word in found] if self.stemmer else found
