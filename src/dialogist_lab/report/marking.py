"""Texts cut where something is to be marked: words the other side lacks, unsupported spots.

Words are the same where ROUGE takes them for the same (stems, no capitals), and count as often as
the other side has them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dialogist.metrics.ngram_overlap import RougeWords
from dialogist.text.words import words_of

_TAG = "#"


@dataclass(frozen=True, slots=True)
class Spot:
    """A part of a text, from ``start`` to before ``end``, and why it is marked."""

    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text that is marked in one way; ``why`` is empty where it is supported."""

    text: str
    alone: bool = False
    why: str = ""


class Marker:
    """Marks what of a text others lack."""

    def __init__(self) -> None:
        self._words = RougeWords()

    def marked(self, text: str, others: Sequence[str], spots: Iterable[Spot] = ()) -> list[Piece]:
        """The text in pieces: joined, they are the text.

        ``others``: a word is `Piece.alone` if none of these has it as often. ``spots`` lie in the
        text; a word that one begins in is marked as a whole by it.
        """
        left: Counter[str] = Counter()
        for other in others:
            left |= Counter(self._keys(other))
        pieces = list(self._pieces(text, left, sorted(spots, key=lambda spot: spot.start)))
        return list(_merged(pieces))

    def _pieces(self, text: str, left: Counter[str], spots: Sequence[Spot]) -> Iterator[Piece]:
        end = 0
        for start, word in _places(text):
            if start > end:
                yield Piece(text[end:start], why=_why(spots, end, start))
            end = start + len(word)
            yield Piece(word, self._take(word, left), _why(spots, start, end))
        if end < len(text):
            yield Piece(text[end:], why=_why(spots, end, len(text)))

    def _take(self, word: str, left: Counter[str]) -> bool:
        """Whether the other side has no such word left; one that is there is used up."""
        lacking = False
        for key in self._words(word):
            lacking |= left[key] <= 0
            left[key] -= 1
        return lacking

    def _keys(self, text: str) -> Iterator[str]:
        """Word by word, as `_take` does: apostrophes must not tell the two sides apart."""
        for word in words_of(text):
            yield from self._words(word)


def _places(text: str) -> Iterator[tuple[int, str]]:
    """Where each word begins; the marks of a tag, as in ``#Person1#``, belong to it."""
    end = 0
    for word in words_of(text):
        start = text.index(word, end)
        stop = start + len(word)
        start -= text[end:start].endswith(_TAG)
        end = stop + text.startswith(_TAG, stop)
        yield start, text[start:end]


def _why(spots: Sequence[Spot], start: int, end: int) -> str:
    return next((spot.why for spot in spots if spot.start < end and spot.end > start), "")


def _merged(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Neighbours of one marking as one; what is between two that agree goes with them."""
    kept: list[Piece] = []
    for number, piece in enumerate(pieces):
        between = not words_of(piece.text)
        following = pieces[number + 1] if number + 1 < len(pieces) else None
        if between and kept and following and _alike(kept[-1], following):
            piece = Piece(piece.text, kept[-1].alone, kept[-1].why)
        if kept and _alike(kept[-1], piece):
            kept[-1] = Piece(kept[-1].text + piece.text, piece.alone, piece.why)
        else:
            kept.append(piece)
    yield from kept


def _alike(one: Piece, other: Piece) -> bool:
    return (one.alone, one.why) == (other.alone, other.why)
