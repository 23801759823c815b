"""Statements get the utterances they rest on, and how sure the model was of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dialogist.engine.bundle import Bundle
from dialogist.engine.compose import Composed, SummarySentence
from dialogist.engine.drafts import SearchedWindow
from dialogist.engine.evidence import DIGITS, find_evidence
from dialogist.engine.token_offsets import ends_of, reader, token_ranges
from dialogist.records import Dialogue, EvidenceSpan, Statement, Summary


@dataclass(frozen=True, slots=True)
class _Sentence:
    """Where the model looked for one sentence, (U,), and its tokens' log-probabilities."""

    looked: NDArray[np.float32]
    log_probs: NDArray[np.float32]


def with_evidence(
    bundle: Bundle, dialogue: Dialogue, written: Sequence[SearchedWindow], composed: Composed
) -> Summary:
    """A summary with evidence and confidence, from what was written of each window."""
    sentences = [
        _sentence(bundle, written[said.window], said, len(dialogue.utterances))
        for said in composed.said
    ]
    return _supported(dialogue, composed.summary, sentences)


def _sentence(
    bundle: Bundle, window: SearchedWindow, said: SummarySentence, utterances: int
) -> _Sentence:
    looks = window.looks
    assert looks is not None  # they were asked for
    part = window.drafts[0].parts[said.part]
    ends = ends_of(part.tokens, reader(bundle, window.example, window.encoded))
    [span] = token_ranges(ends, [(said.start, said.end)])
    log_probs = looks.parts[said.part].log_probs[slice(*span)]
    return _Sentence(looks.mean(said.part, span, utterances), log_probs)


def _supported(dialogue: Dialogue, summary: Summary, told: Sequence[_Sentence]) -> Summary:
    texts = [sentence.text for sentence in summary.sentences]
    evidence = find_evidence(dialogue, texts, [sentence.looked for sentence in told])
    sentences = tuple(
        replace(sentence, evidence=spans, confidence=_confidence([own]))
        for sentence, spans, own in zip(summary.sentences, evidence, told, strict=True)
    )
    key_points = tuple(_key_point(point, sentences, told) for point in summary.key_points)
    use = _use(evidence, len(dialogue.utterances))
    coverage = replace(summary.coverage, use=use)
    return replace(summary, sentences=sentences, key_points=key_points, coverage=coverage)


def _key_point(
    point: Statement, sentences: Sequence[Statement], told: Sequence[_Sentence]
) -> Statement:
    inside = [i for i, one in enumerate(sentences) if point.start <= one.start < point.end]
    spans = _best(span for i in inside for span in sentences[i].evidence)
    return replace(point, evidence=spans, confidence=_confidence([told[i] for i in inside]))


def _confidence(told: Sequence[_Sentence]) -> float | None:
    """The geometric mean of the tokens' probabilities; None without any."""
    log_probs = np.concatenate([one.log_probs for one in told]) if told else np.zeros(0)
    return round(float(np.exp(log_probs.mean())), DIGITS) if len(log_probs) else None


def _best(spans: Iterable[EvidenceSpan]) -> tuple[EvidenceSpan, ...]:
    """Each place once, with its highest score, the best first."""
    best: dict[tuple[int, int, int], EvidenceSpan] = {}
    for span in sorted(spans, key=lambda s: (-s.score, s.utterance, s.start)):
        best.setdefault((span.utterance, span.start, span.end), span)
    return tuple(best.values())


def _use(evidence: Sequence[Sequence[EvidenceSpan]], utterances: int) -> tuple[float, ...]:
    """Each utterance's share of all scores."""
    scores = np.zeros(utterances)
    for spans in evidence:
        for span in spans:
            scores[span.utterance] += span.score
    total = scores.sum()
    return tuple((scores / total).round(DIGITS).tolist()) if total > 0 else ()
