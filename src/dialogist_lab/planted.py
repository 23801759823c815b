"""How far the checks of faithfulness can be believed: planted errors found, and false alarms.

Into human summaries one error of a kind is planted; a finding of that kind at its place is a
detection. Any finding of the kind in an untouched human summary counts as a false alarm, though
some of them are slips of the people who wrote it: the rates say what a system can be blamed for at
most by mistake.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from statistics import NormalDist

from dialogist.data.planting import (
    Ground,
    Planted,
    Planter,
    names_of,
    plant_entity,
    plant_name,
    plant_number,
    plant_speaker,
)
from dialogist.data.planting_roles import (
    plant_assertion,
    plant_denial,
    plant_swap,
    plant_swaps,
)
from dialogist.metrics.faithfulness import FindingKind, check_summary
from dialogist.records import Dialogue
from dialogist_lab.planting_slots import detects_slot, plant_slot, wrong_slots


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
class Share:
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
class Case:
    """A planted error that was missed, or a false alarm: ``text`` of ``summary``."""

    id: str
    summary: str
    text: str


@dataclass(frozen=True, slots=True)
class Trial:
    """One kind of error on one corpus, and the cases behind its shares."""

    error: str
    detected: Share
    false_alarms: Share
    missed: tuple[Case, ...]
    alarms: tuple[Case, ...]


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
    missed: list[Case] = []
    alarms: list[Case] = []
    for i, ground in enumerate(grounds):
        found = probe.alarms(ground)
        if found is None:
            continue
        read += 1
        if found:
            alarms.append(Case(ground.dialogue.id, ground.summary, found[0]))
        sown = probe.plant(ground, Random(f"{seed}/{error}/{i}"))
        if sown is not None:
            planted += 1
            if not probe.detects(ground, sown):
                place = sown.text[sown.start : sown.end]
                missed.append(Case(ground.dialogue.id, sown.text, place))
    detected, false = Share(planted - len(missed), planted), Share(len(alarms), read)
    return Trial(error, detected, false, tuple(missed), tuple(alarms))
