"""What a made-up dialogue is about: its values, and the steps of its plan."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, lru_cache
from itertools import count
from math import gcd
from typing import NamedTuple, TypeAlias

from dialogist_lab.synth.grammar import (
    VALUES,
    Grammar,
    Issue,
    RandomDraw,
    read_templates,
    seed_of,
)

UNIQUE = ("order", "phone", "plate", "email", "case", "time", "from", "to")
"""Slots whose values never return: not in the other parts, not within a million pairs of one."""

MOST_PAIRS = 1_000_000
"""Pairs of one seed, language and part before the smallest value space would be used up."""

_STEP = 0.6180339887498949  # neighbours lie far apart
_START = datetime(2012, 1, 1)
_ONSETS, _NUCLEI = VALUES["onsets"], VALUES["nuclei"]
_HAN = VALUES["characters"]
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_LOCAL = {"minutes": (3, 59), "hours": (3, 72), "days": (2, 15), "km": (2, 19)}


class Unique:
    """Makes the values of one pair. ``use`` 1 gives others: what was said by mistake."""

    def __init__(self, language: str, seed: int, counter: int) -> None:
        self._ways = _CHINESE if language == "zh" else _ENGLISH
        self._seed = seed
        self._counter = counter

    def make(self, slot: str, use: int = 0) -> str:
        """The value of a slot in `UNIQUE`, written as the language does."""
        if slot in ("from", "to"):
            slot, use = "place", int(slot == "to")
        size, write = self._ways[slot]
        number = (_step(size) * (2 * self._counter + use) + _offset(self._seed, slot)) % size
        return write(number)


def _english_plate(number: int) -> str:
    rest, digits = divmod(number, 10**4)
    letters = (_LETTERS[rest // 576], _LETTERS[rest // 24 % 24], _LETTERS[rest % 24])
    return f"{''.join(letters)}{digits:04d}"


def _chinese_plate(number: int) -> str:
    rest, digits = divmod(number, 10**4)
    rest, mark = divmod(rest, 2)
    province, letter = divmod(rest, 24)
    return f"{VALUES['provinces'][province]}{_LETTERS[letter]}{'IO'[mark]}{digits:04d}"


def _english_place(number: int) -> str:
    rest, house = divmod(number, 100)
    rest, kind = divmod(rest, 8)
    rest, end = divmod(rest, 12)
    name = f"{_syllables(rest, 2).capitalize()}{VALUES['endings'][end]}"
    return f"{house + 1} {name} {VALUES['kinds'][kind]}"


def _chinese_place(number: int) -> str:
    rest, house = divmod(number, 1000)
    rest, kind = divmod(rest, 6)
    one, other = divmod(rest, len(_HAN))
    return f"{_HAN[one]}{_HAN[other]}{VALUES['ways'][kind]}{house + 1}号"


_Way: TypeAlias = tuple[int, Callable[[int], str]]
"""How many values of a slot there are, and how the value of a number is written."""

_ANYWHERE: dict[str, _Way] = {
    "order": (9 * 10**15, lambda n: str(10**15 + n)),
    "case": (10**9, lambda n: f"CS{n:09d}"),
    "time": (4 * 10**8, lambda n: str(_START + timedelta(seconds=n))),
    "email": (10**7, lambda n: f"{_syllables(n // 10**2 * 7919, 2)}{n:07d}@example.com"),
}
_ENGLISH: dict[str, _Way] = _ANYWHERE | {
    "phone": (10**7, lambda n: f"555-{n // 10**4:03d}-{n % 10**4:04d}"),
    "plate": (24**3 * 10**4, _english_plate),
    "place": (168 * 168 * 12 * 8 * 100, _english_place),
}
_CHINESE: dict[str, _Way] = _ANYWHERE | {
    "phone": (10**8, lambda n: f"154{n:08d}"),
    "plate": (31 * 24 * 2 * 10**4, _chinese_plate),
    "place": (len(_HAN) ** 2 * 6 * 1000, _chinese_place),
}


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

    def __init__(
        self, unique: Unique, draw: RandomDraw, grammar: Grammar, given: Mapping[str, str]
    ):
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


def money(draw: RandomDraw, language: str) -> str:
    """A sum with cents (not unique: there are not enough of them)."""
    cents = 400 + draw.below(30_000)
    return _money(f"{cents // 100}.{cents % 100:02d}", language)


def _money(number: str, language: str) -> str:
    return f"{number}元" if language == "zh" else f"${number}"


class Traits(NamedTuple):
    """``rank`` orders the summary; ``low`` to ``high`` is when it may come up in the dialogue.

    ``weight`` is how often it is chosen, against the others. Of one ``group`` there is only one.
    ``anywhere``: it suits every issue, and not only those that name it.
    """

    rank: int
    low: float
    high: float
    weight: float
    group: str = ""
    anywhere: bool = False


TRAITS = {label: Traits(**each) for label, each in read_templates("key-points").items()}
LABELS = tuple(TRAITS)

# Key points (from 1 on) and what share of pairs has them: 20% have more than 5.
_COUNTS = (0.03, 0.12, 0.21, 0.24, 0.20, 0.09, 0.05, 0.03, 0.02, 0.01)
_OUTCOMES = ("Solution", "Explanation", "Suggestion", "Escalation", "Need call back")
_OUTCOME_WEIGHTS = (0.62, 0.14, 0.1, 0.08, 0.06)
_ATTITUDES = ("User approval", "User disapproval", "User undecided", "Acknowledgement")
_ATTITUDE_WEIGHTS = (0.48, 0.2, 0.1, 0.22)

# Lognormal: 28% above 20 utterances and 4.5% above 40.
_UTTERANCES = (2.66, 0.623)
_MOST_UTTERANCES = 120
# Median and spread of what is aimed at; set so that 34% of summaries come out over 100 tokens.
_WORDS = {"en": (4.53, 0.5), "zh": (4.50, 0.5)}
_TOGETHER = 0.85  # correlation of key points and words of the summary
_ALONG = 0.7  # the same for key points and utterances


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A key point at its place in the summary.

    ``low`` and ``high`` as in `Traits`; both 0 for those that keep the summary's order.
    """

    label: str
    rank: int
    low: float
    high: float

    @property
    def chained(self) -> bool:
        """Whether it comes in the summary's order in the dialogue, too."""
        return self.high == 0.0


@dataclass(frozen=True, slots=True)
class DialoguePlan:
    """What a pair is to have. ``words`` of the summary and ``utterances`` are aims."""

    issue: Issue
    steps: tuple[PlanStep, ...]
    words: float
    utterances: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The key-point sequence."""
        return tuple(step.label for step in self.steps)


def make_plan(draw: RandomDraw, grammar: Grammar) -> DialoguePlan:
    """Draw the issue, the key points and the lengths of a pair."""
    issue = draw.pick(grammar.issues)
    size = draw.normal()
    count = _count(size)
    taken = {"Question description": 10}
    outcome = "Solution" if count < 2 else _OUTCOMES[draw.choice(_OUTCOME_WEIGHTS)]
    extra = _outcome(draw, taken, count, outcome)
    _ending(draw, taken, count - len(extra))
    _fill(draw, taken, issue, count - len(extra))
    steps = [_plan_step(*each, issue, outcome) for each in (*taken.items(), *extra)]
    mean, spread = _WORDS[grammar.language]
    words = math.exp(mean + spread * _mixed(draw, size, _TOGETHER))
    mean, spread = _UTTERANCES
    utterances = math.exp(mean + spread * _mixed(draw, size, _ALONG))
    steps.sort(key=lambda step: step.rank)
    return DialoguePlan(issue, tuple(steps), words, round(min(utterances, _MOST_UTTERANCES)))


def _count(size: float) -> int:
    """The number of key points that this share of pairs stays below."""
    rest = 0.5 * (1.0 + math.erf(size / math.sqrt(2.0)))
    for number, share in enumerate(_COUNTS, start=1):
        rest -= share
        if rest < 0:
            return number
    return len(_COUNTS)


def _mixed(draw: RandomDraw, size: float, correlation: float) -> float:
    return correlation * size + math.sqrt(1 - correlation**2) * draw.normal()


def _outcome(
    draw: RandomDraw, taken: dict[str, int], count: int, outcome: str
) -> list[tuple[str, int]]:
    """What came of it. Returns what may stand there twice: Solutions, and what is between."""
    if count < 2:
        return []
    if outcome != "Solution":
        taken[outcome] = TRAITS[outcome].rank
        return []
    steps = [("Solution", 44)]
    if count >= 5 and draw.chance(0.6):  # refused first, then something else is found
        steps += [("User disapproval", 45), ("Solution", 46)]
    if count >= len(steps) + 3 and draw.chance(0.25):
        steps += [("Further question", 57), ("Solution", 58)]
    return steps


def _ending(draw: RandomDraw, taken: dict[str, int], count: int) -> None:
    if len(taken) < count and draw.chance(0.7):
        attitude = _ATTITUDES[draw.choice(_ATTITUDE_WEIGHTS)]
        taken[attitude] = TRAITS[attitude].rank
    if len(taken) < count and draw.chance(0.55):
        end = "Call dropped" if draw.chance(0.12) else "End"
        taken[end] = TRAITS[end].rank


def _fill(draw: RandomDraw, taken: dict[str, int], issue: Issue, count: int) -> None:
    groups = {TRAITS[label].group for label in taken}
    anywhere = [label for label, traits in TRAITS.items() if traits.anywhere]
    labels = [label for label in (*anywhere, *issue.points) if label not in taken]
    weights = [TRAITS[label].weight for label in labels]
    while len(taken) < count:
        place = draw.choice(weights)
        label, weights[place] = labels[place], 0.0
        rank, group = TRAITS[label].rank, TRAITS[label].group
        if not group or group not in groups:
            taken[label] = rank
            groups.add(group)


def _plan_step(label: str, rank: int, issue: Issue, outcome: str) -> PlanStep:
    low, high = TRAITS[label].low, TRAITS[label].high
    if label == outcome:
        low = high = 0.0  # what the user thinks of it comes after it
    if issue.facts_first and 20 <= rank < 30:
        rank -= 20  # such issues are filed by their facts: these stand before the question
    return PlanStep(label, rank, low, high)
