"""Windows: a long dialogue in parts that a model can read whole; and one summary from theirs.

Sentences are chosen, never rewritten: a model would have to summarise summaries, which it has not
learned, and a rewritten sentence has lost the utterances it rests on. Duplicates are folded into
their first place; then, level by level, neighbours give up their least central sentences, so that
every part of a dialogue of hours keeps its say.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from dialogist.baselines.extractive import lexrank_scores
from dialogist.data.encode import Encoded, Limits, tokens_read
from dialogist.model_folder.bundle import Bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.drafts import Window
from dialogist.pipeline.isolation import Refusal, refusal
from dialogist.records import Coverage, Dialogue, Dropped, Example, Utterance
from dialogist.language.porter import stem_of
from dialogist.language.tokens import (
    FUNCTION_WORDS,
    NEGATION,
    count_words,
    split_sentences,
    words_in,
)

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


# Sentences of the windows that become one summary.

MERGED_AT_ONCE = 4
"""How many neighbouring windows, then groups of windows, are looked at together."""

MANY = 4
"""How many times the wanted words are far too many."""

SEGMENT = 25
"""Words of each segment's share: about a sentence or two."""

ALIKE = 0.7
"""Sentences that share this part of the words of the shorter one say the same."""


_UNSPACED = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef][\"'”’]*$")


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence: of which window and which part (key point) of what was said there.

    ``text`` is stripped. ``start`` and ``end`` are its characters in the part's stripped text as
    the model wrote it.
    """

    text: str
    window: int = 0
    part: int = 0
    label: str = ""
    start: int = 0
    end: int = 0


def summary_sentences(text: str, window: int, part: int, label: str) -> list[SummarySentence]:
    """The sentences of one part, with their places in its text."""
    found: list[SummarySentence] = []
    text, place = text.strip(), 0
    for sentence in split_sentences(text, small=True):
        start = text.find(sentence, place)
        place = start + len(sentence)
        found.append(SummarySentence(sentence, window, part, label, start, place))
    return found


def gap_behind(text: str) -> str:
    """What stands between a sentence and the next one: nothing in Chinese and Japanese."""
    return "" if _UNSPACED.search(text) else " "


def deduplicate(said: Sequence[SummarySentence]) -> list[SummarySentence]:
    """Without sentences that another window has said already."""
    kept: list[SummarySentence] = []
    content: list[_Content] = []
    holding: dict[str, list[int]] = defaultdict(list)  # a stem's sentences, by number
    for one in said:
        words = _Content.of(one.text)
        shared = Counter(number for stem in words.stems for number in holding[stem])
        if any(
            kept[number].window != one.window and words.says_what(content[number], stems)
            for number, stems in shared.items()
        ):
            continue
        for stem in words.stems:
            holding[stem].append(len(kept))
        kept.append(one)
        content.append(words)
    return kept


def select_sentences(said: Sequence[SummarySentence], words: int) -> list[SummarySentence]:
    """The most telling sentences with at most ``words`` words, in order; at least one.

    While there are far too many, `MERGED_AT_ONCE` neighbouring windows at a time give up half of
    their words; then the dialogue is taken in as many segments as there is room for, and each has
    its share.
    """
    kept, size = list(said), MERGED_AT_ONCE
    last = max((one.window for one in said), default=0) + 1
    while _length(kept) > MANY * words and size < last:
        groups = _grouped(kept, size)
        halves = [_length(kept[place] for place in group) / 2 for group in groups]
        kept = _thinned(kept, size, halves)
        size *= MERGED_AT_ONCE
    if _length(kept) <= words:
        return kept
    segments = max(1, min(last, words // SEGMENT))
    size = ceil(last / segments)
    shares = [words / segments] * len(_grouped(kept, size))
    kept = _thinned(kept, size, shares)
    return kept if _length(kept) <= words else _thinned(kept, last, [words])


def _grouped(said: Sequence[SummarySentence], size: int) -> list[list[int]]:
    """The places of the sentences of each ``size`` windows."""
    groups: dict[int, list[int]] = {}
    for place, one in enumerate(said):
        groups.setdefault(one.window // size, []).append(place)
    return list(groups.values())


def _thinned(
    said: Sequence[SummarySentence], size: int, words: Sequence[float]
) -> list[SummarySentence]:
    """The most central sentences of each group, as many words as it may keep, and one at least."""
    kept: set[int] = set()
    for group, room in zip(_grouped(said, size), words, strict=True):
        ranks = lexrank_scores([said[place].text for place in group])
        left, first = room, True
        for _, place in sorted(zip(ranks, group, strict=True), key=lambda pair: -pair[0]):
            own = count_words(said[place].text)
            if own <= left or first:
                kept.add(place)
                left -= own
                first = False
    return [one for place, one in enumerate(said) if place in kept]


def _length(said: Iterable[SummarySentence]) -> int:
    return sum(count_words(one.text) for one in said)


@dataclass(frozen=True, slots=True)
class _Content:
    """The stems of a sentence's content words, and whether it denies anything."""

    stems: frozenset[str]
    denies: bool

    @classmethod
    def of(cls, text: str) -> "_Content":
        words = frozenset(word.casefold() for word in words_in(text))
        stems = frozenset(map(stem_of, words - FUNCTION_WORDS)) or words
        return cls(stems, NEGATION.search(text) is not None)

    def says_what(self, other: "_Content", shared: int) -> bool:
        """Whether both say the same; ``shared`` stems are in both."""
        least = ALIKE * max(1, min(len(self.stems), len(other.stems)))
        return shared >= least and self.denies == other.denies
