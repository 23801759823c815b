"""Words, tokens and sentences of a text: counting, folding, places; function words and verbs."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from snowballstemmer import stemmer

# Lists of words, and counts of things, written as text.


def listed(text: str) -> tuple[str, ...]:
    """The words between white space, in their order."""
    return tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The words between white space."""
    return frozenset(text.split())


def word_table(name: str) -> dict[str, str]:
    """The lists of ``assets/language/NAME.txt``, each a line ``name: words``; long ones go on."""
    path = Path(__file__).parents[1] / "assets" / "language" / f"{name}.txt"
    lists = re.split(r"\n(?! )", path.read_text("utf-8").strip())
    return {name: " ".join(words.split()) for name, _, words in (x.partition(": ") for x in lists)}


ENGLISH = word_table("english")
"""Lists of English words, by name."""


def counted(count: int, things: str) -> str:
    """``1 dialogue``, ``312 summaries``; ``things`` is the plural."""
    if count != 1:
        return f"{count:,} {things}"
    singular = f"{things[:-3]}y" if things.endswith("ies") else things.removesuffix("s")
    return f"1 {singular}"


# A text with other words in some places, and where everything else has moved.


class Replaced(NamedTuple):
    """A text with replacements; ``spans``: start and end in the original, and what stands there."""

    text: str
    spans: tuple[tuple[int, int, str], ...] = ()

    def place(self, offset: int) -> int:
        """Where a character of the original stands now; within a replacement: behind it."""
        shift = 0
        for start, end, new in self.spans:
            if offset <= start:
                break
            if offset < end:
                return start + shift + len(new)
            shift += len(new) - (end - start)
        return offset + shift

    def around(self, start: int, end: int) -> tuple[int, int]:
        """Where ``start:end`` of the original stands now, replacements that it cuts as a whole."""
        for first, last, _ in self.spans:
            start = first if first < start < last else start
            end = last if first < end < last else end
        return self.place(start), self.place(end)


def replaced(text: str, spans: Iterable[tuple[int, int, str]]) -> Replaced:
    """The text with other words at places that stand in order."""
    done = tuple(spans)
    pieces: list[str] = []
    place = 0
    for start, end, new in done:
        pieces += [text[place:start], new]
        place = end
    return Replaced("".join([*pieces, text[place:]]), done)


# Marks that have no width, and those that turn the direction of what stands around them.
INVISIBLE = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]+")


# Words and how many: one way of counting for merging, statistics and splits.


# A Chinese, Japanese or Korean character counts one, a run of other word characters one (with its
# apostrophe: "don't"), a mark of punctuation one. The paper counts the same way (footnote 2).
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = rf"[{_CJK}]|[^\W{_CJK}]+(?:['’][^\W{_CJK}]+)*"
_WORDS = re.compile(_WORD)
_TOKENS = re.compile(rf"{_WORD}|[^\w\s]")


def words_in(text: str) -> list[str]:
    """Return the words of a text, single Chinese characters among them, without punctuation."""
    return _WORDS.findall(text)


def count_words(text: str) -> int:
    """Count words, marks of punctuation, and single Chinese, Japanese or Korean characters."""
    return sum(1 for _ in _TOKENS.finditer(text))


# Folding: what two spellings of one word have in common.


def folded(text: str) -> str:
    """Small letters without accents: ``Łódź`` and ``lodz`` are one."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in parts if not unicodedata.combining(c))
    return bare.lower().translate(_STROKES)


_STROKES = str.maketrans("łøđħ", "lodh")


# Closed classes of English words: grammar, not content; and the words that begin sentences.


FUNCTION_WORDS = word_set(
    " ".join(ENGLISH[name] for name in listed("pronouns auxiliaries prepositions spoken"))
)
"""Pronouns, auxiliaries, prepositions, conjunctions, particles and interjections, lower-cased."""

OPENERS = FUNCTION_WORDS | word_set(ENGLISH["openers"])
"""Words that begin a sentence without being anybody's name."""


# Verbs of summaries by what their subject does in the dialogue; forms of irregular words.


REPORTING = word_set(ENGLISH["reporting"])
"""What summaries say that speakers do, base forms: a sentence may begin with one."""


IRREGULAR = {
    form: base for base, *forms in map(str.split, ENGLISH["irregular"].split("|")) for form in forms
}
"""Form -> base form of irregular words; one of several words that mean the same -> the first."""
_SHORTEST, _LONGEST = 3, 40  # letters of a word with a stem; a longer row of them is none


@lru_cache(1 << 13)
def stem_of(word: str) -> str:
    """The stem of a lower-cased word: Porter's (1980), of its base form where it is irregular."""
    stem = _porter(word)
    return _STEMS.get(stem, stem) if len(word) >= _SHORTEST else _porter(IRREGULAR.get(word, word))


def _porter(word: str) -> str:
    is_word = _SHORTEST <= len(word) <= _LONGEST
    return (
        stemmer("porter").stemWord(word) if is_word else word
    )  # a new one: no two threads share it


# By stems: "purchases" is no form in the list, but its stem is that of one.
_STEMS = {_porter(form): _porter(base) for form, base in IRREGULAR.items()}


# A small rule-based sentence splitter for English and Chinese; lossless up to white space.


# Titles always want a name behind them; the others end a sentence when a capital follows.
_ALWAYS = word_set(ENGLISH["titles"])
_ABBREVIATIONS = word_set(ENGLISH["abbreviations"])
# In a text of small letters, before a content word: "the sim. interpretation".
_SMALL_ABBREVIATIONS = word_set(ENGLISH["small abbreviations"])
_SHORT_DAYS = word_set(ENGLISH["short days"])
_CLOSERS = "\"'”’)]»」』）】"
_OPENING_MARKS = "\"'“‘([«「『（【"
_LOOK = 60  # characters weighed on either side: keeps a line of a million full stops quick
LINE_END = re.compile(r"\r\n|\n|\r")
_CHINESE_END = "。！？"
_END = re.compile(
    rf"(?:(?<![.!?…])[.!?…]++[{re.escape(_CLOSERS)}]*+(?=\s)|[{_CHINESE_END}]+[{re.escape(_CLOSERS)}]*)"
)
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
# "5. 30": a model, or a dictation, may put a space into a time or an amount.
_SPACED_DECIMAL = re.compile(r"(?<!\d\d)\d\. \d\d(?!\d)")
# After "U.S." or "p.m." a sentence most likely begins where one of these words does.
_STARTERS = word_set(ENGLISH["first words"])


def split_sentences(text: str) -> list[str]:
    """Return the sentences of ``text``, each stripped; a line end always ends a sentence."""
    sentences: list[str] = []
    for line in map(str.strip, LINE_END.split(text)):
        start = 0
        for end in _END.finditer(line):
            if _is_end(line, start, end):
                sentences.append(line[start : end.end()].strip())
                start = end.end()
        sentences.append(line[start:].strip())
    return list(filter(None, sentences))


def _is_end(line: str, start: int, end: re.Match[str]) -> bool:
    mark = end[0].rstrip(_CLOSERS)
    following = line[end.end() : end.end() + _LOOK].lstrip()
    if not following or mark[0] in _CHINESE_END or mark in ("!", "?"):
        # "!" he said: a closing quote with a small letter behind it goes on.
        return not (mark != end[0] and following[:1].islower())
    if following.lstrip(_OPENING_MARKS)[:1].islower():
        return False
    if _SPACED_DECIMAL.match(line, end.start() - 1):
        return False
    if mark != "." or end[0] != ".":
        return True
    words = line[max(start, end.start() - _LOOK) : end.start()].split()
    if [word.lower() for word in words[:-1]] == ["on"] and words[-1].lower() in _SHORT_DAYS:
        return False  # "On Thurs. I worked"
    return not words or not _is_abbreviation(
        words[-1].lstrip(_OPENING_MARKS), following, len(words)
    )


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
    first = re.match(r"[\w']+", following.lstrip(_OPENING_MARKS))
    return not (first and first[0].lower() in _STARTERS)


# Words, speaker tags and marks of punctuation of an English text, with their places.


SPEAKER_TAG = r"#\s?[Pp]erson\s?\d+\s?#"
"""A speaker as DialogSum writes it: ``#Person1#``."""

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


def sentence_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text begin and end.

    Where all letters are small a full stop will do: no capital can tell what follows it.
    """
    place = 0
    for sentence in _small_sentences(text) if text.islower() else split_sentences(text):
        start = text.index(sentence, place)
        place = start + len(sentence)
        yield start, place


def _small_sentences(text: str) -> Iterator[str]:
    start = 0
    for end in _SMALL_END.finditer(text):
        words = text[max(start, end.start() - _LOOK) : end.start()].split()
        following = re.match(r"[^\W\d_]+", text[end.end() : end.end() + _LOOK])
        is_short = bool(words) and words[-1].lstrip(_OPENING_MARKS)[:-1] in _SMALL_ABBREVIATIONS
        if is_short and following and following[0] not in FUNCTION_WORDS:
            continue
        yield text[start : end.start()]
        start = end.end()
    yield text[start:]
