"""Names and people in a text: what is a name, and what people are called."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from dialogist.language.tokens import (
    FUNCTION_WORDS,
    OPENERS,
    REPORTING,
    SPEAKER_TAG,
    folded,
    listed,
    sentence_spans,
    word_set,
    word_table,
)

# Names that an English text mentions, told by their capital letters.
#
# No list of names is needed: in the middle of a sentence a capital letter makes a name; at its
# beginning a word is one unless it is among the usual openers or has the ending of another class.


_TOKEN = re.compile(
    rf"(?P<tag>{SPEAKER_TAG}|<\w+>|\[[^\[\]\s]{{1,20}}\])|(?P<dotted>(?:[A-Z]\.){{2,}}[A-Z]?)"
    r"|[^\W_]+(?:['’&-][^\W_]+)*"
)
_POSSESSIVE = re.compile(r"['’](?:s|ll|d|ve|re|m)?['’]?$", re.I)
_CONTRACTED = re.compile(r"n['’]t$|^d['’]you$|^y['’]all$")  # Don't, D'you
_BREAKS = frozenset(':;"“”•*.!?\n')
_PARTS = re.compile("[-&]+")
DAYS = listed("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = listed(
    "january february march april may june july august september october november december"
)
_NAMES = word_table("names")
# Capitals that name nobody: titles, and what is short for words that a dialogue spells out.
# Parts of names that do not say whose name it is.
_NO_NAMES = word_set(_NAMES["short"]) | word_set(_NAMES["generic"]) | {*DAYS, *MONTHS}
_NAMES_TOO = frozenset(("US", "Will"))  # though spelled like function words
_NAMES_IN_ED = word_set("alfred wilfred winifred manfred mohamed mohammed muhammed khaled")
_ENDINGS = re.compile(
    r".{3,}(?:ing|tions?|ments?|ness|ities|ings)$|.{4,}(?:ity|ism|ships?|ward|wards|wise|able|ible)$"
    r"|.{3,}(?:fully|ously|ately|ently|antly|edly|ively|ally|arly|ually|idly|ingly|ibly|ably)$"
)


class Mention(NamedTuple):
    """A name: ``text[start:end]``, possessive endings left out; ``words`` are folded."""

    start: int
    end: int
    words: tuple[str, ...]


def has_names(text: str) -> bool:
    """Whether names can be told in a text at all: not where all letters are small, or capital.

    Nor where words that are no names have capitals, too, as in a title.
    """
    if text == text.lower() or text == text.upper():
        return not any(map(str.isalpha, text))
    inner = [w[0] for w, initial in _words(text) if not initial and w[0].lower() in FUNCTION_WORDS]
    capital = sum(word[0].isupper() and word != "I" for word in inner)
    return 2 * capital <= len(inner)


def name_mentions(text: str) -> list[Mention]:
    """The names in a text, each with all its words; weekdays and months are none."""
    mentions: list[Mention] = []
    for word, initial in _words(text):
        bare = _POSSESSIVE.sub("", word[0])
        if not bare or not _is_name(bare, initial):
            continue
        start, end = word.start(), word.start() + len(bare)
        if mentions and not initial and text[mentions[-1].end : start] == " ":
            mentions[-1] = Mention(mentions[-1].start, end, mentions[-1].words + name_words(bare))
        else:
            mentions.append(Mention(start, end, name_words(bare)))
    return mentions


def name_words(name: str) -> tuple[str, ...]:
    """The folded words of a name; ``U.S.`` is not the pronoun."""
    bare = name.replace(".", "").replace("’", "'")
    return ("usa",) if bare == "US" else tuple(_PARTS.split(folded(bare)))


def _is_name(word: str, initial: bool) -> bool:
    if not word[0].isupper() or (len(word) == 1 and word.isascii()):
        return False
    low = word.lower().rstrip(".")
    if _CONTRACTED.search(low):
        return False
    if low in _NO_NAMES or (len(low) > 2 and low.removesuffix("s") in _NO_NAMES):
        return False
    if initial:
        return low not in OPENERS and not _is_other_word(low)
    return low not in FUNCTION_WORDS or word in _NAMES_TOO


def _is_other_word(word: str) -> bool:
    """Whether a word has the ending of a verb, an adverb or an abstract noun."""
    past = len(word) > 5 and word.endswith("ed") and word not in _NAMES_IN_ED
    return past or _ENDINGS.match(word) is not None or word.removesuffix("s") in REPORTING


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[tuple[re.Match[str], bool], ...]:
    """The words of a text, each with whether it begins a sentence, a quotation or a list."""
    words: list[tuple[re.Match[str], bool]] = []
    for start, stop in sentence_spans(text):
        end = start
        for match in _TOKEN.finditer(text, start, stop):
            gap = text[end : match.start()]
            if match["tag"] is None:
                words.append((match, end == start or not _BREAKS.isdisjoint(gap)))
            end = match.end()
    return tuple(words)


# Other forms of English names: diminutives, peoples of countries, short forms.
#
# Two words of one group may stand for the same person, place or thing.


def _table(texts: Iterable[str]) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for group in "|".join(texts).split("|"):
        words = group.split()
        for word in words:
            table.setdefault(word, set()).update(words)
    return {word: frozenset(others) for word, others in table.items()}


NICKNAMES = _table([_NAMES["people"]])
"""Lower-cased name of a person -> those that may stand for the same."""

SHORT_FORMS = _table([_NAMES["places"], _NAMES["things"]])
"""The same of places and things, which people often write without a capital."""


# People's names in English text: first names that are known as such, surnames after titles.
#
# The known names are common in English-speaking countries; others are not found, and stay.


_FAMILY = word_set(_NAMES["family"])
NAME_WORDS = word_set(_NAMES["words"])
"""First names that are words as well: at the beginning of a sentence nobody can tell."""

_FIRST = (
    (frozenset(NICKNAMES) | word_set(_NAMES["common"]) | NAME_WORDS)
    - _FAMILY
    - (FUNCTION_WORDS - {"will"})
)


def is_first_name(word: str) -> bool:
    """Whether a word is known as a first name, however it is written."""
    return word.lower() in _FIRST
