"""What a text's form tells: addresses, phone numbers, codes, masks, days, and its language.

Letter n-grams load NumPy, which `--help` must not.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from py3langid import classify

from dialogist.language.people import DAYS, MONTHS
from dialogist.language.tokens import FUNCTION_WORDS, listed

_HAN_DAYS = "一二三四五六日"


class TextEntity(NamedTuple):
    """One entity: ``text[start:end]``; ``value`` is what its spellings have in common.

    Of a weekday ``d0`` to ``d6`` (Monday first), of a month ``m1`` to ``m12``, of a phone number
    its digits, of the others letters and digits.
    """

    start: int
    end: int
    kind: str
    value: str


_SHORT_NAMES = listed("jan feb mar apr may jun jul aug sep oct nov dec")
_SHORT_DAYS = listed("mon tue wed thu fri sat sun")
# Calendar words of a dialogue by their first letters: people shorten and misspell them.
_STARTS = {
    **{start: f"d{i}" for i, day in enumerate(DAYS) for start in (_SHORT_DAYS[i], day[:5])},
    **{start: f"m{i}" for i, m in enumerate(MONTHS, 1) for start in (_SHORT_NAMES[i - 1], m[:5])},
    "tues": "d1",
    "weds": "d2",
    "thur": "d3",
    "sept": "m9",
}
# Latin letters and digits border an entity; Chinese characters do not: no spaces there.
_BEFORE, _AFTER = "(?<![a-z0-9_])", "(?![a-z0-9_])"
_BRACKETED = r"<\w{2,20}>|\[[^\[\]\s]{1,20}\]|\{\w{2,20}\}"
_FORMS = {
    "mask": rf"{_BRACKETED}|(?-i:\bX{{3,20}}\b)",
    "email": r"[a-z0-9_.+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}",
    "url": r"(?:https?://|www\.)[^\s<>\"'，。）)]{2,}|(?:\b[a-z0-9-]{2,63}\.){1,4}"
    rf"(?:com|org|net|edu|gov|io|co\.uk|cn|uk|de|fr){_AFTER}(?:/[^\s<>\"'，。）)]*)?",
    "handle": rf"{_BEFORE}@[a-z0-9_]{{2,30}}",
    "phone": rf"{_BEFORE}(?<!\.)\+?\(?\d{{1,5}}\)?(?:[ .-]{{1,2}}\(?\d{{2,5}}\)?){{1,5}}"
    rf"(?![a-z0-9_/%]|[.,:]\d)|{_BEFORE}\+?\d{{7,20}}{_AFTER}",
    "code": rf"{_BEFORE}(?<!\#)(?=[a-z0-9]*[a-z])(?=[a-z0-9]*\d)(?!\d+[a-z]+{_AFTER})"  # not 5pm
    rf"[a-z0-9]+(?:[.-]\d[a-z0-9]*)*{_AFTER}",
    "day": rf"\b(?:{'|'.join(DAYS)})s?\b|(?:周|星期|礼拜)[{_HAN_DAYS}天]",
    "month": rf"\b(?:{'|'.join(MONTHS)})\b|(?<!\d)(?:1[0-2]|0?[1-9])月",
}
_PATTERN = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _FORMS.items()), re.I)
_IN_BRACKETS = re.compile(_BRACKETED)
_BRACKET = re.compile(r"[\[\]{}<>]")
_ROUND = re.compile(r"000$")  # 1000000 is an amount
_NO_MONTHS = frozenset(("may", "march"))  # but words; as months they have a capital
_SHORTEST_PHONE = 7  # digits


def entities(text: str) -> Iterator[TextEntity]:
    """The entities of a text, from left to right."""
    for match in _PATTERN.finditer(text):
        kind = str(match.lastgroup)
        value = _value(kind, match[0])
        if value:
            yield TextEntity(match.start(), match.end(), kind, value)


def broken_masks(text: str) -> Iterator[tuple[int, int]]:
    """Brackets that belong to no whole mask, as in ``Dr. [``: where each begins and ends."""
    whole = [(m.start(), m.end()) for m in _PATTERN.finditer(text) if m.lastgroup == "mask"]
    for bracket in _BRACKET.finditer(text):
        if not any(start <= bracket.start() < end for start, end in whole):
            yield bracket.start(), bracket.end()


def without_masks(text: str) -> str:
    """The text with spaces where masks in brackets stood: what is left keeps its place."""
    return _IN_BRACKETS.sub(lambda mask: " " * len(mask[0]), text)


def calendar_value(word: str) -> str:
    """The value of a weekday or month in small letters, short or misspelt; else empty."""
    return _STARTS.get(word) or _STARTS.get(word[:5], "")


def _value(kind: str, text: str) -> str:
    """The common form; empty where it is no such entity after all."""
    low = text.lower()
    if kind in ("day", "month"):
        return _calendar(low, text)
    if kind == "phone":
        digits = "".join(filter(str.isdecimal, text))
        return digits if len(digits) >= _SHORTEST_PHONE and not _ROUND.search(text) else ""
    if kind == "url":
        low = re.sub(r"^https?://|^www\.", "", low)
    return "".join(filter(str.isalnum, low))


def _calendar(low: str, text: str) -> str:
    if low.endswith("月"):
        return f"m{int(low[:-1])}"
    if low[-1] in _HAN_DAYS or low[-1] == "天":
        return f"d{_HAN_DAYS.find(low[-1]) % 7}"  # Sunday is 日 or 天
    return "" if text in _NO_MONTHS else calendar_value(low)


Language = Literal["en", "zh", ""]

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA = re.compile("[\u3040-\u30ff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]+(?:['’][a-z]+)?")
_OTHER = re.compile(r"[^\W\d_\u0000-\u024f\u3400-\u9fff\uf900-\ufaff]")
# Attachments, links and columns of figures, which are in no language.
_NO_WORDS = re.compile(r"[!-~]{60,}|[\d\s.,;:|+-]{60,}")
_LOOKED_AT = 4000  # characters
_FEWEST_WORDS = 6  # fewer words tell nothing
_TELLING = 20  # words from which on the share of function words tells by itself
_ENGLISH = (
    0.12  # of English words are at least function words; of German or Spanish ones hardly any
)
_PLAINLY_ENGLISH = 0.2  # of a few words: more than other languages have by chance


def language_of(text: str, about: Language = "") -> Language:
    """``en``, ``zh`` (Chinese), or empty: another one, or no words at all.

    Told by script, and Latin letters by the share of English function words; where that leaves it
    open, by letter n-grams (py3langid). Fewer than six words in Latin letters pass for English; so
    do fewer than twenty that are ``about`` an English text: a bad summary is no foreign one.
    """
    head = _NO_WORDS.sub(" ", text)[:_LOOKED_AT]
    han = len(_HAN.findall(head))
    words = [word.lower() for word in _LATIN.findall(head)]
    if len(_OTHER.findall(head)) > han + sum(map(len, words)):
        return ""
    if han > len(words):
        return "" if len(_KANA.findall(head)) > han // 4 else "zh"
    if not words:
        return ""
    known = sum(word.partition("'")[0] in FUNCTION_WORDS for word in words) / len(words)
    if len(words) >= _TELLING:
        return "en" if known >= _ENGLISH else ""
    english = len(words) < _FEWEST_WORDS or known >= _PLAINLY_ENGLISH
    return "en" if english or about == "en" or classify(head)[0] == "en" else ""
