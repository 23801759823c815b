"""`find_evidence`: for each statement of a summary the utterances it rests on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialogist.engine.evidence.features import (
    FeatureColumn,
    FeatureMatrix,
    SentenceFeatures,
    expected_of,
    extract_features,
    tell_attention,
)
from dialogist.engine.evidence.index import Index, index_of, span_of
from dialogist.records import Dialogue, EvidenceSpan
from dialogist.text.tokens import split_sentences


class FeatureWeights(NamedTuple):
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


_ALONE = FeatureWeights(
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
_WITH_ATTENTION = FeatureWeights(
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

LEAST_SCORE = 0.2
"""A sentence's best utterance is evidence from this chance on."""
FURTHER = 0.5
"""And each further one from this."""


DIGITS = 3
"""Digits kept of chances and shares; more would tell of a batch's neighbours."""


def find_evidence(
    dialogue: Dialogue,
    statements: Sequence[str],
    attended: Sequence[NDArray[np.floating]] | None = None,
    limit: int = 3,
) -> list[tuple[EvidenceSpan, ...]]:
    """For each statement at most ``limit`` spans of utterances that support it, best first.

    ``attended[i]``: (U,) the share of the model's attention and copying that fell on each utterance
    while it wrote statement ``i`` (`dialogist.engine.attended`). Scores are chances that the
    utterance is true support, as far as measured (docs/explanation/evidence.md). A statement that
    shares nothing with the dialogue has no evidence, unless attention is clear.
    """
    index = index_of(dialogue)
    seen = None if attended is None else _matrix(attended, len(index))
    return [
        _best(_candidates(text, index, seen, number), index, limit)
        for number, text in enumerate(statements)
    ]


def _matrix(attended: Sequence[NDArray[np.floating]], utterances: int) -> FeatureMatrix:
    """(N, U); a row without any attention stays zero."""
    matrix = np.zeros((len(attended), utterances))
    for row, one in zip(matrix, attended, strict=True):
        row[: len(one)] = one[:utterances]
    return matrix


_Candidate = tuple[float, int, SentenceFeatures]


def _candidates(
    text: str, index: Index, seen: FeatureMatrix | None, number: int
) -> list[list[_Candidate]]:
    """Of each sentence of a statement the utterances that may support it, best first."""
    found = []
    for sentence in split_sentences(text) if len(index) else ():
        told = extract_features(sentence, index)
        if told is None:
            continue
        scores = scores_of(told, index, seen, number)
        order = np.argsort(-scores, kind="stable").tolist()
        found.append([(float(scores[i]), i, told) for i in order if scores[i] > 0])
    return found


def scores_of(
    told: SentenceFeatures, index: Index, seen: FeatureMatrix | None, number: int
) -> FeatureColumn:
    """(U,) the chance that each utterance supports the sentence; 0 where nothing speaks for it."""
    features, weights = told.features, WORDS
    possible = told.possible
    if seen is not None and seen[number].any():
        lift = tell_attention(seen[number], expected_of(seen, number, index))
        features, weights = np.concatenate([features, lift], axis=1), BOTH
        possible |= seen[number] > 0
    scores = 1 / (1 + np.exp(-features @ weights))
    return np.where(possible & (index.lengths > 0), scores, 0.0)


def _best(candidates: list[list[_Candidate]], index: Index, limit: int) -> tuple[EvidenceSpan, ...]:
    """The best of every sentence first, then what else is likely enough."""
    firsts = [own[0] for own in candidates if own and own[0][0] >= _least(own[0])]
    others = [one for own in candidates for one in own[1:] if one[0] >= FURTHER]
    chosen: dict[int, _Candidate] = {}
    for group in (firsts, others):
        for one in sorted(group, key=lambda one: -one[0]):
            if len(chosen) < limit or one[1] in chosen:
                best = chosen.get(one[1])
                chosen[one[1]] = one if best is None or one[0] > best[0] else best
    return tuple(
        _span(one, index) for one in sorted(chosen.values(), key=lambda one: (-one[0], one[1]))
    )


def _least(candidate: _Candidate) -> float:
    """What a sentence's best utterance must have; attention alone has to be clearer than words."""
    _, number, told = candidate
    return LEAST_SCORE if told.possible[number] else FURTHER


def _span(candidate: _Candidate, index: Index) -> EvidenceSpan:
    score, number, told = candidate
    text = index.dialogue.utterances[number].text
    start, end = span_of(text, told.spans.get(number, ()))
    return EvidenceSpan(number, start, end, round(score, DIGITS))
