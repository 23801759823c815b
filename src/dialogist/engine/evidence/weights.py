"""What features are worth: log-odds, chosen by ``bench/evidence.py --fit`` (docs/evidence.md)."""

from typing import NamedTuple

import numpy as np


class Weights(NamedTuple):
    """Of each of `dialogist.engine.evidence.features.FEATURES`, in their order."""

    bias: float
    words: float
    words_to_best: float
    words_less_other: float
    others: float
    asked: float
    facts: float
    facts_elsewhere: float
    facts_nowhere: float
    number: float
    density: float
    answers: float
    denial: float
    its_speaker: float
    length: float


_ALONE = Weights(
    bias=1.71,
    words=1.78,
    words_to_best=0.14,
    words_less_other=1.48,
    others=-2.21,
    asked=0.4,
    facts=1.42,
    facts_elsewhere=-0.86,
    facts_nowhere=-0.99,
    number=1.49,
    density=0.5,
    answers=2.02,
    denial=0.34,
    its_speaker=0.8,
    length=-1.23,
)
_WITH_ATTENTION = Weights(
    bias=-1.5,
    words=1.38,
    words_to_best=0.82,
    words_less_other=0.7,
    others=-1.9,
    asked=0.18,
    facts=1.46,
    facts_elsewhere=-0.53,
    facts_nowhere=-1.98,
    number=2.36,
    density=0.93,
    answers=3.04,
    denial=0.74,
    its_speaker=0.88,
    length=-0.84,
)
_ATTENTION = (0.1, 1.21)

WORDS = np.array(_ALONE)
BOTH = np.array((*_WITH_ATTENTION, *_ATTENTION))

LEAST = 0.2
"""A sentence's best utterance is evidence from this chance on."""
FURTHER = 0.5
"""And each further one from this."""
