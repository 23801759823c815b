"""Values for the slots of templates: those of things in the world are never used twice.

A counter of (pair, split, use) goes through ``(a * counter + b) mod size``, which is one to one for
counters below ``size``: no memory of what was used, and any pair can be made first. ``b`` comes of
the seed. Nothing here belongs to anybody: telephone area code 555 and Chinese prefix 154 have no
subscribers, example.com is reserved (RFC 2606), Chinese plates never have an I or O.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache, lru_cache
from itertools import count
from math import gcd

from dialogist_lab.synth.draw import Draw, seed_of
from dialogist_lab.synth.grammar import Grammar

UNIQUE = ("order", "phone", "plate", "email", "case", "time", "from", "to")
"""Slots whose values never return: not in the other parts, not within a million pairs of one."""

MOST_PAIRS = 1_000_000
"""Pairs of one seed, language and part before the smallest value space would be used up."""

_STEP = 0.6180339887498949  # neighbours lie far apart
_START = datetime(2012, 1, 1)
_CONSONANTS = "b br c d dr f g gr h k l m n p r s st t tr v w"
_VOWELS = "a e i o u ai ee oa"
_ENDINGS = "ford wick by ham ley mere ton well den cote gate brook"
_ONSETS, _NUCLEI, _ENDS = _CONSONANTS.split(), _VOWELS.split(), _ENDINGS.split()
_KINDS = ("Street", "Road", "Avenue", "Lane", "Square", "Drive", "Close", "Row")
_HAN = (
    "云溪松柏桂兰青石东湖安宁和平长春华阳明珠金沙银河"
    "星海文昌武定永福康乐凤仪龙泉玉清白鹭紫荆丹枫碧桃"
)
_HAN_KINDS = ("路", "街", "大道", "巷", "弄", "里")
_PROVINCES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_LOCAL = {"minutes": (3, 59), "hours": (3, 72), "days": (2, 15), "km": (2, 19)}


class Unique:
    """Makes the values of one pair. ``use`` 1 gives others: what was said by mistake."""

    def __init__(self, language: str, seed: int, counter: int) -> None:
        self._chinese = language == "zh"
        self._seed = seed
        self._counter = counter

    def make(self, slot: str, use: int = 0) -> str:
        """The value of a slot in `UNIQUE`, written as the language does."""
        if slot in ("from", "to"):
            return self._place(2 * self._counter + (slot == "to"))
        return str(getattr(self, f"_{slot}")(2 * self._counter + use))

    def _number(self, slot: str, counter: int, size: int) -> int:
        return (_step(size) * counter + _offset(self._seed, slot)) % size

    def _order(self, counter: int) -> str:
        return str(10**15 + self._number("order", counter, 9 * 10**15))

    def _phone(self, counter: int) -> str:
        if self._chinese:
            return f"154{self._number('phone', counter, 10**8):08d}"
        number = self._number("phone", counter, 10**7)
        return f"555-{number // 10**4:03d}-{number % 10**4:04d}"

    def _plate(self, counter: int) -> str:
        if self._chinese:
            rest, digits = divmod(self._number("plate", counter, 31 * 24 * 2 * 10**4), 10**4)
            rest, mark = divmod(rest, 2)
            province, letter = divmod(rest, 24)
            return f"{_PROVINCES[province]}{_LETTERS[letter]}{'IO'[mark]}{digits:04d}"
        rest, digits = divmod(self._number("plate", counter, 24**3 * 10**4), 10**4)
        return (
            f"{_LETTERS[rest // 576]}{_LETTERS[rest // 24 % 24]}{_LETTERS[rest % 24]}{digits:04d}"
        )

    def _email(self, counter: int) -> str:
        number = self._number("email", counter, 10**7)
        return f"{_syllables(number // 10**2 * 7919, 2)}{number:07d}@example.com"

    def _case(self, counter: int) -> str:
        return f"CS{self._number('case', counter, 10**9):09d}"

    def _time(self, counter: int) -> str:
        return str(_START + timedelta(seconds=self._number("time", counter, 4 * 10**8)))

    def _place(self, counter: int) -> str:
        if self._chinese:
            return self._chinese_place(counter)
        rest, house = divmod(self._number("place", counter, 168 * 168 * 12 * 8 * 100), 100)
        rest, kind = divmod(rest, 8)
        rest, end = divmod(rest, 12)
        return f"{house + 1} {_syllables(rest, 2).capitalize()}{_ENDS[end]} {_KINDS[kind]}"

    def _chinese_place(self, counter: int) -> str:
        size = len(_HAN) ** 2 * 6 * 1000
        rest, house = divmod(self._number("place", counter, size), 1000)
        rest, kind = divmod(rest, 6)
        one, other = divmod(rest, len(_HAN))
        return f"{_HAN[one]}{_HAN[other]}{_HAN_KINDS[kind]}{house + 1}号"


@cache
def _step(size: int) -> int:
    """A step of some 0.62 of the size that has no divisor in common with it."""
    return next(step for step in count(int(size * _STEP)) if gcd(step, size) == 1)


@lru_cache(maxsize=256)
def _offset(seed: int, slot: str) -> int:
    return seed_of(seed, slot)


def _syllables(number: int, count: int) -> str:
    parts = []
    for _ in range(count):
        number, vowel = divmod(number, len(_NUCLEI))
        number, onset = divmod(number, len(_ONSETS))
        parts.append(_ONSETS[onset] + _NUCLEI[vowel])
    return "".join(parts)


class Shared(dict[str, str]):
    """The values that are the same all through a dialogue, made when first needed."""

    def __init__(self, unique: Unique, draw: Draw, grammar: Grammar, given: Mapping[str, str]):
        super().__init__(given)
        self.unique, self.draw, self.grammar = unique, draw, grammar

    def __missing__(self, slot: str) -> str:
        if slot in UNIQUE:
            value = self.unique.make(slot)
        elif slot in self.grammar.words:
            value = self.draw.pick(self.grammar.words[slot])
        else:
            value = money(self.draw, self.grammar.language)
        self[slot] = value
        return value


class Local(dict[str, str]):
    """The values of one content: its own numbers, everything else shared."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared

    def __missing__(self, slot: str) -> str:
        draw, language = self.shared.draw, self.shared.grammar.language
        if slot in _LOCAL:
            low, high = _LOCAL[slot]
            value = str(low + draw.below(high - low + 1))
        elif slot == "fare":
            value = money(draw, language)
        elif slot == "coupon":
            value = _money(str(5 * (1 + draw.below(10))), language)
        else:
            value = self.shared[slot]
        self[slot] = value
        return value


def money(draw: Draw, language: str) -> str:
    """A sum with cents (not unique: there are not enough of them)."""
    cents = 400 + draw.below(30_000)
    return _money(f"{cents // 100}.{cents % 100:02d}", language)


def _money(number: str, language: str) -> str:
    return f"{number}元" if language == "zh" else f"${number}"
