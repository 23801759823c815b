"""The little language of the templates in assets/synth.

``[a|b]`` stands for either, ``{slot}`` is filled in, ``said => written`` is the same thing on both
sides, ``A> ... // U> ...`` are turns of agent and user; a last ``// @2`` ties an exchange to the
third note of its key point.
"""

import re
from dataclasses import dataclass
from itertools import product

from dialogist.errors import DataError
from dialogist.text.words import count_words

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_SLOT = re.compile(r"\{([a-z]+)\}")
_TURN = re.compile(r"([AU])> (.*)")
_TIED = re.compile(r"@(\d+)")

# What a slot counts for in the size of a template.
_LONG = {
    "time": "2019-01-01 00:00:00",
    "email": "anna@example.com",
    "phone": "555-555-5555",
    "amount": "$7.00",
    "fare": "$7.00",
    "coupon": "$7",
    "from": "7 Elm Road",
    "to": "7 Elm Road",
    "item": "black umbrella",
    "vehicle": "VW Lavida",
}

Variants = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """All wordings of one template; ``slots`` are the same in each. ``size`` is in words."""

    variants: Variants
    slots: frozenset[str]
    size: int


@dataclass(frozen=True, slots=True)
class Content:
    """Something said, and how the summary writes it."""

    said: Line
    written: Line


@dataclass(frozen=True, slots=True)
class Exchange:
    """Turns that belong together: (``A`` or ``U``, wordings). ``note``: the only one it fits."""

    turns: tuple[tuple[str, Variants], ...]
    slots: frozenset[str]
    note: int | None = None


def line_of(text: str) -> Line:
    """Expand the alternatives of a template.

    Raises:
        DataError: its wordings have different slots, so that a value could be lost.
    """
    variants = expand(text)
    slots = {slots_of(variant) for variant in variants}
    if len(slots) != 1:
        raise DataError(f"template {text!r}: its wordings differ in their slots")
    return Line(variants, slots.pop(), count_words(_SLOT.sub(_typical, variants[0])))


def content_of(text: str) -> Content:
    """Read ``said => written``.

    Raises:
        DataError: a side is missing, or they have different slots.
    """
    said, arrow, written = text.partition(" => ")
    content = Content(line_of(said), line_of(written))
    if not arrow or content.said.slots != content.written.slots:
        raise DataError(f"template {text!r}: write 'said => written' with the same slots on both")
    return content


def exchange_of(text: str) -> Exchange:
    """Read ``A> ... // U> ...``.

    Raises:
        DataError: a part begins with neither ``A>`` nor ``U>``.
    """
    turns: list[tuple[str, Variants]] = []
    slots: set[str] = set()
    note = None
    for part in text.split(" // "):
        if tied := _TIED.fullmatch(part):
            note = int(tied[1])
            continue
        turn = _TURN.fullmatch(part.strip())
        if turn is None:
            raise DataError(f"template {text!r}: every turn begins with 'A> ' or 'U> '")
        line = line_of(turn[2])
        turns.append((turn[1], line.variants))
        slots |= line.slots
    return Exchange(tuple(turns), frozenset(slots), note)


def expand(text: str) -> Variants:
    """Every wording that the alternatives of ``text`` allow, in order."""
    parts = _CHOICE.split(text)
    choices = [part.split("|") if i % 2 else [part] for i, part in enumerate(parts)]
    return tuple("".join(chosen) for chosen in product(*choices))


def _typical(slot: re.Match[str]) -> str:
    return _LONG.get(slot[1], "7")


def slots_of(text: str) -> frozenset[str]:
    """The slots of one wording."""
    return frozenset(_SLOT.findall(text))
