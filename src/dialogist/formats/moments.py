"""Time stamps of texts: which part is day or month, minute or hour, all stamps of a file decide."""

import re
from collections.abc import Sequence
from datetime import date
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

import yaml

from dialogist.language.tokens import word_table


@cache
def format_table(name: str) -> dict[str, Any]:
    """A table of assets/formats."""
    text = files("dialogist").joinpath(f"assets/formats/{name}.yaml").read_text("utf-8")
    return dict(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


LISTS = word_table("files")
"""Words of many languages in headers, dates and pages, by name."""
_MONTHS = LISTS["months"]
_NAMED = [re.compile(rf"(?:{names})", re.IGNORECASE) for names in _MONTHS.split()]
_MONTH = rf"(?:{_MONTHS.replace(' ', '|')})[^\W\d_]{{0,7}}\.?"


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a text, with what assets/formats/lines.yaml has for each ``@name@`` in it."""
    table = {**format_table("lines"), "month": _MONTH, "wrote": LISTS["wrote"]}
    while names := set(re.findall(r"@([a-z_]+)@", text)):
        for name in names:
            text = text.replace(f"@{name}@", table[name])
    return re.compile(re.sub(r"\n\s*", "", text), flags)


def line_patterns(*names: str) -> list[re.Pattern[str]]:
    """Patterns of assets/formats/lines.yaml."""
    return [pattern(f"@{name}@") for name in names]


_NUMBERS, _WORDS, _CLOCK, _SPAN, _ZONE, _AMERICAN = line_patterns(
    "date_numbers", "date_words", "clock_parts", "span", "zone", "american"
)
_FIRST_HALF, _SECOND_HALF = (
    re.compile(LISTS[f"{name} half"], re.IGNORECASE) for name in ("first", "second")
)
_SAMPLE = 100  # stamps that are looked at for it
_LONGEST = 80  # characters of a stamp
_DAY = 86_400.0
_BUDDHIST = 543  # years of a Thai phone


class _Stamp(NamedTuple):
    """A stamp as it is written: ``numbers`` of its date, the clock, how far it is in which half."""

    numbers: tuple[int, int, int] | None  # a year, month and day; or two in doubt and the year
    is_certain: bool
    clock: tuple[int, int, float | None] | None  # without seconds: None
    half: str
    zone: float


def times_of_stamps(stamps: Sequence[str], of_day: bool = False) -> list[float | None]:
    """The seconds that the stamps of one file stand for; None where one says no time.

    With dates they count from 1970, else from the beginning of the recording or of the day; where
    only some have dates, the others are None.
    ``of_day``: "9:05" is an hour of a day, whatever the other stamps are.
    """
    parsed = [_parsed(stamp[:_LONGEST]) for stamp in stamps]
    clocks = [parts.clock for parts in parsed if parts.clock]
    halves = any(parts.half for parts in parsed)
    is_short = not of_day and not halves and _are_minutes(clocks)
    doubtful = [parts.numbers for parts in parsed if parts.numbers and not parts.is_certain]
    day_first = _is_day_first(doubtful, any(map(_AMERICAN.search, stamps[:_SAMPLE])))
    has_days = any(parts.numbers for parts in parsed)
    seconds: list[float | None] = []
    midnight = before = 0.0
    for stamp, parts in zip(stamps, parsed, strict=True):
        span = None if of_day or parts.numbers else _SPAN.fullmatch(stamp.strip())
        if span:  # "1m 3s", "63.25"
            hours, minutes, rest = (float(part or 0) for part in span.groups())
            seconds.append(3600 * hours + 60 * minutes + rest)
            continue
        if parts.numbers is None and (has_days or parts.clock is None):  # of no day that is known
            seconds.append(None)
            continue
        first, second, third = parts.clock or (0, 0, 0.0)
        if parts.half:
            first = first % 12 + 12 * (parts.half == "p")
        is_minute = is_short and third is None
        since = first * 60.0 + second if is_minute else first * 3600.0 + second * 60 + (third or 0)
        day = _days(parts, day_first)
        if day is None:
            if of_day and before - since > _DAY / 2:
                midnight += _DAY
            before = since
        seconds.append(since + (midnight if day is None else day * _DAY - parts.zone))
    return seconds


def _parsed(stamp: str) -> _Stamp:
    rest, numbers, is_certain = stamp, None, True
    if words := _WORDS.search(stamp):
        name = words["month"] or words["month_1"]
        month = next(n for n, names in enumerate(_NAMED, 1) if names.match(name))
        year, day = words["year"] or words["year_1"], words["day"] or words["day_1"]
        numbers = (_full(int(year)), month, int(day))
        rest = stamp.replace(words[0], words["clock"] or " ", 1)
    elif digits := _NUMBERS.search(stamp):
        first, second, third = map(int, digits.groups())
        is_certain = len(digits[1]) >= 3
        numbers = (_full(first), second, third) if is_certain else (first, second, _full(third))
        rest = stamp.replace(digits[0], " ", 1)
    clock = _CLOCK.search(rest)
    half = "p" if _SECOND_HALF.search(rest) else "a" if _FIRST_HALF.search(rest) else ""
    offset = 0.0
    if (zone := _ZONE.search(rest)) and zone["sign"]:
        offset = float(f"{zone['sign']}1") * (3600 * int(zone["hours"]) + 60 * int(zone["minutes"]))
    if clock is None:
        return _Stamp(numbers, is_certain, None, half, offset)
    parts = [int(clock[name]) for name in ("one", "two", "three") if clock[name]]
    if clock["part"] and len(parts) == 2:
        parts = [0, *parts]  # "01:03.80" has no hours
    part = float(f"0.{clock['part'] or 0}")
    seconds = parts[2] + part if len(parts) == 3 else None
    return _Stamp(numbers, is_certain, (parts[0], parts[1], seconds), half, offset)


def _full(year: int) -> int:
    return year + 2000 if year < 100 else year - _BUDDHIST if year > 2400 else year


def _are_minutes(clocks: Sequence[tuple[int, int, float | None]]) -> bool:
    """Whether "1:05" is a minute and a second: later ones have hours, or it all begins early."""
    short = [first for first, _, third in clocks if third is None]
    is_mixed = 0 < len(short) < len(clocks)
    return bool(short) and (is_mixed or max(short) > 23 or short[0] < 5)


def _is_day_first(dates: Sequence[tuple[int, int, int]], is_american: bool) -> bool:
    """Whether 3/7 is in July: some other date, or their order, says so, in doubt their look."""
    if any(first > 12 or second > 12 for first, second, _ in dates):
        return any(first > 12 for first, _, _ in dates)
    turned = [(year, month, day) for day, month, year in dates]
    as_written = [(year, month, day) for month, day, year in dates]
    backward = [sum(a > b for a, b in pairwise(each)) for each in (turned, as_written)]
    return backward[0] < backward[1] or (backward[0] == backward[1] and not is_american)


def _days(stamp: _Stamp, day_first: bool) -> int | None:
    """The days since 1970; None without a date, or with one of another calendar."""
    if stamp.numbers is None:
        return None
    year, month, day = stamp.numbers
    if not stamp.is_certain:
        day, month, year = stamp.numbers if day_first else (month, year, day)
    try:
        days = date(year, month, day).toordinal() - date(1970, 1, 1).toordinal()
    except ValueError:
        return None
    return days if days > 0 else None
