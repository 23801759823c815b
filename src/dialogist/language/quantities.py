"""Numbers, times of day and deadlines, in digits and in words, English and Chinese."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dialogist.language.people import DAYS, MONTHS
from dialogist.language.tokens import listed

# Numbers that are written in words: English ones, and Chinese numerals.


_UNIT_WORDS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
UNITS = {word: value for value, word in enumerate(_UNIT_WORDS.split())}
HOUR_WORDS = "|".join(tuple(UNITS)[1:13])
"""Those of a clock, as alternatives of a pattern."""
TENS = {word: 10 * value for value, word in enumerate(_TENS.split(), 2)} | {"fourty": 40}
SCALES = {
    "hundred": 100, "thousand": 1000, "grand": 1000, "million": 10**6, "billion": 10**9,
    "dozen": 12,
}  # fmt: skip
ORDINALS = {
    "third": 3,
    "fifth": 5,
    "eighth": 8,
    "ninth": 9,
    "twelfth": 12,
    **{f"{w}th": v for w, v in UNITS.items() if w in listed("four six seven ten eleven")},
    **{f"{w}th": v for w, v in UNITS.items() if w.endswith("teen")},
    **{f"{w[:-1]}ieth": v for w, v in TENS.items()},
    **{f"{w[:-1]}ies": v for w, v in TENS.items()},  # the nineties
}
NUMBER_WORDS = {**UNITS, **TENS, **ORDINALS}
"""Words of one number below a hundred (``first`` and ``second`` mean too much else)."""


def number_values(text: str) -> list[float]:
    """The numbers that the words of a text make: ``twenty five two hundred`` is 25 and 200."""
    words = [word for word in _LETTERS.findall(text) if word in NUMBER_WORDS or word in SCALES]
    numbers: list[float] = []
    total = part = 0.0
    last = 0.0  # what the next word has to be smaller than, to be part of the same number
    for word in words:
        scale = SCALES.get(word)
        if scale is not None:
            if scale == 100 or scale == 12:
                part = (part or 1) * scale
            else:
                total, part = total + (part or 1) * scale, 0
            last = scale
            continue
        value = NUMBER_WORDS[word]
        if last and not (value < last and (last >= 100 or (last in _FULL_TENS and value < 10))):
            numbers.append(total + part)
            total = part = 0
        part += value
        last = value or 0.5  # after a nought nothing is part of the same
    return [*numbers, total + part] if words else numbers


_FULL_TENS = frozenset(TENS.values())
_HAN_DIGITS = {c: v for v, c in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0, "俩": 2}
_HAN_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
HAN_NUMERALS = "".join((*_HAN_DIGITS, *_HAN_SCALES))


def han_value(numeral: str) -> float:
    """The number of a Chinese numeral: ``两百五`` is 250, ``二零一九`` 2019."""
    if not set(numeral) & set(_HAN_SCALES):
        return float("".join(str(_HAN_DIGITS[c]) for c in numeral))
    total = section = digit = 0
    last = 1
    for character in numeral:
        if character in _HAN_DIGITS:
            digit = _HAN_DIGITS[character]
            last = 10 if character in "零〇" else last
            continue
        scale = _HAN_SCALES[character]
        if scale >= 10**4:
            total, section, digit = (total + section + digit) * scale, 0, 0
        else:
            section, digit = section + (digit or 1) * scale, 0
        last = scale
    return float(total + section + digit * (last // 10 or 1))


# ``5 pm``, ``17:00`` and ``five o'clock in the afternoon`` are one time; ``1,500``, ``1.5k`` and
# ``fifteen hundred`` one number. What can be read in several ways has all of these values.


HALF_DAY = 720
_NONE: frozenset[int] = frozenset()


class Quantity(NamedTuple):
    """A number or a time of day: ``text[start:end]``, and all that it may mean.

    ``values``: numbers. ``times``: minutes since midnight. ``vague``: minutes since midnight or
    noon, where it is not said which. ``parts``: the numbers it is written with, where they are
    several: ``five fifty`` is 550, 5.5, ten to six, or 5 and 50.
    """

    start: int
    end: int
    values: frozenset[float]
    times: frozenset[int] = _NONE
    vague: frozenset[int] = _NONE
    parts: tuple[float, ...] = ()


def quantities(text: str) -> Iterator[Quantity]:
    """The numbers and times in a text, from left to right."""
    for match in _PATTERN.finditer(text):
        quantity = _READERS[str(match.lastgroup)](match[0].translate(_FOLDED).lower())
        if quantity is not None:
            yield quantity._replace(start=match.start(), end=match.end())


def may_hold(text: str) -> bool:
    """Whether a text may hold a number other than one: much quicker than looking for it."""
    return _SIGNS.search(text) is not None or not _WORDS.isdisjoint(_LETTERS.findall(text.lower()))


# Letters that a pattern takes for s, i or k whatever their case, and ``lower`` does not.
_FOLDED = str.maketrans("ſıİ\u212a", "siik")
_SIGNS = re.compile(rf"[0-9½{HAN_NUMERALS}]")
_LETTERS = re.compile(r"[a-z]+")
_ANY = "|".join(sorted((*NUMBER_WORDS, *SCALES), key=len, reverse=True))
_RUN = rf"(?:an?\s(?=hundred|thousand|million|dozen))?(?:{_ANY})(?:(?:[ -]|,?\sand\s)(?:{_ANY}))*"
_HOUR = f"(?:1[0-2]|0?[1-9]|{HOUR_WORDS})"
_AM = r"(?:\s?[ap]\s?\.?\s?m\b)"
_UNITS = "dollars?|bucks|pounds?|quid|euros?"
_AMOUNT = r"\d+(?:,\d{3})*(?:\.\d{1,2})?(?![\d/]|[.,:]\d)"
_SCALE = r"(?:\s?(?:k|m|mil|mln|bn|thousand|grand|million|billion)\b)?"
# "forty-two pounds eighty" is one amount, "forty pounds ten days ago" is not.
_NO_NOUN = (
    r"(?=\s*(?:[.,;:!?)]|$)|\s(?:and|or|but|for|on|to|in|at|by|from|with|was|is|per|each|back|off|"
    r"please|altogether|total|then|now|as|which|that)\b)"
)
_FORMS = {
    # A4, PS4, v1.2 are names, not numbers; what they hold can still be what a number means.
    "code": r"(?<![A-Za-z0-9])[A-Za-z]+\d[A-Za-z0-9]*",
    "clock": rf"(?<![\d.,:])(?:2[0-4]|[01]?\d)\s?[:：]\s?[0-5]\d(?![\d:]){_AM}?"
    rf"|(?<![\d.,:])(?:1[0-2]|0?\d)\.[0-5]\d{_AM}",
    "spoken": r"\b(?:half|(?:a\s)?quarter|five|ten|twenty|5|10|20|25|twenty[ -]five)(?:\sminutes)?"
    rf"\s(?:past|to|after|before|till)\s{_HOUR}(?!\w|[:,.-]\w){_AM}?"
    rf"|\bhalf\s{_HOUR}(?!\w|[:,.-]\w)",
    "hour": rf"(?<![\w.,:]){_HOUR}(?:\s?o\s?['’]?\s?clock{_AM}?|{_AM})",
    "money": rf"\b(?:\d+|{_RUN})\s(?:{_UNITS})(?:\sand)?"
    rf"\s(?:\d{{1,2}}|{_RUN})(?:\s(?:cents?|pence|p)\b|{_NO_NOUN})",
    "priced": rf"[$£€¥₹]\s?{_AMOUNT}{_SCALE}|(?<![\d.,:/]){_AMOUNT}(?=\s?[$£€¥₹]|\s(?:{_UNITS})\b)",
    "mixed": rf"\b(?:{_RUN}|\d+|an?\s\w+)\sand\s(?:a\s|one\s)?half\b|\d+(?:\s1/2|\s?½)",
    # 10 000 and 10, 000; 4.5, 4. 5 and 4,5; 1/2
    "digits": r"(?:\d{1,3}(?:[ ]\d{3})+(?!\d)"
    r"|\d+(?:,\s?\d{3})*(?:\.\s?\d+|[,;]\d{1,2}(?!\d))?)(?:/\d+(?:,\d{3}(?!\d))*)?(?!\d)"
    r"(?:\s?(?:k|m|mil|mln|bn|hundred|thousand|grand|million|billion|dozen)\b|\s?%|\s?percent)?",
    "words": rf"\b{_RUN}\b{_AM}?",
    "named": r"\b(?:half|halves|couple|pair|both|twice|double|twins|second|noon|midday|midnight"
    r"|quarter|fortnight|decade|century|dozens|triple|thrice|single|once)\b|½",
    "han": rf"[{HAN_NUMERALS}]+",
}
_PATTERN = re.compile("|".join(f"(?P<{kind}>{form})" for kind, form in _FORMS.items()), re.I)
_NAMED: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("couple", "pair", "both", "twice", "double", "twins", "second"), (2.0,)),
    **dict.fromkeys(("half", "½"), (0.5, 30.0, 50.0)),
    **dict.fromkeys(("triple", "thrice"), (3.0,)),
    **dict.fromkeys(("single", "once"), (1.0,)),
    "halves": (0.5, 2.0),
    "quarter": (0.25, 15.0, 25.0, 3.0),
    "dozens": (12.0,),
    "fortnight": (14.0, 2.0),
    "decade": (10.0,),
    "century": (100.0,),
}
_TELLING = (NUMBER_WORDS.keys() | SCALES.keys() | _NAMED.keys()) - {"one", "once", "single"}
_WORDS = _TELLING | {"noon", "midday", "midnight", "clock"}
_SCALES = {"k": 1000, "m": 10**6, "mil": 10**6, "mln": 10**6, "bn": 10**9, **SCALES}
_DIGITS = re.compile(r"\d+")
_BELOW = re.compile(r"\d+(?:,\d{3}(?!\d))*")


def _number(*values: float, parts: tuple[float, ...] = ()) -> Quantity:
    return Quantity(0, 0, frozenset(values), parts=parts)


def _time(hour: int, minute: int, text: str = "") -> Quantity:
    """``text`` may end in am or pm; without, an hour up to twelve leaves open which it is."""
    minutes = (hour % 24) * 60 + minute
    half = re.search(r"([ap])\s?\.?\s?m$", text)
    if half:
        minutes = minutes % HALF_DAY + (HALF_DAY if half[1] == "p" else 0)
    elif 60 <= minutes < HALF_DAY + 60:
        return Quantity(0, 0, frozenset(), vague=frozenset((minutes % HALF_DAY,)))
    return Quantity(0, 0, frozenset(), times=frozenset((minutes,)))


def _code(text: str) -> Quantity:
    return _number(*map(_float, _DIGITS.findall(text)))


def _float(digits: str) -> float:
    return float(digits[:_LONGEST])


_LONGEST = 300  # digits: a float holds no more
_LONGEST_HAN = 16


def _clock(text: str) -> Quantity:
    hour, minute = _DIGITS.findall(text)
    return _time(int(hour), int(minute), text)


def _spoken(text: str) -> Quantity:
    words = re.findall(r"[^\W_]+", text)
    hour = int(_beginning(next(word for word in reversed(words) if re.fullmatch(_HOUR, word))))
    before = re.split("past|to|after|before|till", text)[0]
    named = 30 if "half" in words else 15 if "quarter" in words else 0
    minute = named or int(_beginning(before))
    parts = (float(minute), float(hour))  # "five to six" may be a range
    if not {"to", "before", "till"}.isdisjoint(words):
        hour, minute = hour - 1, 60 - minute
    return _time(hour, minute, text)._replace(parts=parts)


def _hour(text: str) -> Quantity:
    return _time(int(_beginning(re.match(_HOUR, text)[0])), 0, text)  # type: ignore[index]


def _money(text: str) -> Quantity:
    """Pounds and pence together; neither is the amount by itself."""
    whole, cents = (_beginning(part) for part in re.split(rf"\s(?:{_UNITS})\s", text))
    return _number(whole + cents / 100, 100 * whole + cents)


def _priced(text: str) -> Quantity:
    """An amount of money in digits: never a date or a time."""
    [number] = re.findall(r"\d[\d,.]*", text)
    unit = text[text.rindex(number) + len(number) :].strip()
    return _number(float(number.replace(",", "")[:_LONGEST]) * _SCALES.get(unit, 1))


def _beginning(text: str) -> float:
    """The number that a text begins with, in digits or in words."""
    digits = _DIGITS.match(text)
    return _float(digits[0]) if digits else sum(number_values(text))


def _mixed(text: str) -> Quantity:
    whole = _beginning(text) or 1.0
    return _number(whole + 0.5, 60 * whole + 30, 12 * whole + 6, parts=(whole, 0.5))


def _digits(text: str) -> Quantity:
    number = re.match(r"\d[\d,.;\s]*", text)[0].strip()  # type: ignore[index]
    plain = re.sub(r"[,;](\d{1,2})$", r".\1", number)  # 4,5 is written for 4.5
    value = float(re.sub(r"[,\s]", "", plain)[:_LONGEST])
    if "/" in text:
        return _fraction(text, value)
    unit = text[len(number) :].strip()
    values = {value * _SCALES.get(unit, 1)}
    if unit == "m":
        values.add(value)  # metres
    if text.endswith(("%", "percent")):
        values.add(value / 100)
    if re.fullmatch(r"\d+\.\s?\d{3}", number):
        values.add(float(re.sub(r"[.\s]", "", number)))
    dotted = re.fullmatch(r"(1?\d|2[0-4])[.;\s]\s?([0-5]\d)", plain)
    time = _time(int(dotted[1]), int(dotted[2])) if dotted else _number()
    return time._replace(values=frozenset(values), parts=_parts_of(number))


def _fraction(text: str, above: float) -> Quantity:
    """``3/4``, ``1,000/2,000``, ``1/2 million``; what has no marks may be meant together: 24/7."""
    written, _, behind = text.partition("/")
    digits = _BELOW.match(behind)[0]  # type: ignore[index]
    below = _float(digits.replace(",", ""))
    values = {above / (below or 1) * _SCALES.get(behind[len(digits) :].strip(), 1)}
    if written.isdecimal() and digits.isdecimal():
        values.add(_float(written + digits))
    return Quantity(0, 0, frozenset(values), parts=(above, below))


def _parts_of(number: str) -> tuple[float, ...]:
    """What a number was perhaps not meant to hold together: 10. 5, and the date 17.12."""
    parts = tuple(map(_float, _DIGITS.findall(number)))
    date = len(parts) == 2 and parts[0] <= 31 and parts[1] <= 12
    return parts if date or " " in number else ()


def _words(text: str) -> Quantity:
    parts = number_values(re.sub(rf"{_AM}$", "", text))
    if len(parts) == 1:
        return _number(*parts)
    first, then = parts[:2]
    together = _number(100 * first + then, first + then / 100, parts=tuple(parts))
    if len(parts) > 2 or not (0 < first <= 24 and then < 60):
        return together if len(parts) == 2 else _number(parts=tuple(parts))
    time = _time(int(first), int(then), text)
    return together._replace(times=time.times, vague=time.vague)


def _named(text: str) -> Quantity:
    if text in ("noon", "midday", "midnight"):
        return _time(0 if text == "midnight" else 12, 0, "am" if text == "midnight" else "pm")
    return _number(*_NAMED[text])


def _han(text: str) -> Quantity | None:
    # 一 is "a" or part of a word far more often than a number; a long row of numerals is none.
    return None if text in "一万千百十零" or len(text) > _LONGEST_HAN else _number(han_value(text))


_READERS: dict[str, Callable[[str], Quantity | None]] = {
    "code": _code, "clock": _clock, "spoken": _spoken, "hour": _hour, "money": _money,
    "priced": _priced, "mixed": _mixed, "digits": _digits, "words": _words, "named": _named,
    "han": _han,
}  # fmt: skip


# By when: phrases of day and time as they are said in English.
#
# Numbers of the clock and calendar come from the entity rules; here are the words around them, and
# those that shift with the day of speaking ("tomorrow").


_DAY = rf"(?:{'|'.join(DAYS)})"
_PART = r"(?:morning|afternoon|evening|night|noon|lunch(?: ?time)?)"
_UNIT = r"(?:minutes?|mins?|hours?|(?:business |working )?days?|weeks?|months?|years?)"
_COUNT = (
    r"(?:\d{1,3}(?: ?(?:-|to|or) ?\d{1,3})?|half an|(?:an?|one|two|three|four|five|six|seven|eight|"
    r"nine|ten|few|twelve|fifteen|twenty|thirty)(?: (?:couple of|few|(?:or|to) (?:two|three|four|"
    r"five)))?)"
)
_CLOCK = (
    r"(?:(?:half past|(?:a )?quarter (?:past|to)) )?"
    rf"(?:[01]?\d|2[0-3]|{HOUR_WORDS})"
    r"(?:(?:[:.][0-5]\d)?(?: ?[ap]\.? ?m\b\.?)| o ?['’]? ?clock|:[0-5]\d|(?: (?:fifteen|thirty))?)"
)
_DATE = (
    rf"(?:(?:{'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.? \d{{1,2}}"
    rf"(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? "
    rf"(?:{'|'.join(MONTHS)})(?:,? (?:19|20)\d\d)?|(?:19|20)\d\d-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}"
    r"(?:/\d{2,4})?|the \d{1,2}(?:st|nd|rd|th))"
)
_SHIFTING = (
    rf"(?:the day after tomorrow|tomorrow(?: {_PART})?|tonight|2nite|tmrw|2moro|today|this "
    rf"(?:{_PART}|week(?:end)?|month|year|{_DAY})|(?:early |late )?next (?:week|month|year|weekend|"
    rf"time we meet|{_DAY})|(?:on )?{_DAY}(?: {_PART})?|(?:the )?(?:weekend|end of (?:the|this|"
    rf"next|today|each)(?: (?:day|week|month|year|quarter|meeting))?)|noon|midnight|lunch(?: "
    rf"?time)?|Christmas|then|(?:the )?next meeting)"
)
_WHEN = rf"(?:{_DATE}|{_SHIFTING})(?:,? (?:at|by|before|around|after) (?:about )?{_CLOCK})?"
_PHRASE = re.compile(
    rf"(?i)\b(?:(?:(?:no later than|at the latest by|by|before|until|till|not later than) "
    rf"(?:(?:the )?(?:latest )?)?(?:{_WHEN}|{_CLOCK}(?:,? (?:on )?{_SHIFTING})?))|(?:within|in) "
    rf"(?:the next )?{_COUNT} {_UNIT}(?: time)?\b|(?:later|first thing|early|late) (?:today|"
    rf"tonight|this {_PART}|tomorrow(?: {_PART})?|(?:on |next ){_DAY}|in the {_PART}|this week|"
    rf"next week)|(?:(?:sometime|some time|on|at|over|during) )?(?:the )?(?<!\bnot "
    rf")(?:{_WHEN.replace('then|', '')})|at (?:about |around )?{_CLOCK}(?= ?[.,;!?]|$| (?:on|"
    rf"tomorrow|today|tonight|then|for|with|and|to)\b)(?: (?:tomorrow|today|tonight|sharp))?|as "
    rf"soon as possible|a\.?s\.?a\.?p\b|right away|straight away|immediately|at once|by (?:next "
    rf"time|return))(?![\w-])"
)
_LEADING = re.compile(
    r"(?:(?:no later than|by|before|until|till|on|at|about|around|the latest) )*", re.I
)
_NO_DAY = re.compile(  # lengths of time, and words that name no day
    r"(?:within|in|as soon|a\.?s\.?a|right|straight|immediately|at once|return|next time|then|"
    rf"lunch).*|(?:{HOUR_WORDS}|\d{{1,2}})",
    re.I,
)


def deadline_in(text: str) -> str:
    """The first phrase that says by when, as it stands in the text; empty without one."""
    match = _PHRASE.search(text)
    return match[0].strip(" ,") if match else ""


def whens_in(text: str) -> Iterator[tuple[int, int]]:
    """Where phrases of day and time stand, without the word before them ("by Friday": Friday)."""
    for match in _PHRASE.finditer(text):
        start = match.start() + len(_LEADING.match(match[0])[0])  # type: ignore[index]
        phrase = text[start : match.end()].rstrip(" ,")
        if not _NO_DAY.fullmatch(phrase):
            yield start, start + len(phrase)
