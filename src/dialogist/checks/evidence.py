"""Evidence: for each statement of a summary the utterances it rests on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.checks.evidence_index import (
    FACTS,
    Index,
    TermSpan,
    denies,
    index_of,
    span_of,
    with_aliases,
)
from dialogist.records import Dialogue, EvidenceSpan
from dialogist.language.tokens import split_sentences

# Features: what speaks for and against each utterance as support of one sentence.


FEATURES = {
    "bias": (1.71, -1.38),
    "words": (1.78, 1.23),  # share of the sentence's terms, by rarity, that the utterance holds
    "words / best": (0.14, 0.62),  # to the best utterance's share
    "words - other": (1.48, 0.57),  # to the best other one's
    "others'": (-2.21, -1.81),  # share of terms that are said of another than its speaker
    "asked": (0.4, 0.16),  # share of terms that its speaker "asks", where it asks
    "facts": (1.42, 1.39),  # share of names, numbers, entities that it holds
    "facts elsewhere": (-0.86, -0.51),  # share that only others hold
    "facts nowhere": (-0.99, -2.01),  # share that nobody holds
    "number": (1.49, 2.42),  # log of 1 + that of terms found
    "density": (0.5, 0.88),  # terms found to terms said
    "answers": (2.02, 3.07),  # share of terms in the question of another right before it
    "denial": (0.34, 0.71),  # both deny something
    "its speaker": (0.8, 0.89),  # the sentence is about whom it is by
    "length": (-1.23, -0.87),  # log of 1 + the dialogue's utterances, at most `_LONG`
}
"""What each weighs without attention, and beside it; fitted by bench/evidence_fit.py."""
ANSWERS = [*FEATURES].index("answers")
ATTENTION = {
    "attention": 0.27,  # log of attention to what other statements, or length, let expect
    "attention / best": 1.12,  # to the utterance with most of it
}
_LONG = 60

FeatureColumn: TypeAlias = NDArray[np.float64]
FeatureMatrix: TypeAlias = NDArray[np.float64]
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class SentenceFeatures:
    """What is known of U utterances: features (U, F), and where each says what the sentence does.

    ``words``: (U,) the share of terms. ``spans``: place and worth of each term found.
    """

    features: FeatureMatrix
    words: FeatureColumn
    spans: dict[int, list[tuple[TermSpan, float]]]

    @property
    def possible(self) -> NDArray[np.bool_]:
        """(U,) whether an utterance shares a word, or answers one that does."""
        found: NDArray[np.bool_] = (self.words > 0) | (self.features[:, ANSWERS] > 0)
        return found


class Terms:
    """The terms of a sentence beside the dialogue's: worth, kind, of whom, and where found."""

    def __init__(self, sentence: str, index: Index) -> None:
        stretches, terms = index.voices.of(sentence), index.terms_of(sentence)
        self.subjects = {voice.subject for voice in stretches}
        self.found = [index.found(with_aliases(term)) for term in terms]
        self.worth = np.array([index.rarity(len(f)) for f in self.found], dtype=np.float64)
        self.fact = np.array([term.kind in FACTS for term in terms], dtype=bool)
        own = [next((v for v in stretches if v.start <= t.start < v.end), None) for t in terms]
        self.of = np.array([-1 if v is None else v.subject for v in own], dtype=np.int64)
        self.asks = np.array([v is not None and v.kind == "ask" for v in own], dtype=bool)
        self.held = np.zeros((len(terms), len(index)), dtype=bool)
        for row, found in enumerate(self.found):
            self.held[row, list(found)] = True

    def share(self, held: NDArray[np.bool_]) -> FeatureColumn:
        """(terms, U) -> (U,) by worth."""
        total = self.worth.sum()
        return self.worth @ held / total if total else np.zeros(held.shape[1])


def extract_features(sentence: str, index: Index) -> SentenceFeatures | None:
    """All but the model's attention; None of a sentence without any term, such as a bare name."""
    terms = Terms(sentence, index)
    if not len(terms.worth):
        return None
    words = terms.share(terms.held)
    own = terms.of[:, None] == index.speakers
    other = (terms.of[:, None] >= 0) & ~own & (index.speakers >= 0)
    asked = terms.held & own & terms.asks[:, None] & index.questions
    count, size = terms.held.sum(axis=0), len(index)
    columns = (
        np.ones(size),
        words,
        words / max(words.max(initial=0), _NOTHING),
        words - _best_other(words),
        terms.share(terms.held & other),
        terms.share(asked),
        *_facts(terms),
        np.log1p(count),
        count / np.maximum(1, index.sizes),
        _answers(words, index),
        np.asarray(index.denials & denies(sentence, plainly=True), dtype=np.float64),
        np.array([speaker in terms.subjects for speaker in index.voices.spoken], dtype=np.float64),
        np.full(size, np.log1p(min(size, _LONG))),
    )
    return SentenceFeatures(np.stack(columns, axis=1), words, _spans(terms))


def _facts(terms: Terms) -> tuple[FeatureColumn, FeatureColumn, FeatureColumn]:
    """(U,) shares of the facts that each holds, that only others hold, and that nobody does."""
    worth = terms.worth * terms.fact
    total = max(worth.sum(), _NOTHING)
    here = worth @ terms.held / total
    anywhere = worth @ terms.held.any(axis=1) / total
    nowhere = worth.sum() / total - anywhere
    return here, anywhere - here, np.full(len(here), nowhere)


def _best_other(values: FeatureColumn) -> FeatureColumn:
    """(U,) the largest of all others."""
    if len(values) < 2:
        return np.zeros(len(values))
    second, first = np.sort(values)[-2:]
    others: FeatureColumn = np.where(values == first, second, first)
    return others


def _answers(words: FeatureColumn, index: Index) -> FeatureColumn:
    """(U,) words of the question of another speaker right before."""
    found = np.zeros(len(words))
    changes = index.speakers[1:] != index.speakers[:-1]
    found[1:] = words[:-1] * (changes & index.questions[:-1])
    return found


def _spans(terms: Terms) -> dict[int, list[tuple[TermSpan, float]]]:
    spans: dict[int, list[tuple[TermSpan, float]]] = {}
    for found, worth in zip(terms.found, terms.worth, strict=True):
        for number, places in found.items():
            spans.setdefault(number, []).extend((place, float(worth)) for place in places)
    return spans


def tell_attention(own: FeatureColumn, expected: FeatureColumn) -> FeatureMatrix:
    """(U, 2) what attention adds; ``expected`` (U,) is what it would be for any statement."""
    lift = np.log((own + _LITTLE) / (expected + _LITTLE))
    best = own / max(own.max(initial=0), _NOTHING)
    return np.stack([np.clip(lift, -_MOST, _MOST), best], axis=1)


_LITTLE, _MOST = 1e-3, 3.0


def expected_of(attended: FeatureMatrix, number: int, index: Index) -> FeatureColumn:
    """(U,) what attention is to be expected: the mean of other statements', else by lengths.

    ``attended`` (N, U): one row for each statement; 0 where its window did not reach.
    """
    own, others = attended[number], np.delete(attended, number, axis=0)
    counts = (others > 0).sum(axis=0)
    by_length = own.sum() * index.lengths / max(index.lengths.sum(), 1.0)
    expected: FeatureColumn = np.where(
        counts, others.sum(axis=0) / np.maximum(1, counts), by_length
    )
    return expected


# Weights, and from which chance on an utterance is evidence.


WORDS, _BESIDE = map(np.array, zip(*FEATURES.values(), strict=True))
BOTH = np.array((*_BESIDE, *ATTENTION.values()))

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
    while it wrote statement ``i`` (`AttentionTrace`). Scores are chances that the utterance is
    true support, as far as measured (docs/explanation/evidence.md). A statement that
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
