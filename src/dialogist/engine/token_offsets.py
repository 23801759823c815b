"""What each token adds to a text, and where in it each one ends."""

from collections.abc import Callable, Sequence
from itertools import accumulate

from dialogist.data.encode import Encoded
from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Draft
from dialogist.records import Example
from dialogist.text.tokens import closed
from dialogist.tokenizers.base import LONGEST_CHARACTER

BROKEN = "\ufffd"
"""What part of a character is read as."""


def pieces(ids: Sequence[int], read: Callable[[Sequence[int]], str]) -> list[str]:
    """What each token adds to the text of those before it.

    Of a character that several tokens make, all but the last add nothing.
    """
    found: list[str] = []
    start = done = 0  # what stands before ``start`` changes nothing that comes
    for end in range(1, len(ids) + 1):
        before, now = read(ids[start:done]), read(ids[start:end])
        unfinished = now.endswith(BROKEN) and end < len(ids)
        if unfinished and end - done < LONGEST_CHARACTER:
            found.append("")
            continue
        found.append(now[len(before) :])
        start, done = done, end
    return found


def ends_of(ids: Sequence[int], read: Callable[[Sequence[int]], str]) -> list[int]:
    """Where each token ends in the text of all of them, white space around it left out.

    ``read`` gives the text of some ids. A character of several tokens is the last one's.
    """
    found = pieces(ids, read)
    text = "".join(found)
    skipped, length = len(text) - len(text.lstrip()), len(text.strip())
    return [min(max(0, end - skipped), length) for end in accumulate(map(len, found))]


def reader(bundle: Bundle, example: Example, encoded: Encoded) -> Callable[[Sequence[int]], str]:
    """From ids to text with names and values back in place, white space as it comes."""

    def read(ids: Sequence[int]) -> str:
        text = bundle.tokenizer.decode(ids, encoded.unknown)
        return bundle.preparation.restore(text, example)

    return read


# Which tokens say which stretch of a text.


def token_ranges(ends: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each span of characters the first of its tokens, and the one after the last.

    Args:
        ends: where the text of each token ends (`dialogist.engine.token_offsets.token_ends`).
        spans: from left to right, none inside another.

    A token that reaches into two spans belongs to the one that has more of it; one that adds no
    character (several make one) to where the next one belongs. White space between spans is in
    none; a span without a token of its own has an empty range.
    """
    owners = _owners(ends, spans)
    found: list[tuple[int, int]] = []
    place = 0
    for number in range(len(spans)):
        own = [i for i, owner in enumerate(owners) if owner == number]
        found.append((own[0], own[-1] + 1) if own else (place, place))
        place = found[-1][1]
    return found


def _owners(ends: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[int | None]:
    owners: list[int | None] = [None] * len(ends)
    following: int | None = None
    for i in range(len(ends) - 1, -1, -1):
        start, end = (ends[i - 1] if i else 0), ends[i]
        if start < end:
            shares = [min(end, b) - max(start, a) for a, b in spans]
            most = max(shares, default=0)
            following = shares.index(most) if most > 0 else None
        owners[i] = following
    return owners


# What a draft says, as text: tokens to words, names and entities back in place.


def parts_of(
    bundle: Bundle, draft: Draft, example: Example, encoded: Encoded
) -> list[tuple[str, str]]:
    """(label, text) of each part of a draft; joined, the texts are what it says.

    A draft without key points has one part, without a label. Where the preparation restores how
    English is written, a draft that was not broken off ends like a sentence: of chats, models learn
    to leave the last full stop out, and the next window's text may stand right behind it.
    """
    pack = bundle.preparation.pack
    between = "" if pack is not None and pack.language == "zh" else " "
    read = reader(bundle, example, encoded)
    found: list[tuple[str, str]] = []
    for number, hypothesis in enumerate(draft.parts):
        text = read(hypothesis.tokens).strip()
        label = pack.labels[draft.labels[number]] if pack and draft.labels else ""
        gap = between if text and any(said for _, said in found) else ""
        found.append((label, gap + text))
    if found and draft.finished and bundle.preparation.config.case == "restored":
        label, text = found[-1]
        found[-1] = (label, closed(text))
    return found
