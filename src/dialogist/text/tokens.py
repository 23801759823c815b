"""Sentences and tokens of a text, with their places."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# A small rule-based sentence splitter for English and Chinese; lossless up to white space.


# Titles always want a name behind them; the others end a sentence when a capital follows.
_TITLES = "mr mrs ms dr prof st rev gen col capt lt sgt maj gov sen rep hon no vs fig"
_OTHERS = """
sr jr pres eq vol al inc ltd co corp dept est approx ca cf e.g i.e a.m p.m
jan feb mar apr jun jul aug sep sept oct nov dec
"""
_ALWAYS = frozenset(_TITLES.split())
_ABBREVIATIONS = frozenset(_OTHERS.split())
_CLOSERS = "\"'”’)]»」』）】"
_OPENERS = "\"'“‘([«「『（【"
_LOOK = 60  # characters weighed on either side: keeps a line of a million full stops quick
_LINE_END = re.compile(r"\r\n|\n|\r")
_CHINESE_END = "。！？"
_FIRST_CJK = "\u2e80"
_END = re.compile(
    rf"(?:(?<![.!?…])[.!?…]++[{re.escape(_CLOSERS)}]*+(?=\s)|[{_CHINESE_END}]+[{re.escape(_CLOSERS)}]*)"
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
# "5. 30": a model, or a dictation, may put a space into a time or an amount.
_SPACED_DECIMAL = re.compile(r"(?<!\d\d)\d\. \d\d(?!\d)")
# After "U.S." or "p.m." a sentence most likely begins where one of these words does.
_FIRST_WORDS = """
the a an he she it they we i you this that these those there his her their our my but and
in on at for with when after before as if however so then what who why how
"""
_STARTERS = frozenset(_FIRST_WORDS.split())


def split_sentences(text: str, small: bool = False) -> list[str]:
    """Return the sentences of ``text``, each stripped; a line end always ends a sentence.

    ``small``: a small letter may begin a sentence, as names do that a dialogue writes small.
    """
    lines = (line.strip() for line in _LINE_END.split(text))
    return [sentence for line in lines if line for sentence in _split_line(line, small)]


def closed(text: str) -> str:
    """``text``, with a full stop where it ends in a letter or digit (not of Chinese)."""
    last = text[-1:]
    return text + "." if last.isalnum() and last < _FIRST_CJK else text


def _split_line(line: str, small: bool) -> list[str]:
    sentences: list[str] = []
    start = 0
    for end in _END.finditer(line):
        if _is_end(line, start, end, small):
            sentences.append(line[start : end.end()].strip())
            start = end.end()
    sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_end(line: str, start: int, end: re.Match[str], small: bool) -> bool:
    mark = end[0].rstrip(_CLOSERS)
    following = line[end.end() : end.end() + _LOOK].lstrip()
    if not following or mark[0] in _CHINESE_END or mark in ("!", "?"):
        # "!" he said: a closing quote with a small letter behind it goes on.
        return not (mark != end[0] and following[:1].islower())
    if following.lstrip(_OPENERS)[:1].islower():
        return small and end[0] == "." and not _may_be_short(line[start : end.start()])
    if _SPACED_DECIMAL.match(line, end.start() - 1):
        return False
    if mark != "." or end[0] != ".":
        return True
    words = line[max(start, end.start() - _LOOK) : end.start()].split()
    return not words or not _is_abbreviation(words[-1].lstrip(_OPENERS), following, len(words))


def _may_be_short(before: str) -> bool:
    """Whether the word in front of a full stop may be an abbreviation or a bare number."""
    words = before[-_LOOK:].lower().split()
    word = words[-1].lstrip(_OPENERS) if words else ""
    known = word in _ALWAYS or word in _ABBREVIATIONS or _INITIALS.fullmatch(word)
    return bool(known) or (len(words) == 1 and word.isdigit())


def _is_abbreviation(word: str, following: str, position: int) -> bool:
    """Whether the full stop behind ``word`` belongs to it, rather than ending the sentence."""
    low = word.lower()
    if low in _ALWAYS:
        return low != "no" or following[:1].isdigit()  # "No. 5", but "I said no. He left."
    if position == 1 and word.isdigit():
        return True  # "1. First point" stays one
    if not (low in _ABBREVIATIONS or _INITIALS.fullmatch(word)):
        return False
    if low == "i":
        return False
    first = re.match(r"[\w']+", following.lstrip(_OPENERS))
    return not (first and first[0].lower() in _STARTERS)


# Words, speaker tags and marks of punctuation of an English text, with their places.


SPEAKER_TAG = r"#\s?[Pp]erson\s?\d+\s?#"
"""A speaker as DialogSum writes it: ``#Person1#``."""

_TAGS = re.compile(SPEAKER_TAG)
_TOKEN = re.compile(rf"{SPEAKER_TAG}|[^\W_]+(?:['’][^\W_]+)*|[.,;:!?…]")
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
