"""Words, speaker tags and marks of punctuation of an English text, with their places."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from dialogist.text.sentences import split_sentences

TAG = r"#\s?[Pp]erson\s?\d+\s?#"
"""A speaker as DialogSum writes it: ``#Person1#``."""

_TAGS = re.compile(TAG)
_TOKEN = re.compile(rf"{TAG}|[^\W_]+(?:['’][^\W_]+)*|[.,;:!?…]")
_SMALL_END = re.compile(r"(?<=[.!?])\s+")
_ENDING = re.compile(r"'(?:s|ll|d|ve|re|m)?$")


class Token(NamedTuple):
    """``text[start:end]``: small letters, with straight apostrophes, and an ending apart.

    Of ``Ann's`` the base is ``ann``, the ending ``'s``; of ``#Person 1#`` the base ``#person1#``.
    """

    start: int
    end: int
    base: str
    ending: str
    capital: bool


def without_tags(text: str) -> str:
    """The text with spaces where speaker tags stood: what is left keeps its place."""
    return _TAGS.sub(lambda tag: " " * len(tag[0]), text) if "#" in text else text


def tokens_of(text: str) -> Iterator[Token]:
    """The tokens from left to right."""
    for match in _TOKEN.finditer(text):
        low = match[0].lower().replace("’", "'")
        if low[0] == "#":
            yield Token(match.start(), match.end(), "".join(low.split()), "", False)
            continue
        ending = _ENDING.search(low) if "'" in low else None
        base = low[: ending.start()] if ending else low
        capital = match[0][0].isupper()
        yield Token(match.start(), match.end(), base, low[len(base) :], capital)


def bases_of(text: str) -> list[str]:
    """The bases of the tokens alone: much quicker."""
    low = text.lower().replace("’", "'")
    found: list[str] = _TOKEN.findall(low)
    return [_ENDING.sub("", base) if "'" in base else base for base in found]


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end.

    Where all letters are small a full stop will do: no capital can tell what follows it.
    """
    place = 0
    for sentence in _SMALL_END.split(text) if text.islower() else split_sentences(text):
        start = text.index(sentence, place)
        place = start + len(sentence)
        yield start, place
