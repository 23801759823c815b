"""Names and people in a text: what is a name, what people are called, how they are introduced."""

import re
from collections.abc import Iterable, Iterator
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


class _Word(NamedTuple):
    start: int
    end: int
    text: str
    initial: bool


def has_names(text: str) -> bool:
    """Whether names can be told in a text at all: not where all letters are small, or capital.

    Nor where words that are no names have capitals, too, as in a title.
    """
    if text == text.lower() or text == text.upper():
        return not any(map(str.isalpha, text))
    inner = [w.text for w in _words(text) if not w.initial and w.text.lower() in FUNCTION_WORDS]
    capital = sum(word[0].isupper() and word != "I" for word in inner)
    return 2 * capital <= len(inner)


def name_mentions(text: str) -> list[Mention]:
    """The names in a text, each with all its words; weekdays and months are none."""
    mentions: list[Mention] = []
    for word in _words(text):
        bare = _POSSESSIVE.sub("", word.text)
        if not bare or not _is_name(bare, word.initial):
            continue
        end = word.start + len(bare)
        if mentions and not word.initial and text[mentions[-1].end : word.start] == " ":
            mentions[-1] = Mention(mentions[-1].start, end, mentions[-1].words + name_words(bare))
        else:
            mentions.append(Mention(word.start, end, name_words(bare)))
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
def _words(text: str) -> tuple[_Word, ...]:
    return tuple(_read(text))


def _read(text: str) -> Iterator[_Word]:
    """The words of a text; ``initial`` are those that begin a sentence, a quotation or a list."""
    for start, stop in sentence_spans(text):
        end = start
        for match in _TOKEN.finditer(text, start, stop):
            gap = text[end : match.start()]
            if match["tag"] is None:
                initial = end == start or not _BREAKS.isdisjoint(gap)
                yield _Word(match.start(), match.end(), match[0], initial)
            end = match.end()


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


# What speakers call themselves: "this is Priya", "Tom speaking", and signatures such as "^JI".
#
# Only plain forms are read. A name that may be somebody else's ("Mom, this is Priya", "this is
# Priya's phone") is left alone.


_TITLE = r"(?:(?:Mr|Mrs|Ms|Miss|Dr|Prof|Doctor|Professor)\b\.?\s)?"
_WORD = r"[A-Z\u00c0-\u00de][\w'’-]*[a-z\u00df-\u00ff](?<!['’]s)"
_BARE = rf"(?P<name>{_WORD}(?: {_WORD})?)(?!['’\w])"
_NAME = _TITLE + _BARE
_OTHERS = r"(?!,? (?i:my|our|his|her|their|the|a|an) )"
_END = r"(?=\s*(?:[.!,;:\u2013\u2014-]|$))"
_JOB = r"(?i:from|with|at|in|here|speaking|calling|again|on)\b"
_GOES_ON = rf"(?=\s+(?:{_JOB}|and I\b|(?i:how|what|your)\b|I\b))"
_STARTS = r"(?:^|[.!?:]\s*|[,\u2013\u2014-]\s*)"
_GREETING = (
    r"(?i:(?:hi|hello|hallo|hey|yes|yeah|oh|well|so|and|sorry|good|morning|afternoon|evening|there|"
    r"everyone|everybody|all|again)[,!.]?\s+)"
)
_SURE: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?i:\bmy name(?: is|['’]s)) {_NAME}",
        rf"(?:{_STARTS}|{_GREETING})(?i:this is) {_NAME}{_OTHERS}(?:{_END}|{_GOES_ON})",
        rf"(?i:\bit(?: is|['’]s)) {_NAME}(?=\s+{_JOB})",
        r"^(?i:(?:hi|hello|hey|(?:good )?(?:morning|afternoon|evening))(?: there)?[,!.])"
        rf"(?i: it(?: is|['’]s)) {_NAME}{_OTHERS}{_END}",
        rf"{_STARTS}{_NAME} speaking\b",
        rf"(?:{_STARTS}|{_GREETING}){_NAME} here(?=\s+(?:from|with|at|in)\b)",
        rf"(?i:\byou(?: are|['’]re)? (?:speaking|talking|chatting|through) (?:with|to)) {_NAME}",
        rf"(?i:\bI(?: am|['’]m)) {_NAME}(?=\s+(?:from|with)\b|,? (?:your|and I)\b)",
    )
)
_BY_NAME: tuple[re.Pattern[str], ...] = (
    re.compile(rf"(?i:\bI(?: am|['’]m)) (?P<title>{_TITLE}){_BARE}{_OTHERS}{_END}"),
    re.compile(rf"(?P<title>)(?:{_STARTS}|{_GREETING}){_NAME} here{_END}"),
)
"""Only where the name is known as one, or has a title: "I'm Polish" has the same form."""

_TO_SOMEBODY = re.compile(r"^\W*(\w+), this is ", re.I)
_TELLS = re.compile(rf"\s+{_JOB}|,? (?:and I|your|how)\b")
_NOT_CALLED = (FUNCTION_WORDS | OPENERS | {*DAYS, *MONTHS} | frozenset(SHORT_FORMS)) | word_set("""
great perfect urgent awesome amazing terrible ridiculous unacceptable correct wrong true false
customer support service services team billing sales english french spanish german arabic hindi
catholic christian jewish muslim buddhist god sir madam sure problem
""")
_FAMILY_WORDS = word_set(
    "mom mum mommy mummy dad daddy grandma grandpa granny aunt uncle honey darling"
)

_CALLED = re.compile(
    rf"(?:^|[.!?]\s+)(?i:hi|hello|hallo|hey|thanks|thank you|"
    rf"good (?:morning|afternoon|evening)|morning|"
    rf"bye|goodbye|sorry|sure|okay|ok|yes|no|of course|dear),?\s+{_NAME}(?=\s*(?:[.!?,;]|$))"
)

_REGARDS = re.compile(
    rf"(?i:\b(?:regards|sincerely|yours truly|yours faithfully)),?\s+{_NAME}[^.!?]{{0,60}}\s*\Z"
    rf"|(?i:\n\s*(?:thanks|thank you|cheers|best|best wishes|many thanks)),?\s*\n\s*"
    rf"(?P<signed>{_WORD}(?: {_WORD})?)\s*\Z"
)
_SIGNED = re.compile(
    rf"(?<=\S)\s*(?:[\^~*/]|(?<=[.!?\s])[-\u2013\u2014])\s?"
    rf"(?P<name>[A-Z]{{1,3}}|{_WORD}(?: [A-Z])?)\s*\Z"
)
_SIGNATURE = 200  # characters at the end of a text in which one may stand


def own_names(text: str) -> Iterator[str]:
    """The names by which the speaker of a text introduces himself or signs, without titles."""
    for pattern in _SURE:
        for match in pattern.finditer(text):
            if _is_own(text, match):
                yield match["name"]
    for pattern in _BY_NAME:
        for match in pattern.finditer(text):
            if match["title"] or is_first_name(match["name"].split()[0]):
                yield match["name"]
    yield from _signed_names(text)


def names_called(text: str) -> Iterator[str]:
    """The names by which a text greets, thanks or answers somebody, without titles."""
    for match in _CALLED.finditer(text):
        if _may_be_name(match["name"]):
            yield match["name"]


def _signed_names(text: str) -> Iterator[str]:
    signed = _SIGNED.search(text, _tail(text))
    if signed and not signed["name"].isupper() and _may_be_name(signed["name"]):
        yield signed["name"]
    regards = _REGARDS.search(text, _tail(text))
    if regards and _may_be_name(name := regards["name"] or regards["signed"]):
        yield name


def _tail(text: str) -> int:
    """From where on a signature may stand."""
    return max(0, len(text) - _SIGNATURE)


def _is_own(text: str, match: re.Match[str]) -> bool:
    if not _may_be_name(match["name"]) or text[match.end() :].lstrip().startswith("?"):
        return False
    addressed = _TO_SOMEBODY.match(text)
    if (
        addressed is None
        or addressed.end() != match.start("name")
        or _TELLS.match(text, match.end("name"))
    ):
        return True
    return addressed[1].lower() not in _FAMILY_WORDS and not is_first_name(addressed[1])


def _may_be_name(name: str) -> bool:
    return not any(word.lower() in _NOT_CALLED for word in name.split())
