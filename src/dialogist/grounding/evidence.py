"""Evidence: the utterances that a statement rests on, found by the rare words that they share."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from dialogist.language.quantities import may_hold, quantities
from dialogist.language.tokens import FUNCTION_WORDS, folded, sentence_spans, stem_of, tokens_of
from dialogist.records import Dialogue, EvidenceSpan

# Shares of a sentence's terms, by their rarity in the dialogue.
_LEAST = 0.12  # a line with less is no evidence
_FURTHER = 0.2  # a further line adds at least so much that no line before it holds
_MOST = 3  # lines of a sentence
_NEAR = 3  # lines between a question and its answer
_FAR_MORE = 0.35  # of a statement that a line holds, where its writer cites others that hold none
_SPEAKER = 0.5  # more for a line whose speaker the sentence names
_ANSWER = 0.5  # of what the question before it holds, for the answer of another speaker
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff]+")


def evidence_terms(text: str) -> set[str]:
    """What a text says that another can share: stems, values of numbers, pairs of characters."""
    terms = {f"{value:g}" for number in _numbers(text) for value in number}
    for token in tokens_of(text):
        base = folded(token.base)
        if base not in FUNCTION_WORDS and any(map(str.isalnum, base)):
            terms.add(stem_of(base))
    for run in _CJK.findall(text):  # languages without spaces
        terms.update(run[i : i + 2] for i in range(len(run) - 1))
    return terms


def _numbers(text: str) -> Iterator[frozenset[float]]:
    if may_hold(text):
        yield from (number.values for number in quantities(text))


@dataclass(frozen=True)
class Lines:
    """The utterances of a dialogue as places where statements are looked for."""

    dialogue: Dialogue

    @cached_property
    def sentences(self) -> list[list[tuple[int, int, set[str]]]]:
        """Of each utterance its sentences: start, end, terms."""
        return [
            [
                (start, end, evidence_terms(u.text[start:end]))
                for start, end in sentence_spans(u.text)
            ]
            for u in self.dialogue.utterances
        ]

    @cached_property
    def terms(self) -> list[set[str]]:
        """Of each utterance its terms."""
        return [set().union(*(terms for _, _, terms in each)) for each in self.sentences]

    @cached_property
    def speakers(self) -> list[set[str]]:
        """Of each utterance the terms of its speaker's name and role."""
        return [evidence_terms(f"{u.speaker} {u.role}") for u in self.dialogue.utterances]

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(term for terms in self.terms for term in terms)

    def rarity(self, term: str) -> float:
        """How much it tells that an utterance has a term."""
        return math.log((len(self.terms) + 1) / (self._counts[term] + 0.5))


def find_evidence(
    dialogue: Dialogue, text: str, lines: Collection[int] = ()
) -> tuple[EvidenceSpan, ...]:
    """The spans of at most three utterances a sentence that a statement rests on, best first.

    ``lines``: the numbers of those that its writer cites. They are the evidence, unless another
    line holds much of the statement and they hold nothing of it and stand nowhere near that line.
    A score is the share of the sentence's terms, weighted by rarity, that the utterance holds, and
    more where its speaker is named; 1 at most. A statement that shares nothing with the dialogue
    has no evidence.
    """
    index = dialogue.cache.get("lines")
    if not isinstance(index, Lines):
        index = dialogue.cache["lines"] = Lines(dialogue)
    cited = [n for n in dict.fromkeys(lines) if 0 <= n < len(dialogue.utterances)]
    spans: dict[int, EvidenceSpan] = {}
    if cited:
        holds = find_evidence(dialogue, text)
        held = [span for span in holds if span.utterance in cited]
        near = [n for n in cited if any(abs(n - span.utterance) <= _NEAR for span in holds)]
        if holds and not held and holds[0].score >= _FAR_MORE and not near:
            return holds
        if holds and held and near:
            cited = near
    for start, end in sentence_spans(text):
        terms = evidence_terms(text[start:end])
        for span in _of_sentence(index, terms, cited):
            if span.utterance not in spans or spans[span.utterance].score < span.score:
                spans[span.utterance] = span
    for number in cited:
        if number not in spans and dialogue.utterances[number].text.strip():
            spans[number] = _span(index, number, set(), 0.0)
    return tuple(sorted(spans.values(), key=lambda span: (-span.score, span.utterance)))


def _of_sentence(index: Lines, terms: set[str], cited: list[int]) -> Iterator[EvidenceSpan]:
    """The best line, then those that hold what no line before them does."""
    names = set().union(*index.speakers) & terms  # everybody is named everywhere
    content = terms - names or terms
    worth = {term: index.rarity(term) for term in content}
    total = sum(worth.values())
    if not total:
        return

    def share(number: int, left: set[str]) -> float:
        return sum(worth[term] for term in left & index.terms[number]) / total

    def score(number: int, left: set[str]) -> float:
        own = share(number, left)
        utterances, before = index.dialogue.utterances, number - 1
        is_answer = before >= 0 and utterances[before].speaker != utterances[number].speaker
        if is_answer and "?" in utterances[before].text:
            own += _ANSWER * share(before, left)
        return own + _SPEAKER * bool(own and names & index.speakers[number])

    left, chosen = content, set[int]()
    while len(chosen) < _MOST:
        numbers = [n for n in cited or range(len(index.terms)) if n not in chosen]
        best = max(numbers, key=lambda n: (score(n, left), -n), default=-1)
        if best < 0 or score(best, left) < (_FURTHER if chosen else _LEAST):
            return
        yield _span(index, best, content, min(1.0, round(score(best, left), 3)))
        chosen.add(best)
        left = left - index.terms[best]


def _span(index: Lines, number: int, terms: set[str], score: float) -> EvidenceSpan:
    """From the first sentence of an utterance that shares a term to the last; else all of it."""
    sentences = index.sentences[number]
    sharing = [(a, b) for a, b, own in sentences if own & terms] or [
        (a, b) for a, b, _ in sentences
    ]
    start, end = (sharing[0][0], sharing[-1][1]) if sharing else (0, 0)
    return EvidenceSpan(number, start, end, score)
