"""How well checks find errors: errors planted in references, and how many of them are found."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import NormalDist

from dialogist.data.error_injection import (
    Ground,
    Planted,
    Planter,
    can_swap,
    exchanged,
    names_of,
    plant_denial,
    plant_entity,
    plant_name,
    plant_number,
    plant_swap,
    rewritten,
)
from dialogist.metrics.faithfulness import FindingKind, check_summary
from dialogist.metrics.slots import STATE, compare_slots, state_of
from dialogist.records import Dialogue

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

_TAG = re.compile(r"#Person\d+#")
_REMOVALS = (
    (re.compile(r"\b(is|are|was|were|will|should|could|would|must|has|have) not\b"), r"\1"),
    (re.compile(r"\b(is|are|was|were|should|could|would|has|have)n['’]t\b"), r"\1"),
    (re.compile(r"\bcan(?:['’]t|not)\b"), "can"),
    (re.compile(r"\bwon['’]t\b"), "will"),
    (re.compile(r"\bdoes(?:n['’]t| not) (\w+)"), r"\1s"),
    (re.compile(r"\b(?:do|did)(?:n['’]t| not) "), ""),
)


def plant_speaker(ground: Ground, random: Random) -> Planted | None:
    """A tag becomes one that nobody has."""
    places = [m.span() for m in _TAG.finditer(ground.summary)]
    tags = [f"#Person{i}#" for i in range(1, len(ground.dialogue.speakers) + 3)]
    free = [tag for tag in tags if tag not in ground.said]
    return ground.planted(random.choice(places), random.choice(free)) if places else None


def plant_swaps(ground: Ground, random: Random) -> Planted | None:
    """Two speakers change places in the whole summary."""
    whole = (0, len(ground.summary))
    return exchanged(ground, whole, random) if can_swap(ground, ground.summary) else None


def plant_assertion(ground: Ground, random: Random) -> Planted | None:
    """What the summary denies is asserted."""
    return rewritten(ground, _REMOVALS, random, lonely=False)


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


@dataclass(frozen=True, slots=True)
class Probe:
    """How one kind of error is planted and looked for.

    ``alarms``: the findings in an untouched summary, None where the pair cannot be read.
    ``detects``: whether the planted error is found.
    """

    plant: Planter
    alarms: Callable[[Ground], Sequence[str] | None]
    detects: Callable[[Ground, Planted], bool]


def _alarms(kind: FindingKind, ground: Ground) -> Sequence[str] | None:
    found = check_summary(ground.summary, ground.dialogue, (kind,)).get(kind)
    return None if found is None else [one.text for one in found.findings]


def _detects(kind: FindingKind, ground: Ground, sown: Planted) -> bool:
    found = check_summary(sown.text, ground.dialogue, (kind,)).get(kind)
    findings = found.findings if found else ()
    return any(one.start < sown.end and sown.start < one.end for one in findings)


def _probe(kind: FindingKind, plant: Planter) -> Probe:
    return Probe(plant, partial(_alarms, kind), partial(_detects, kind))


ERRORS: Mapping[str, Probe] = {
    "name of another dialogue": _probe("name", plant_name),
    "tag that nobody has": _probe("speaker", plant_speaker),
    "number changed": _probe("number", plant_number),
    "entity changed": _probe("entity", plant_entity),
    "roles swapped in a sentence": _probe("swap", plant_swap),
    "roles swapped throughout": _probe("swap", plant_swaps),
    "denial added": _probe("negation", plant_denial),
    "denial lost": _probe("lost_negation", plant_assertion),
    "slot value changed": Probe(plant_slot, wrong_slots, detects_slot),
}
"""What is planted."""

_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class DetectedShare:
    """``count`` of ``total``, with its 95% interval by Wilson (1927)."""

    count: int
    total: int

    @property
    def percent(self) -> float:
        """0-100, NaN of nothing."""
        return 100 * self.count / self.total if self.total else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Low and high, in percent: holds the share behind the sample in 95 of 100 samples."""
        if not self.total:
            return 0.0, 100.0
        n, p = self.total, self.count / self.total
        middle, half = p + _Z**2 / (2 * n), _Z * (p * (1 - p) / n + _Z**2 / (4 * n * n)) ** 0.5
        low, high = ((middle + sign * half) / (1 + _Z**2 / n) for sign in (-1, 1))
        return 100 * max(0.0, round(low, 9)), 100 * min(1.0, round(high, 9))


@dataclass(frozen=True, slots=True)
class PlantedCase:
    """A planted error that was missed, or a false alarm: ``text`` of ``summary``."""

    id: str
    summary: str
    text: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One kind of error on one corpus, and the cases behind its shares."""

    error: str
    detected: DetectedShare
    false_alarms: DetectedShare
    missed: tuple[PlantedCase, ...]
    alarms: tuple[PlantedCase, ...]


def trials(
    dialogues: Sequence[Dialogue], seed: int, errors: Iterable[str] = tuple(ERRORS)
) -> list[Trial]:
    """Plants each kind of error into every human summary that has a place for it.

    What is drawn for a summary depends on the seed, the kind and its place in the corpus alone.
    """
    names = names_of(dialogues)
    grounds = [Ground(text, one, names) for one in dialogues for text in one.references]
    return [_trial(grounds, error, seed) for error in errors]


def _trial(grounds: Sequence[Ground], error: str, seed: int) -> Trial:
    probe = ERRORS[error]
    planted = read = 0
    missed: list[PlantedCase] = []
    alarms: list[PlantedCase] = []
    for i, ground in enumerate(grounds):
        found = probe.alarms(ground)
        if found is None:
            continue
        read += 1
        if found:
            alarms.append(PlantedCase(ground.dialogue.id, ground.summary, found[0]))
        sown = probe.plant(ground, Random(f"{seed}/{error}/{i}"))
        if sown is not None:
            planted += 1
            if not probe.detects(ground, sown):
                place = sown.text[sown.start : sown.end]
                missed.append(PlantedCase(ground.dialogue.id, sown.text, place))
    detected, false = (
        DetectedShare(planted - len(missed), planted),
        DetectedShare(len(alarms), read),
    )
    return Trial(error, detected, false, tuple(missed), tuple(alarms))
