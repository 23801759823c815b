"""Numbers that are written in words: English ones, and Chinese numerals."""

from collections.abc import Sequence

from dialogist.text.listing import listed

_UNITS = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
sixteen seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
UNITS = {word: value for value, word in enumerate(_UNITS.split())}
TENS = {word: 10 * value for value, word in enumerate(_TENS.split(), 2)} | {"fourty": 40}
SCALES = {
    "hundred": 100,
    "thousand": 1000,
    "grand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "dozen": 12,
}
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


def number_values(words: Sequence[str]) -> list[float]:
    """The numbers that words in a row make: ``twenty five two hundred`` is 25 and 200."""
    found: list[float] = []
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
            found.append(total + part)
            total = part = 0
        part += value
        last = value or 0.5  # after a nought nothing is part of the same
    return [*found, total + part] if words else found


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
