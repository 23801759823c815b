"""How likely a colleague would file a summary without opening the dialogue.

A logistic regression on what the network of sections expects a summary to tell, and what of it the
summary's evidence tells. `dialogist_lab.sections.readiness_training` learns it from the verdicts of
readers (corpus/verdicts).
"""

import json
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialogist.highlights.candidates import leans
from dialogist.highlights.section_network import Matrix, section_chances
from dialogist.language.reading import reading_of
from dialogist.records import Dialogue, EvidenceSpan

BUNDLED_READINESS = Path(__file__).parent.parent / "assets" / "highlights" / "readiness.json"

FEATURES = (
    "told", "precision", "missed", "outcome told", "done told", "decisions told", "actions told",
    "words told", "values told", "short", "leaning", "quoted speakers", "speakers", "words said",
    "issue", "outcome",
)  # fmt: skip
READY = 0.7
"""The chance from which on a summary is called ready."""
_HELD = 0.5  # of the letters of a candidate
_LITTLE = 0.1  # what is expected at least: nothing is divided by less
_UNKNOWN = 0.5
_FEW = 4  # words of a clause that is hardly understood alone
_COUNTED = ("clock", "day", "money", "count", "number")


class Readiness(NamedTuple):
    """The regression: of `FEATURES` mean, deviation and weight, and the ``bias``."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    weights: NDArray[np.float64]
    bias: float

    def chance(self, features: Sequence[float]) -> float:
        """How likely it would be filed, from 0 to 1."""
        standard = (np.array(features) - self.mean) / self.deviation
        return float(1 / (1 + np.exp(-(standard @ self.weights + self.bias))))


@cache
def bundled_readiness() -> Readiness:
    """The one that the package holds."""
    stored = json.loads(BUNDLED_READINESS.read_text(encoding="utf-8"))
    columns = np.array([stored["features"][name] for name in FEATURES]).T
    mean, deviation, weights = columns
    return Readiness(mean, deviation, weights, stored["bias"])


def readiness_features(dialogue: Dialogue, evidence: Sequence[EvidenceSpan]) -> list[float]:
    """`FEATURES` of a summary by all its evidence.

    Raises:
        ValueError: nothing of the dialogue can be told.
    """
    reading, scores = reading_of(dialogue), section_chances(dialogue)
    if not scores.candidates:
        raise ValueError("the dialogue says nothing that can be told")
    quoted = [np.zeros(len(text), bool) for text in reading.texts]
    for span in evidence:
        quoted[span.utterance][span.start : span.end] = True
    letters = [quoted[unit.turn][unit.start : unit.end] for unit in reading.units]
    held = np.array(
        [np.concatenate([letters[i] for i in units]).mean() >= _HELD for units in scores.candidates]
    )
    units = [i for i, marks in enumerate(letters) if marks.mean() >= _HELD]
    known = set(units)
    likely = scores.of("told")
    sections = (scores.of(name) * likely for name in ("outcome", "done", "decisions", "actions"))
    values = [
        {(v.kind, v.value) for v in values if v.kind.startswith(_COUNTED)}
        for values in reading.values
    ]
    return [
        _share(likely, held),
        float(likely[held].mean()) if held.any() else 0.0,
        float((likely * ~held).max()),
        *(_share(chances, held) for chances in sections),
        _part_of([set(terms) for terms in reading.terms], units),
        _part_of(values, units),
        sum(reading.units[i].words < _FEW for i in units) / max(1, len(units)),
        sum(leans(reading, i) for i in units if i - 1 not in known) / max(1, len(units)),
        _part_of([{unit.speaker} for unit in reading.units], units),
        len(dialogue.speakers),
        math.log1p(sum(unit.words for unit in reading.units)),
        *(float((scores.of(name) * held).max()) for name in ("issue", "outcome")),
    ]


def _share(chances: Matrix, held: NDArray[np.bool_]) -> float:
    """The share of what is expected that is held."""
    return float((chances * held).sum() / max(_LITTLE, float(chances.sum())))


def _part_of(things: Sequence[set[Any]], units: Sequence[int]) -> float:
    """The share of what all units have that some have; half where there is nothing to have."""
    every = set().union(*things)
    return len(set().union(*(things[i] for i in units))) / len(every) if every else _UNKNOWN


def ready_chance(dialogue: Dialogue, evidence: Sequence[EvidenceSpan]) -> float | None:
    """How likely a colleague would file what rests on some evidence unread, from 0 to 1.

    None: of others nobody has told.
    """
    is_told = evidence and reading_of(dialogue).is_english
    if not is_told or not section_chances(dialogue).candidates:
        return None
    features = readiness_features(dialogue, evidence)
    return round(bundled_readiness().chance(features), 3)
