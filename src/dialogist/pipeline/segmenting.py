"""Windows: a long dialogue in parts that a model can read whole."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from dialogist.data.encode import Encoded, Limits, tokens_read
from dialogist.pipeline.bundle import Bundle
from dialogist.pipeline.drafts import Window
from dialogist.pipeline.isolation import Refusal, refusal
from dialogist.pipeline.options import SummaryOptions
from dialogist.records import Coverage, Dialogue, Dropped, Example, Utterance

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


def split_into_windows(
    example: Example, room: Room, cutting: Cutting, count: Count
) -> list[Example]:
    """The example in windows, in order; one that fits is itself.

    The utterances that two windows share take at most a quarter of one. Each window begins with the
    user profile.
    """
    first = [p for i in range(example.profile) for p in _pieces(example, i, room, count)]
    left = room.without(first)
    rest = range(example.profile, len(example.utterances))
    pieces = [p for i in rest for p in _pieces(example, i, left, count)]
    spans = _window_spans([piece.tokens for piece in pieces], left, cutting)
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


def _window_spans(tokens: Sequence[int], room: Room, cutting: Cutting) -> list[tuple[int, int]]:
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


# `Segmenter`: what becomes of a dialogue on its way into the model: windows, or a reason for none.


PROFILE_SHARE = 4
"""The user profile takes at most a quarter of a window."""

SMALL_WINDOWS, SMALLEST_WINDOW = 2, 80
"""A summary of length ``long`` reads at least so many windows, of at least so many tokens."""


@dataclass(frozen=True, slots=True)
class SegmentedDialogue:
    """A dialogue as it is read: prepared, in windows (none where it is ``refused``)."""

    dialogue: Dialogue
    example: Example
    coverage: Coverage
    windows: tuple[Window, ...] = ()
    refused: Refusal | None = None


class Segmenter:
    """Prepares dialogues for one model."""

    def __init__(self, bundle: Bundle, alike: bool = True) -> None:
        """``alike``: see `Cutting`."""
        self._alike = alike
        self._preparation, self._tokenizer = bundle.preparation, bundle.tokenizer

    def read(self, dialogue: Dialogue, options: SummaryOptions) -> SegmentedDialogue:
        """Prepare a dialogue and cut it into windows; nothing is searched yet."""
        refused = refusal(dialogue, self._preparation.config.language)
        example = self._with_room(self._preparation.prepare(dialogue))
        dialogue = self._preparation.with_profile(dialogue)
        encoded = self._encode(example)
        if refused or not encoded.coverage.tokens:
            refused = refused or ("empty", "the dialogue holds no text that the model knows")
            return SegmentedDialogue(
                dialogue, example, self._unread(dialogue, encoded, refused), (), refused
            )
        examples = self._windows(example, encoded, options)
        parts = [encoded] if examples == [example] else [self._encode(e) for e in examples]
        windows = [Window(e, p, dialogue) for e, p in zip(examples, parts, strict=True)]
        return SegmentedDialogue(
            dialogue, example, self._coverage(encoded, windows), tuple(windows)
        )

    def _with_room(self, example: Example) -> Example:
        """The example without the fields of a profile that take more than their share of a window.

        Each window begins with the others.
        """
        room = Room.of(self._preparation.config.limits).share(PROFILE_SHARE)
        kept = tokens = 0
        for utterance in example.utterances[: example.profile]:
            tokens += self._count(utterance.text)
            if room.tokens is not None and tokens > room.tokens:
                break
            kept += room.utterances is None or kept < room.utterances
        if kept == example.profile:
            return example
        note = f"of {example.profile} fields of the user profile the model has room for {kept}"
        places = (slice(kept), slice(example.profile, None))
        return replace(
            example,
            utterances=tuple(u for place in places for u in example.utterances[place]),
            origins=tuple(one for place in places for one in example.origins[place]),
            profile=kept,
            notes=(*example.notes, note),
        )

    def _encode(self, example: Example) -> Encoded:
        return self._preparation.encode(example, self._tokenizer)

    def _windows(
        self, example: Example, encoded: Encoded, options: SummaryOptions
    ) -> list[Example]:
        if options.long == "cut":
            return [example]
        room = Room.of(self._preparation.config.limits)
        if options.length == "long":
            room = room.at_most(max(SMALLEST_WINDOW, ceil(encoded.coverage.tokens / SMALL_WINDOWS)))
        elif encoded.coverage.complete:
            return [example]
        cutting = Cutting(options.overlap, self._alike)
        return split_into_windows(example, room, cutting, self._count)

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode_turn(text))

    def _coverage(self, whole: Encoded, windows: Sequence[Window]) -> Coverage:
        read: set[int] = set()
        # Windows overlap: what is cut off in two of them is lost once.
        lost = {one for window in windows for one in self._lost(window, read)}
        count = len(windows[0].dialogue.utterances)
        silent = set(range(count)) - {
            i for w in windows for origins in w.example.origins for i in origins
        }
        tokens = whole.coverage.tokens
        return Coverage(
            utterances=count,
            utterances_read=len(read | silent),  # of those without text there is nothing to lose
            tokens=tokens,
            # Parts of an utterance that is split have its speaker's tokens again.
            tokens_read=max(0, tokens - sum(one.tokens for one in lost)),
            windows=_spans(windows) if len(windows) > 1 else (),
            dropped=tuple(sorted(lost, key=lambda one: one.utterance)),
        )

    def _lost(self, window: Window, read: set[int]) -> Iterator[Dropped]:
        """What a window's limits cut off; adds the utterances that were read to ``read``."""
        if window.encoded.coverage.complete:
            read.update(i for origins in window.example.origins for i in origins)
            return
        limits = self._preparation.config.limits
        told = tokens_read(window.example, self._tokenizer, limits)
        for origins, (some, every) in zip(window.example.origins, told, strict=True):
            if some or not every:
                read.update(origins)
            if some < every:
                reason = f"the model reads {limits.reads}"
                yield Dropped(origins[0], every - some, reason)
                yield from (Dropped(i, 0, reason) for i in origins[1:] if not some)

    def _unread(self, dialogue: Dialogue, encoded: Encoded, refused: Refusal) -> Coverage:
        silent = [not utterance.text.strip() for utterance in dialogue.utterances]
        return Coverage(
            utterances=len(silent),
            utterances_read=sum(silent),
            tokens=encoded.coverage.tokens,
            dropped=tuple(Dropped(i, 0, refused[1]) for i, none in enumerate(silent) if not none),
        )


def _spans(windows: Sequence[Window]) -> tuple[tuple[int, int], ...]:
    """First utterance of each window and the one after its last."""
    each = (
        [i for origins in w.example.origins[w.example.profile :] for i in origins] for w in windows
    )
    return tuple((min(numbers), max(numbers) + 1) for numbers in each)
