"""Errors to plant into summaries of booking dialogues: a slot gets another value of its kind."""

import json
import re
from collections.abc import Sequence
from random import Random

from dialogist.data.planting import Ground, Planted
from dialogist.metrics.slots import STATE, compare_slots, state_of

_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_TIMES = [f"{hour:02}:{minute:02}" for hour in range(24) for minute in range(0, 60, 15)]
_DIGITS = [str(number) for number in range(1, 9)]
_PRICES = ["cheap", "moderate", "expensive"]
_AREAS = ["centre", "north", "south", "east", "west"]
_KINDS: Sequence[tuple[re.Pattern[str], Sequence[str]]] = (
    (re.compile(rf"\b(?:{'|'.join(_DAYS)})\b"), _DAYS),
    (re.compile(r"\b\d\d:\d\d\b"), _TIMES),
    (re.compile(r"\b\d(?=-star| people| seats| days| train tickets)"), _DIGITS),
    (re.compile(rf"\b(?:{'|'.join(_PRICES)})\b"), _PRICES),
    (re.compile(rf"\b(?:{'|'.join(_AREAS)})\b"), _AREAS),
)


def plant_slot(ground: Ground, random: Random) -> Planted | None:
    """A value that the state holds becomes another of its kind, which it does not hold."""
    state = json.dumps(ground.dialogue.metadata.get(STATE))
    places = [
        (match.span(), [value for value in values if f"= {value} " not in state])
        for form, values in _KINDS
        for match in form.finditer(ground.summary)
        if f"= {match[0]} " in state
    ]
    places = [(place, others) for place, others in places if others]
    if not places:
        return None
    place, others = random.choice(places)
    return ground.planted(place, random.choice(others))


def wrong_slots(ground: Ground) -> list[str] | None:
    """The values of the summary that the state does not hold, None where there is no state."""
    return _wrong(ground, ground.summary)


def detects_slot(ground: Ground, sown: Planted) -> bool:
    """Whether the planted value is seen to be wrong: there is one more than before."""
    return len(_wrong(ground, sown.text) or ()) > len(_wrong(ground, ground.summary) or ())


def _wrong(ground: Ground, summary: str) -> list[str] | None:
    state = state_of(ground.dialogue.metadata)
    return None if state is None else [one.value for one in compare_slots(summary, state).wrong]
