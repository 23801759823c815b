"""Dialogues without summaries as training pairs: windows of whole utterances, nothing left out.

A window holds as many utterances as a model can read. Only an utterance that is longer than a whole
window is divided; each part begins with the token of its speaker. What is to be written is made
of a window later, anew in each epoch (`dialogist.data.noise`).
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from dialogist.data.collate import EncodedPair
from dialogist.data.encode import Encoded, Limits, encode
from dialogist.records import Example
from dialogist.text.tokens import counted
from dialogist.tokenizers import Tokenizer

_UNLIMITED = Limits(source_tokens=None, summary_tokens=None)


@dataclass(slots=True)
class WindowCounts:
    """What windows were made of; ``divided`` dialogues have several.

    ``longer``: utterances that are longer than a window; ``empty``: dialogues without a token.
    """

    dialogues: int = 0
    windows: int = 0
    divided: int = 0
    longer: int = 0
    empty: int = 0

    def add(self, encoded: Encoded, windows: Sequence[EncodedPair]) -> None:
        """Count one dialogue."""
        self.dialogues += 1
        self.windows += len(windows)
        self.divided += len(windows) > 1
        self.empty += not windows
        parts = sum(len(window.starts) for window in windows)
        self.longer += max(0, parts - sum(1 for ids in utterances_of(encoded) if ids))

    def __str__(self) -> str:
        """One line for people."""
        empty = f"; {self.empty} have no token and are left out" if self.empty else ""
        return (
            f"{counted(self.dialogues, 'dialogues')} as {counted(self.windows, 'windows')}; "
            f"{self.divided} are longer than "
            f"one; {self.longer} times an utterance was divided{empty}"
        )


def encode_whole(example: Example, tokenizer: Tokenizer) -> Encoded:
    """A prepared dialogue as ids, without limits and without its references."""
    alone = replace(example, targets=(), sub_summaries=())
    return encode(alone, tokenizer, _UNLIMITED)


def utterances_of(encoded: Encoded | EncodedPair) -> list[tuple[int, ...]]:
    """The ids of each utterance; begin and end symbols are in none."""
    ends = (*encoded.starts, len(encoded.source) - 1)
    return [encoded.source[start:end] for start, end in pairwise(ends)]


def source_of(
    utterances: Sequence[Sequence[int]], bos: int, eos: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Begin + utterances + end, and where each utterance starts."""
    starts = list(accumulate(map(len, utterances), initial=1))[:-1]
    return (bos, *(token for ids in utterances for token in ids), eos), tuple(starts)


def windows_of(encoded: Encoded, limits: Limits, speakers: Collection[int]) -> list[EncodedPair]:
    """The windows of a dialogue (`encode_whole`) as pairs without a target.

    ``speakers`` are the ids of speakers' tokens. An id is the dialogue's; from the second window on
    its number follows.
    """
    bos, eos = encoded.source[0], encoded.source[-1]
    room = None if limits.source_tokens is None else max(1, limits.source_tokens - 2)
    longest = min((n for n in (room, limits.utterance_tokens) if n is not None), default=None)
    parts = [p for ids in utterances_of(encoded) for p in _parts(ids, longest, speakers)]
    windows = []
    for number, window in enumerate(_packed(parts, room, limits.utterances), 1):
        source, starts = source_of(window, bos, eos)
        name = encoded.id if number == 1 else f"{encoded.id}#{number}"
        windows.append(EncodedPair(source, (), name, starts))
    return windows


def _parts(
    ids: tuple[int, ...], longest: int | None, speakers: Collection[int]
) -> Iterator[tuple[int, ...]]:
    """An utterance in parts of at most ``longest`` tokens; none of an empty one."""
    if longest is None or len(ids) <= longest:
        if ids:
            yield ids
        return
    speaker = ids[:1] if ids[0] in speakers and longest > 1 else ()
    text, room = ids[len(speaker) :], longest - len(speaker)
    for start in range(0, len(text), room):
        yield (*speaker, *text[start : start + room])


def _packed(
    parts: Sequence[tuple[int, ...]], room: int | None, most: int | None
) -> Iterator[list[tuple[int, ...]]]:
    """Neighbours together as long as they fit."""
    window: list[tuple[int, ...]] = []
    size = 0
    for part in parts:
        full = room is not None and size + len(part) > room
        if window and (full or len(window) == most):
            yield window
            window, size = [], 0
        window.append(part)
        size += len(part)
    if window:
        yield window
