"""Errors to plant into human summaries: a name, a number, an entity or a speaker becomes another.

Evaluation asks by them how far its checks can be believed, training learns what not to say.
Where an error can stand, and that the dialogue really does not hold it, is told by plain words
here, not by the rules that are to find it: what these take for a variant is then missed, as it
should be.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import NamedTuple, TypeAlias

from dialogist.records import Dialogue
from dialogist.language.people import DAYS, MONTHS
from dialogist.language.quantities import UNITS
from dialogist.language.tokens import sentence_spans

_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"\b[A-Z][a-z]{2,}\b")
_SMALL_WORD = re.compile(r"\b[a-z]{3,}\b")
_INNER_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}\b")
_CLOCK = re.compile(r"(?<![\d:])\d{1,2}:\d\d(?!\d)")
_DIGITS = re.compile(r"(?<![\w.:#,/-])\d{1,6}(?![\w:#/-]|[.,]\d)")
_SMALL = [word for word, value in UNITS.items() if 2 <= value <= 12]
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_SMALL)})\b")
_SPELT = {str(value): word for value, word in enumerate(_SMALL, 2)}
_DAYS, _MONTHS = ([name.capitalize() for name in names] for names in (DAYS, MONTHS))
_CALENDAR = re.compile(rf"\b(?:{'|'.join((*_DAYS, *_MONTHS))})\b")
_CODE = re.compile(r"\b[A-Za-z]+\d{2,}\b|(?<![\w.-])\d{3}[\d -]{3,}\d(?![\w-])|\S+@\S+\.\w+")
_TRIES = 20

ErrorPlace: TypeAlias = tuple[int, int]


class Planted(NamedTuple):
    """A summary with one error: ``text[start:end]`` is where it stands."""

    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Ground:
    """Where an error is planted: a human summary and its dialogue; ``names`` of all dialogues."""

    summary: str
    dialogue: Dialogue
    names: Sequence[str] = ()

    @cached_property
    def said(self) -> str:
        """All that is said, and by whom."""
        return "\n".join(f"{u.speaker}: {u.text}" for u in self.dialogue.utterances)

    @cached_property
    def words(self) -> frozenset[str]:
        """All words of dialogue and summary in small letters."""
        return frozenset(_WORD.findall(f"{self.summary}\n{self.said}".lower()))

    def planted(self, place: ErrorPlace, other: str) -> Planted:
        """The summary with other words at a place."""
        start, end = place
        text = self.summary[:start] + other + self.summary[end:]
        return Planted(text, start, start + len(other))

    def another(self, place: ErrorPlace, others: Sequence[str], random: Random) -> Planted | None:
        """One of the others at the place, none of whose words dialogue or summary hold."""
        for _ in range(_TRIES if others else 0):
            other = random.choice(others)
            if self.words.isdisjoint(_WORD.findall(other.lower())):
                return self.planted(place, other)
        return None


Planter: TypeAlias = Callable[[Ground, Random], Planted | None]
"""Plants one error, or finds no place for it."""


def names_of(dialogues: Sequence[Dialogue]) -> list[str]:
    """Names that dialogues hold: of speakers, and capitals that none writes in small letters."""
    small = {word for d in dialogues for u in d.utterances for word in _SMALL_WORD.findall(u.text)}
    spoken = [name for one in dialogues for name in _spoken_names(one)]
    said = [n for one in dialogues for n in _said_names(one) if n.lower() not in small]
    return list(dict.fromkeys((*spoken, *said)))


def _spoken_names(dialogue: Dialogue) -> list[str]:
    roles = {u.role.capitalize() for u in dialogue.utterances}
    names = [name for speaker in dialogue.speakers for name in _NAME.findall(speaker)]
    return [name for name in names if name not in roles]


def _said_names(dialogue: Dialogue) -> list[str]:
    said = [name for u in dialogue.utterances for name in _INNER_NAME.findall(u.text)]
    return [name for name in said if not _CALENDAR.fullmatch(name)]


def plant_name(ground: Ground, random: Random) -> Planted | None:
    """A name of this dialogue becomes one of another."""
    own = {*_spoken_names(ground.dialogue), *_said_names(ground.dialogue)}
    places = [m.span() for m in _NAME.finditer(ground.summary) if m[0] in own]
    return ground.another(random.choice(places), ground.names, random) if places else None


def plant_number(ground: Ground, random: Random) -> Planted | None:
    """A number or a time becomes another that the dialogue holds neither in digits nor in words."""
    kinds = (_CLOCK, _DIGITS, _NUMBER_WORD)
    found = [(m.span(), m[0]) for kind in kinds for m in kind.finditer(ground.summary)]
    if not found:
        return None
    place, old = random.choice(found)
    if ":" in old:
        times = [f"{hour}:{minute:02}" for hour in range(1, 13) for minute in range(0, 60, 5)]
        free = [time for time in times if time not in ground.said]
        return ground.planted(place, random.choice(free))
    if old.isdecimal():
        low = 10 ** (len(old) - 1)
        drawn = [str(random.randrange(max(2, low), 10 * low)) for _ in range(_TRIES)]
        free = [number for number in drawn if _SPELT.get(number) not in ground.words]
    else:
        free = [word for number, word in _SPELT.items() if number not in ground.words]
    return ground.another(place, free, random)


def plant_entity(ground: Ground, random: Random) -> Planted | None:
    """A weekday or month becomes another; a code, phone number or address gets another digit."""
    found = [
        *_CALENDAR.finditer(ground.summary),
        *_CODE.finditer(ground.summary),
    ]
    if not found:
        return None
    match = random.choice(found)
    if _CALENDAR.fullmatch(match[0]):
        others = _DAYS if match[0] in _DAYS else _MONTHS
        return ground.another(match.span(), others, random)
    return ground.planted(match.span(), _garbled(match[0], random))


def _garbled(code: str, random: Random) -> str:
    """Another digit, or where there is none another first letter."""
    digits = [i for i, character in enumerate(code) if character.isdecimal()]
    if not digits:
        return ("q" if code[0] != "q" else "z") + code[1:]
    i = random.choice(digits)
    return code[:i] + random.choice([d for d in "0123456789" if d != code[i]]) + code[i + 1 :]


# What is said of both is no less true the other way round.
_TOGETHER = re.compile(r"\b(?:both|each|together|also|too|other|they|all|we)\b", re.I)
_DENIAL = re.compile(r"\b(?:not|no|never|nothing|nobody|none|cannot|without)\b|n['’]t\b", re.I)
_NEAR = 25  # characters
_ADDITIONS = (
    (re.compile(r"\b(is|are|was|were|will|should|could|would|must)\b"), r"\1 not"),
    (re.compile(r"\bcan\b"), "cannot"),
    (re.compile(r"\bhas to\b"), "doesn't have to"),
    (
        re.compile(r"\b(want|need|like|plan|hope|decide|agree|love|prefer|think|know|feel)s\b"),
        r"doesn't \1",
    ),
)


def plant_swap(ground: Ground, random: Random) -> Planted | None:
    """Two speakers change places in one sentence; one who stands there alone becomes another."""
    sentences = [
        place
        for place in sentence_spans(ground.summary)
        if can_swap(ground, ground.summary[slice(*place)])
    ]
    return exchanged(ground, random.choice(sentences), random) if sentences else None


def can_swap(ground: Ground, text: str) -> bool:
    """Whether a part of the summary is wrong once two of its speakers change places."""
    names = ground.dialogue.speakers
    if len(names) < 2 or _TOGETHER.search(text) or not _named(names, text):
        return False
    either = "|".join(map(re.escape, names))
    joined = rf"(?:{either})(?:,| and| or) (?:{either}|[A-Z])|[A-Z]\w+(?:,| and| or) (?:{either})"
    return re.search(joined, text) is None


def _named(names: Sequence[str], text: str) -> list[str]:
    return [name for name in names if _mention([name]).search(text)]


def _mention(names: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")


def exchanged(ground: Ground, place: ErrorPlace, random: Random) -> Planted:
    """The summary in which two speakers have changed places in one part."""
    text, names = ground.summary[slice(*place)], ground.dialogue.speakers
    first = random.choice(_named(names, text))
    others = [name for name in _named(names, text) if name != first]
    second = random.choice(others or [name for name in names if name != first])
    swap = {first: second, second: first}
    return ground.planted(place, _mention([first, second]).sub(lambda m: swap[m[0]], text))


def plant_denial(ground: Ground, random: Random) -> Planted | None:
    """What the summary asserts is denied, with no other denial near."""
    return rewritten(ground, _ADDITIONS, random, lonely=True)


def rewritten(
    ground: Ground,
    rules: Sequence[tuple[re.Pattern[str], str]],
    random: Random,
    *,
    lonely: bool,
) -> Planted | None:
    """One place of those that a rule finds, rewritten; ``lonely``: with no denial near it."""
    text = ground.summary
    found = [(m.span(), m.expand(new)) for rule, new in rules for m in rule.finditer(text)]
    if lonely:
        near = ((max(0, a - _NEAR), b + _NEAR) for (a, b), _ in found)
        denied = [_DENIAL.search(text, *span) is not None for span in near]
        found = [one for one, near_denial in zip(found, denied, strict=True) if not near_denial]
    return ground.planted(*random.choice(found)) if found else None
