"""How often spans are right, beside what pure chance and simple habits would give."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from evidence_cases import Case
from evidence_model import Spoken
from numpy.typing import NDArray

from dialogist.checks.evidence import expected_of, find_evidence
from dialogist.checks.evidence_index import index_of
from dialogist.records import EvidenceSpan

Pair = tuple[Case, Spoken | None]
"""A case, and what the model attended to while it said the statements, if it did."""
Finder = Callable[[Pair], tuple[EvidenceSpan, ...]]


def by_words(pair: Pair) -> tuple[EvidenceSpan, ...]:
    """The text alone."""
    case = pair[0]
    return find_evidence(case.dialogue, [case.statements[case.asked]])[0]


def by_both(pair: Pair) -> tuple[EvidenceSpan, ...]:
    """Text and attention."""
    case, spoken = pair
    assert spoken is not None
    return find_evidence(case.dialogue, case.statements, spoken.attended)[case.asked]


def by_attention(pair: Pair) -> tuple[EvidenceSpan, ...]:
    """The utterance with most attention; nothing else is known."""
    return _most(pair, np.ones(len(pair[0].dialogue.utterances)))


def by_attention_to_length(pair: Pair) -> tuple[EvidenceSpan, ...]:
    """The utterance with most attention per character."""
    return _most(pair, np.array([1.0 + len(u.text) for u in pair[0].dialogue.utterances]))


def by_attention_to_others(pair: Pair) -> tuple[EvidenceSpan, ...]:
    """The utterance with most attention beside that of the other statements."""
    case, spoken = pair
    assert spoken is not None
    seen = np.stack(spoken.attended).astype(np.float64)
    return _most(pair, 1e-3 + expected_of(seen, case.asked, index_of(case.dialogue)))


def _most(pair: Pair, expected: NDArray[np.float64]) -> tuple[EvidenceSpan, ...]:
    case, spoken = pair
    assert spoken is not None
    best = int((spoken.attended[case.asked] / expected).argmax())
    return (EvidenceSpan(best, 0, len(case.dialogue.utterances[best].text), 0.5),)


def random_floor(case: Case) -> float:
    """How often an utterance drawn by chance is right."""
    return len(case.right) / len(case.dialogue.utterances)


def first_floor(case: Case) -> float:
    """Whether the first utterance is right."""
    return float(0 in case.right)


def longest_floor(case: Case) -> float:
    """Whether the longest utterance is right."""
    lengths = [len(utterance.text) for utterance in case.dialogue.utterances]
    return float(lengths.index(max(lengths)) in case.right)


@dataclass(frozen=True)
class Row:
    """Shares in percent, of ``cases``.

    ``first``: the first span is in a right utterance (none is wrong). ``precision``: of all spans.
    ``recall``: of what is needed. ``spans``: per statement. ``holds``: first spans in a right
    utterance that hold the planted value. ``part``: of its utterance's characters that a first
    span is.
    """

    cases: int
    first: float
    precision: float
    recall: float
    spans: float
    holds: float | None
    part: float
    floors: tuple[float, float, float]


def row_of(pairs: Sequence[Pair], finder: Finder) -> Row:
    """Measure one group of cases."""
    found = [(pair[0], finder(pair)) for pair in pairs]
    hits = [[span.utterance in case.right for span in spans] for case, spans in found]
    needed = [
        any(span.utterance in group for span in spans)
        for case, spans in found
        for group in case.needed
    ]
    cases = [case for case, _ in found]
    values = list(_values(found))
    floors = (random_floor, first_floor, longest_floor)
    return Row(
        len(found),
        _percent([any(own[:1]) for own in hits]),
        _percent([hit for own in hits for hit in own]),
        _percent(needed),
        fmean(map(len, hits)),
        _percent(values) if values else None,
        _percent([_part(case, spans[0]) for case, spans in found if spans]),
        tuple(_percent([floor(case) for case in cases]) for floor in floors),  # type: ignore[arg-type]
    )


def _part(case: Case, span: EvidenceSpan) -> float:
    return (span.end - span.start) / len(case.dialogue.utterances[span.utterance].text)


def _values(found: Sequence[tuple[Case, tuple[EvidenceSpan, ...]]]) -> Iterator[bool]:
    for case, spans in found:
        if case.sown is None or not case.sown.value or not spans:
            continue
        span = spans[0]
        text = case.dialogue.utterances[span.utterance].text
        if span.utterance in case.right and case.sown.value in text:
            yield case.sown.value in text[span.start : span.end]


def _percent(values: Sequence[float]) -> float:
    return 100 * fmean(values) if values else float("nan")


EDGES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def calibration(pairs: Sequence[Pair], finder: Finder) -> list[tuple[float, float, int]]:
    """For each tenth of scores: their mean, the share of spans that are right, and how many."""
    scores, hits = [], []
    for pair in pairs:
        for span in finder(pair):
            scores.append(span.score)
            hits.append(span.utterance in pair[0].right)
    places = np.digitize(scores, EDGES[1:-1])
    rows = []
    for place in range(len(EDGES) - 1):
        inside = [i for i in range(len(scores)) if places[i] == place]
        if inside:
            rows.append(
                (fmean(scores[i] for i in inside), fmean(hits[i] for i in inside), len(inside))
            )
    return rows


def error_of(rows: Sequence[tuple[float, float, int]]) -> float:
    """The expected calibration error: the mean distance of score and share, by spans."""
    total = sum(count for *_, count in rows)
    return sum(count * abs(score - share) for score, share, count in rows) / max(1, total)
