"""`Reader`: what becomes of a dialogue on its way into the model: windows, or a reason for none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from dialogist.data.encode import Encoded, tokens_read
from dialogist.engine.bundle import Bundle
from dialogist.engine.legible import Refusal, refusal
from dialogist.engine.options import SummaryOptions
from dialogist.engine.windows import Cutting, Room, windows_of
from dialogist.engine.written import Window
from dialogist.records import Coverage, Dialogue, Dropped, Example

PROFILE_SHARE = 4
"""The user profile takes at most a quarter of a window."""

SMALL_WINDOWS, SMALLEST_WINDOW = 2, 80
"""A summary of length ``long`` reads at least so many windows, of at least so many tokens."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A dialogue as it is read: prepared, in windows (none where it is ``refused``)."""

    dialogue: Dialogue
    example: Example
    coverage: Coverage
    windows: tuple[Window, ...] = ()
    refused: Refusal | None = None


class Reader:
    """Prepares dialogues for one model."""

    def __init__(self, bundle: Bundle, alike: bool = True) -> None:
        """``alike``: see `windows.Cutting`."""
        self._alike = alike
        self._preparation, self._tokenizer = bundle.preparation, bundle.tokenizer

    def read(self, dialogue: Dialogue, options: SummaryOptions) -> Reading:
        """Prepare a dialogue and cut it into windows; nothing is searched yet."""
        refused = refusal(dialogue, self._preparation.config.language)
        example = self._with_room(self._preparation.prepare(dialogue))
        dialogue = self._preparation.with_profile(dialogue)
        encoded = self._encode(example)
        if refused or not encoded.coverage.tokens:
            refused = refused or ("empty", "the dialogue holds no text that the model knows")
            return Reading(dialogue, example, self._unread(dialogue, encoded, refused), (), refused)
        examples = self._windows(example, encoded, options)
        parts = [encoded] if examples == [example] else [self._encode(e) for e in examples]
        windows = [Window(e, p, dialogue) for e, p in zip(examples, parts, strict=True)]
        return Reading(dialogue, example, self._coverage(encoded, windows), tuple(windows))

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
        return windows_of(example, room, cutting, self._count)

    def _count(self, text: str) -> int:
        return len(self._tokenizer.encode(text))

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
