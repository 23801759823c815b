"""Choosing the weights of evidence: logistic regressions on cases whose evidence is known."""

from collections.abc import Mapping, Sequence

import numpy as np
from evidence_cases import Case
from evidence_model import Spoken
from numpy.typing import NDArray

from dialogist.checks.evidence import (
    ATTENTION,
    FEATURES,
    expected_of,
    extract_features,
    tell_attention,
)
from dialogist.checks.evidence_index import index_of

Array = NDArray[np.float64]
SHARES = {
    "human summary": 0.25,
    "planted": 0.25,
    "planted, Chinese": 0.1,
    "slots": 0.2,
    "other dialogue": 0.2,
}
"""What part each group of cases has in the sum, however many they are."""
ROUND = 2  # digits


def fit(features: Array, labels: Array, worths: Array, ridge: float = 3.0) -> Array:
    """(N, F), (N,) 0 or 1, (N,) -> the likeliest weights (F,) of a logistic regression.

    Newton's method. ``ridge``: L2 penalty on all weights but the first, the bias.
    """
    weights = np.zeros(features.shape[1])
    penalty = np.full(len(weights), ridge)
    penalty[0] = 1e-6
    for _ in range(30):
        chances = 1 / (1 + np.exp(-features @ weights))
        gradient = features.T @ (worths * (chances - labels)) + penalty * weights
        curvature = worths * chances * (1 - chances)
        hessian = features.T @ (features * curvature[:, None]) + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def of_words(groups: Mapping[str, Sequence[Case]]) -> Array:
    """The weights of `FEATURES`."""
    rows, labels, worths = [], [], []
    for name, cases in groups.items():
        for case in cases:
            told = extract_features(case.statements[case.asked], index_of(case.dialogue))
            if told is None:
                continue
            kept = told.possible
            rows.append(told.features[kept])
            labels.append(_labels(case)[kept])
            worths.append(np.full(kept.sum(), 1000 * SHARES[name] / len(cases)))
    found = [np.concatenate(part) for part in (rows, labels, worths)]
    return fit(*found).round(ROUND)


def of_both(groups: Mapping[str, Sequence[tuple[Case, Spoken]]]) -> Array:
    """The weights of `FEATURES` and `ATTENTION`."""
    rows, labels, worths = [], [], []
    for name, pairs in groups.items():
        for case, spoken in pairs:
            index, seen = index_of(case.dialogue), np.stack(spoken.attended).astype(np.float64)
            told = extract_features(case.statements[case.asked], index)
            if told is None:
                continue
            lift = tell_attention(seen[case.asked], expected_of(seen, case.asked, index))
            rows.append(np.concatenate([told.features, lift], axis=1))
            labels.append(_labels(case))
            worths.append(np.full(len(index), 1000 * SHARES[name] / len(pairs)))
    return fit(*(np.concatenate(part) for part in (rows, labels, worths))).round(ROUND)


def _labels(case: Case) -> Array:
    return np.array([i in case.right for i in range(len(case.dialogue.utterances))], dtype=float)


def listed(words: Array, both: Array) -> str:
    """The weights as they stand in the module."""
    names = (*FEATURES, *ATTENTION)
    lines = [f"    {value},  # {name}" for name, value in zip(FEATURES, words, strict=True)]
    more = [f"    {value},  # {name}" for name, value in zip(names, both, strict=True)]
    return "\n".join(("WORDS", *lines, "BOTH", *more))
