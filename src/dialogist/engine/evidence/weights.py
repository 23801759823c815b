"""What features are worth: log-odds, chosen by ``bench/evidence.py --fit`` (docs/notes)."""

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
    bias=-1.38,
    words=1.23,
    words_to_best=0.62,
    words_less_other=0.57,
    others=-1.81,
    asked=0.16,
    facts=1.39,
    facts_elsewhere=-0.51,
    facts_nowhere=-2.01,
    number=2.42,
    density=0.88,
    answers=3.07,
    denial=0.71,
    its_speaker=0.89,
    length=-0.87,
)
_ATTENTION = (0.27, 1.12)

WORDS = np.array(_ALONE)
BOTH = np.array((*_WITH_ATTENTION, *_ATTENTION))

LEAST = 0.2
"""A sentence's best utterance is evidence from this chance on."""
FURTHER = 0.5
"""And each further one from this."""
