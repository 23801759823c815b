"""Numbers that libraries know: telephones, identity, tax and health numbers, digits in words."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from stdnum import get_cc_module

from dialogist.language.tokens import listed, word_table

if TYPE_CHECKING:
    from stdnum.util import NumberValidationModule

_LISTS = {name: listed(text) for name, text in word_table("numbers").items()}
# Where a number is dialled as it is, and where at home a zero stands before it; the numbers that
# countries give out, with their lengths; words of languages for numbers, from zero.
_WITHOUT_ZERO, _WITH_ZERO, _NATIONAL, _ENGLISH, *_FOREIGN = _LISTS.values()
_ANY = tuple(word for words in _FOREIGN for word in words)
NUMBER_WORDS = frozenset((*_ENGLISH, *_ANY))
"""Words for numbers, in several languages."""


@lru_cache(maxsize=1)
def _modules() -> "Mapping[int, list[NumberValidationModule]]":
    """Those for numbers of so many letters and digits."""
    modules: dict[int, list[NumberValidationModule]] = {}
    for name, _, lengths in (entry.partition(":") for entry in _NATIONAL):
        first, _, last = lengths.partition("-")
        for length in range(int(first), int(last or first) + 1):
            if module := get_cc_module(*name.split(".")):
                modules.setdefault(length, []).append(module)
    return modules


def is_national_id(text: str) -> bool:
    """Whether a text is an identity, tax or health number of some country, by its check digits.

    With a letter, or grouped: a bare run of digits is one of somewhere far too easily.
    """
    digits = sum("0" <= c <= "9" for c in text)
    if not text.isascii() or digits < 4 or text.isdigit() or len(text) > 30:
        return False
    compact = re.sub("[ ./-]", "", text)
    if len(compact) < 9:
        return False
    # Words between the digits: "on 12 May 2019" is none.
    if (digits < 6 and " " in text) or re.search("[a-z]{3} | [a-z]{2}", text):
        return False
    return any(module.is_valid(compact) for module in _modules().get(len(compact), ()))


def is_phone(text: str) -> bool:
    """Whether a number could be dialled in one of many countries, as it stands.

    Up to nine digits run together are none: too many numbers are of that form.
    """
    digits = re.sub("[^0-9+]", "", text)
    if "/" in text and digits[:1] not in ("0", "+"):
        return False  # 300/12460
    digits = re.sub("^00(?=[1-9])", "+", digits)
    if not 7 <= len(digits) <= 16 or (text.isdigit() and len(text) < 10 and text[0] != "0"):
        return False
    regions = {"+": ("ZZ",), "0": (*_WITH_ZERO, "IT")}.get(digits[0], _WITHOUT_ZERO)
    return any(_is_valid(digits, region) for region in regions)


@lru_cache(maxsize=4096)
def _is_valid(digits: str, region: str) -> bool:
    import phonenumbers  # takes a while, and few texts need it

    try:
        return phonenumbers.is_valid_number(phonenumbers.parse(digits, region))
    except phonenumbers.NumberParseException:
        return False


def is_spoken(text: str) -> bool:
    """Whether a number is told in words, at least three, and not in counting up or down."""
    words = [word for word in re.findall("[a-z]+", text.lower()) if word in _ENGLISH]
    return len(words) >= 3 and not is_counting(words)


def is_digits(text: str) -> bool:
    """Whether a text is nothing but some digits, in words or not: ``um, double nine``."""
    words = re.findall(r"\w+", text[:80].lower())
    digits = [word for word in words if word in _ENGLISH[:15] or word.isdigit()]
    return (
        len(text) <= 80
        and {*words} - {*digits} <= {"um", "uh", "and", "then"}
        and sum(len(digit) if digit.isdigit() else 1 for digit in digits) > 1
    )


def is_counting(words: list[str], digits: tuple[str, ...] = _ENGLISH[:10]) -> bool:
    """Whether words are digits that count up or down."""
    values = [digits.index(word) for word in words if word in digits]
    steps = {after - before for before, after in pairwise(values)}
    return len(values) == len(words) and steps in ({1}, {-1})


@lru_cache(maxsize=16)
def _run(words: tuple[str, ...]) -> re.Pattern[str]:
    """Three and more numbers of a language in a row."""
    word = f"(?:{'|'.join(sorted(words, key=len, reverse=True))})"
    # One number may be of several words: "vierenveertig", "cuarenta y cuatro".
    number = rf"{word}(?:(?:-|en|ën|und| (?:et|y|e|og|och|und) )?{word}){{0,3}}(?!\w)"
    apart = r"(?:[,.]? |[,./_]| [-/] )(?:(?:punkt|punto|ponto|point|punt|traço|guion|tiret) )?"
    return re.compile(rf"(?<!\w){number}(?:{apart}{number}){{2,40}}", re.I)


def spoken_runs(text: str) -> Iterator[tuple[int, int]]:
    """Where three or more numbers in a row are told in words of a language besides English."""
    # One look for all languages first: most texts have none.
    for language in _FOREIGN if _run(_ANY).search(text) else ():
        for match in _run(language).finditer(text):
            words = re.findall(r"\w+", match[0].lower())
            if len(set(words)) > 1 and not is_counting(words, language[:10]):  # not "um, um, um"
                yield match.span()
