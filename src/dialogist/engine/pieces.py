"""What each token adds to a text, and where in it each one ends."""

from collections.abc import Callable, Sequence
from itertools import accumulate

from dialogist.data.encode import Encoded
from dialogist.engine.bundle import Bundle
from dialogist.records import Example
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
