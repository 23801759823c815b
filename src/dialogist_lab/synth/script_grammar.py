"""The language of made-up dialogues: templates from YAML, the values they hold, random draws.

``[a|b]`` in a template stands for either, ``{slot}`` is filled in, ``said => written`` is a line of
the dialogue and how the summary writes it, and ``A> ... // U> ...`` are turns of agent and user.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from functools import cache
from hashlib import blake2b
from importlib import resources
from itertools import count, product
from math import gcd
from random import Random
from typing import Any, NamedTuple, TypeVar

import yaml

_T = TypeVar("_T")


def seed_of(*parts: object) -> int:
    """A 64-bit number made of the parts, the same in every process and release."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


class RandomDraw:
    """What is left to chance, as a pure function of the seed.

    Python promises to keep the numbers of `random.Random.random` for a seed; no more is used.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random

    def below(self, count: int) -> int:
        """One of 0 .. count - 1, all alike."""
        return int(self.random() * count)

    def choice(self, weights: Sequence[float]) -> int:
        """The number of one of the weights, as often as it weighs (their sum is above 0)."""
        left = self.random() * sum(weights)
        for number, weight in enumerate(weights):
            left -= weight
            if left < 0:
                return number
        return max(i for i, weight in enumerate(weights) if weight > 0)  # rounding

    def pick(self, values: Sequence[_T]) -> _T:
        """One of the values, each as likely."""
        return values[self.below(len(values))]

    def chance(self, share: float) -> bool:
        """True in that share (0 to 1) of the draws."""
        return self.random() < share

    def between(self, low: float, high: float) -> float:
        """A number from ``low`` to ``high``."""
        return low + (high - low) * self.random()

    def normal(self) -> float:
        """A draw of the standard normal distribution (Box and Muller)."""
        radius = math.sqrt(-2.0 * math.log(1.0 - self.random()))
        return radius * math.cos(2.0 * math.pi * self.random())


def read_templates(name: str) -> Any:
    """What a YAML file of the templates holds."""
    text = (resources.files(__package__) / "templates" / f"{name}.yaml").read_text("utf-8")
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # the fast one, if built


VALUES, TALK, FRAMES, ISSUES, POINTS = map(
    read_templates, ("values", "talk", "frames", "issues", "points")
)
QUESTIONS, ANSWERS = zip(*(text.split(" ;; ") for text in ISSUES["further"]), strict=True)
"""Further questions of the user, and what answers each."""

Variants = tuple[str, ...]

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{([a-z]+)\}")
_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


class ScriptLine(NamedTuple):
    """All wordings of one template; ``slots`` are the same in each. ``size`` is in words."""

    variants: Variants
    slots: frozenset[str]
    size: int


class ScriptExchange(NamedTuple):
    """Turns that belong together: (``A`` or ``U``, wordings)."""

    turns: tuple[tuple[str, Variants], ...]
    slots: frozenset[str]


@cache
def expand(text: str) -> Variants:
    """Every wording that the alternatives of a template allow, in order."""
    parts = _CHOICE.split(text)
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return tuple("".join(chosen) for chosen in product(*choices))


def wordings(texts: Iterable[str]) -> list[str]:
    """Every wording of several templates, in order."""
    return [wording for text in texts for wording in expand(text)]


@cache
def line_of(text: str) -> ScriptLine:
    """A template's wordings; ValueError where they differ in their slots: a value could be lost."""
    variants = expand(text)
    [slots] = {frozenset(_SLOT.findall(variant)) for variant in variants}
    typical = _SLOT.sub(lambda slot: str(VALUES["typical"].get(slot[1], "7")), variants[0])
    return ScriptLine(variants, slots, len(_WORD.findall(typical)))


def said_of(text: str) -> Variants:
    """The wordings of what is said, in ``said => written``."""
    return line_of(text.partition(" => ")[0]).variants


def written_of(text: str) -> ScriptLine:
    """How the summary writes it; ``text`` itself where nothing is said."""
    return line_of(text.partition(" => ")[2] or text)


def notes_of(label: str) -> Sequence[str]:
    """The templates of a key point's sub-summary."""
    return FRAMES["note"].get(label) or POINTS[label]["note"]  # type: ignore[no-any-return]


@cache
def exchange_of(text: str) -> ScriptExchange:
    """Read ``A> ... // U> ...``."""
    turns = [part.strip().partition("> ") for part in text.split(" // ") if part[0] != "@"]
    lines = [line_of(said) for _, _, said in turns]
    named = zip(turns, lines, strict=True)
    return ScriptExchange(
        tuple((turn[0], line.variants) for turn, line in named),
        frozenset[str]().union(*(line.slots for line in lines)),
    )


@cache
def exchanges_for(label: str, note: int) -> tuple[ScriptExchange, ...]:
    """How the note of that number comes up: with the same slots; ``@2`` is for note 2 alone."""
    slots = line_of(POINTS[label]["note"][note]).slots
    tied = [(text, re.search(r"@(\d+)", text)) for text in POINTS[label]["say"]]
    fitting = [exchange_of(text) for text, tie in tied if not tie or int(tie[1]) == note]
    return tuple(exchange for exchange in fitting if exchange.slots == slots)


UNIQUE = ("order", "phone", "plate", "email", "case", "time", "from", "to")
"""Slots whose values never return: not in the other parts, not within a million pairs of one."""

_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_LOCAL = {"minutes": (3, 59), "hours": (3, 72), "days": (2, 15), "km": (2, 19)}


class Unique(NamedTuple):
    """Makes the values of one pair. ``use`` 1 gives others: what was said by mistake."""

    seed: int
    counter: int

    def make(self, slot: str, use: int = 0) -> str:
        """The value of a slot in `UNIQUE`."""
        if slot in ("from", "to"):
            slot, use = "place", int(slot == "to")
        size, write = _WAYS[slot]
        return write((_step(size) * (2 * self.counter + use) + seed_of(self.seed, slot)) % size)


@cache
def _step(size: int) -> int:
    """A step of some 0.62 of the size that has no divisor in common with it: neighbours differ."""
    return next(step for step in count(int(size * 0.6180339887498949)) if gcd(step, size) == 1)


def _plate(number: int) -> str:
    rest, digits = divmod(number, 10**4)
    letters = (_LETTERS[rest // 576], _LETTERS[rest // 24 % 24], _LETTERS[rest % 24])
    return f"{''.join(letters)}{digits:04d}"


def _place(number: int) -> str:
    rest, house = divmod(number, 100)
    rest, kind = divmod(rest, 8)
    rest, end = divmod(rest, 12)
    name = f"{_two_syllables(rest).capitalize()}{VALUES['endings'][end]}"
    return f"{house + 1} {name} {VALUES['kinds'][kind]}"


def _two_syllables(number: int) -> str:
    text = ""
    for _ in range(2):
        number, vowel = divmod(number, len(VALUES["nuclei"]))
        number, onset = divmod(number, len(VALUES["onsets"]))
        text += VALUES["onsets"][onset] + VALUES["nuclei"][vowel]
    return text


# How many values of a slot there are, and how the value of a number is written.
_WAYS: dict[str, tuple[int, Callable[[int], str]]] = {
    "order": (9 * 10**15, lambda n: str(10**15 + n)),
    "case": (10**9, lambda n: f"CS{n:09d}"),
    "time": (4 * 10**8, lambda n: str(datetime(2012, 1, 1) + timedelta(seconds=n))),
    "email": (10**7, lambda n: f"{_two_syllables(n // 10**2 * 7919)}{n:07d}@example.com"),
    "phone": (10**7, lambda n: f"555-{n // 10**4:03d}-{n % 10**4:04d}"),
    "plate": (24**3 * 10**4, _plate),
    "place": (168 * 168 * 12 * 8 * 100, _place),
}


class Shared(dict[str, str]):
    """The values that are the same all through a dialogue, made when first needed."""

    def __init__(self, unique: Unique, draw: RandomDraw, **given: str) -> None:
        super().__init__(given)
        self.unique, self.draw = unique, draw

    def __missing__(self, slot: str) -> str:
        self[slot] = self.unique.make(slot) if slot in UNIQUE else self.drawn(slot)
        return self[slot]

    def drawn(self, slot: str) -> str:
        """A value that may return: a thing of the templates, or a sum of money."""
        if slot in ("item", "vehicle"):
            return str(self.draw.pick(TALK[slot]))
        cents = 400 + self.draw.below(30_000)
        return f"${cents // 100}.{cents % 100:02d}"


class Local(dict[str, str]):
    """The values of one content: its own numbers, everything else shared."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared

    def __missing__(self, slot: str) -> str:
        if slot in _LOCAL:
            low, high = _LOCAL[slot]
            self[slot] = str(low + self.shared.draw.below(high - low + 1))
        elif slot == "coupon":
            self[slot] = f"${5 * (1 + self.shared.draw.below(10))}"
        else:
            self[slot] = self.shared.drawn(slot) if slot == "fare" else self.shared[slot]
        return self[slot]
