"""Windows: a long dialogue in parts that a model can read whole.

Windows begin and end between utterances and overlap; one utterance longer than a window is split
between words. All of it is read: nothing is left out here.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil

from dialogist.data.limits import Limits
from dialogist.records import Example, Utterance

NAME_SHARE = 2
"""A name that takes more than this part of a window is read as text: see `_pieces`."""

Count = Callable[[str], int]
"""How many tokens a text has."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """An utterance, or as much of it as a model can read at once."""

    utterance: Utterance
    origins: tuple[int, ...]
    tokens: int


@dataclass(frozen=True, slots=True)
class Room:
    """What fits into one window: tokens and utterances, and tokens of one utterance."""

    tokens: int | None
    utterances: int | None
    utterance_tokens: int | None

    @classmethod
    def of(cls, limits: Limits) -> "Room":
        """The room that a model's limits leave."""
        tokens = limits.source_tokens
        if tokens is not None:
            tokens = max(1, tokens - 1 - int(limits.keep_end))
        return cls(tokens, limits.utterances, limits.utterance_tokens)

    def at_most(self, tokens: int) -> "Room":
        """The same with no more tokens than these."""
        return replace(self, tokens=tokens if self.tokens is None else min(self.tokens, tokens))

    def share(self, part: int) -> "Room":
        """A part of the tokens and utterances: a quarter if ``part`` is 4."""
        tokens = None if self.tokens is None else self.tokens // part
        utterances = None if self.utterances is None else self.utterances // part
        return replace(self, tokens=tokens, utterances=utterances)

    def without(self, pieces: "Sequence[_Piece]") -> "Room":
        """What is left beside some pieces."""
        tokens = None if self.tokens is None else self.tokens - sum(p.tokens for p in pieces)
        utterances = None if self.utterances is None else self.utterances - len(pieces)
        return replace(self, tokens=tokens, utterances=utterances)

    @property
    def longest(self) -> int | None:
        """The most tokens that one utterance can have."""
        known = [limit for limit in (self.tokens, self.utterance_tokens) if limit is not None]
        return min(known, default=None)


@dataclass(frozen=True, slots=True)
class Cutting:
    """How to cut: windows share ``overlap`` utterances at most.

    ``alike``: windows are of like length. Otherwise each is as long as can be, and what is
    said later changes none but the last.
    """

    overlap: int = 2
    alike: bool = True


def windows_of(example: Example, room: Room, cutting: Cutting, count: Count) -> list[Example]:
    """The example in windows, in order; one that fits is itself.

    The utterances that two windows share take at most a quarter of one. Each window begins with the
    user profile.
    """
    first = [p for i in range(example.profile) for p in _pieces(example, i, room, count)]
    left = room.without(first)
    rest = range(example.profile, len(example.utterances))
    pieces = [p for i in rest for p in _pieces(example, i, left, count)]
    spans = _spans([piece.tokens for piece in pieces], left, cutting)
    if len(spans) <= 1 and len(first) + len(pieces) == len(example.utterances):
        return [example]
    return [_window(example, [*first, *pieces[start:end]]) for start, end in spans]


def _window(example: Example, pieces: Sequence[_Piece]) -> Example:
    return replace(
        example,
        utterances=tuple(piece.utterance for piece in pieces),
        origins=tuple(piece.origins for piece in pieces),
        targets=(),
        sub_summaries=(),
    )


def _pieces(example: Example, number: int, room: Room, count: Count) -> list[_Piece]:
    """An utterance whole, or split between words (or within one that alone is too long).

    Each part has the speaker's name. One that would leave hardly any room for what is said (a
    whole sentence taken for a name) is text in the first part instead, and in that alone.
    """
    utterance = example.utterances[number]
    origins = example.origins[number] if example.origins else (number,)

    def size(text: str) -> int:
        return count(f"{utterance.speaker} {text}")

    longest, tokens = room.longest, size(utterance.text)
    if longest is None or tokens <= longest:
        return [_Piece(utterance, origins, tokens)]
    if count(utterance.speaker) > longest // NAME_SHARE:
        text = f"{utterance.speaker} {utterance.text}"
        utterance = replace(utterance, speaker="", text=text)
    texts = _split(utterance.text, size, longest)
    return [_Piece(replace(utterance, text=text), origins, size(text)) for text in texts]


def _split(text: str, size: Callable[[str], int], longest: int) -> list[str]:
    """The text in halves until each fits, cut at the white space next to its middle."""
    text = text.strip()
    if size(text) <= longest or len(text) < 2:
        return [text]
    middle = len(text) // 2
    before, after = text.rfind(" ", 0, middle), text.find(" ", middle)
    places = [place for place in (before, after) if 0 < place < len(text) - 1]
    cut = min(places, key=lambda place: abs(place - middle), default=middle)
    return [*_split(text[:cut], size, longest), *_split(text[cut:], size, longest)]


def _spans(tokens: Sequence[int], room: Room, cutting: Cutting) -> list[tuple[int, int]]:
    """(first, after the last) piece of each window."""
    spans: list[tuple[int, int]] = []
    start, total = 0, sum(tokens)
    wanted = _wanted(total, room) if cutting.alike else room.tokens
    while True:
        end, size = start, 0
        while end < len(tokens) and _fits(end - start, size, tokens[end], room, wanted):
            size += tokens[end]
            end += 1
        spans.append((start, end))
        if end >= len(tokens):
            return spans
        start = _back(tokens, (start, end), cutting.overlap, room)


def _wanted(total: int, room: Room) -> int | None:
    """Tokens of each window if all are to be alike, with some to spare for the overlaps."""
    if room.tokens is None:
        return None
    number = ceil(total / (0.9 * room.tokens)) if total > room.tokens else 1
    return min(room.tokens, ceil(1.1 * total / number))


def _fits(pieces: int, size: int, more: int, room: Room, wanted: int | None) -> bool:
    if not pieces:
        return True
    if room.utterances is not None and pieces >= room.utterances:
        return False
    return wanted is None or size + more <= wanted


def _back(tokens: Sequence[int], span: tuple[int, int], overlap: int, room: Room) -> int:
    """Where the next window begins: some utterances before the end of this one."""
    if room.utterances is not None:
        overlap = min(overlap, room.utterances // 4)
    room_for_overlap = None if room.tokens is None else room.tokens // 4
    start, end = span
    place, size = end, 0
    while end - place < overlap and place - 1 > start:
        size += tokens[place - 1]
        if room_for_overlap is not None and size > room_for_overlap:
            break
        place -= 1
    return place
