"""Names that an English text mentions, told by their capital letters.

No list of names is needed: in the middle of a sentence a capital letter makes a name; at its
beginning a word is one unless it is among the usual openers or has the ending of another class.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from dialogist.text.tokens import (
    FUNCTION_WORDS,
    OPENERS,
    REPORTING,
    SPEAKER_TAG,
    folded,
    listed,
    sentence_spans,
    word_set,
)

_TOKEN = re.compile(
    rf"(?P<tag>{SPEAKER_TAG}|<\w+>|\[[^\[\]\s]{{1,20}}\])|(?P<dotted>(?:[A-Z]\.){{2,}}[A-Z]?)"
    r"|[^\W_]+(?:['’&-][^\W_]+)*"
)
_POSSESSIVE = re.compile(r"['’](?:s|ll|d|ve|re|m)?['’]?$", re.I)
_BREAKS = frozenset(':;"“”•*.!?\n')
_PARTS = re.compile("[-&]+")
DAYS = listed("monday tuesday wednesday thursday friday saturday sunday")
MONTHS = listed(
    "january february march april may june july august september october november december"
)
# Capitals that name nobody: titles, and what is short for words that a dialogue spells out.
_SHORT = """
mr mrs ms miss mx dr prof professor doctor sir madam st sr jr
i am pm a.m p.m ok tv id cv pc cd dvd atm asap fyi diy gps usb sms faq url dm rip lol it hr ceo vip
ma ba phd mba pr ac bbq btw pe bf gf nye etc eta aka x y z u v rmb pln usd eur gbp hkd internet web
wifi wi-fi app dj mp gp er icu mri ct dna ad bc os gb mb kb se p.e b.a m.a b.s m.s ph.d i.d c.v i.q
iq t-shirt e-mail other
"""
# Parts of names that do not say whose name it is.
_GENERIC = """
street avenue road square park bridge city town county state day eve party president minister mayor
governor king queen prince princess lord lady general captain manager director master company
corporation group club team band school college university hospital hotel restaurant cafe bar
airport station centre center market store shop museum theatre theater cinema church bank office
department ministry government festival show series film movie song game league cup prize award
practitioner celebrity world island river lake sea ocean mountain north south east west northern
southern eastern western united great grand royal national international public uncle aunt auntie
mum mom dad mommy daddy grandma grandpa granny world earth god bible holiday
"""
_NO_NAMES = word_set(_SHORT) | word_set(_GENERIC) | {*DAYS, *MONTHS}
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
    found: list[Mention] = []
    for word in _words(text):
        bare = _POSSESSIVE.sub("", word.text)
        if not bare or not _is_name(bare, word.initial):
            continue
        end = word.start + len(bare)
        if found and not word.initial and text[found[-1].end : word.start] == " ":
            found[-1] = Mention(found[-1].start, end, found[-1].words + name_words(bare))
        else:
            found.append(Mention(word.start, end, name_words(bare)))
    return found


def name_words(name: str) -> tuple[str, ...]:
    """The folded words of a name; ``U.S.`` is not the pronoun."""
    bare = name.replace(".", "").replace("’", "'")
    return ("usa",) if bare == "US" else tuple(_PARTS.split(folded(bare)))


def _is_name(word: str, initial: bool) -> bool:
    if not word[0].isupper() or (len(word) == 1 and word.isascii()):
        return False
    low = word.lower().rstrip(".")
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
