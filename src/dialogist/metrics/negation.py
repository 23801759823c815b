"""Denials in a summary that nothing in the dialogue bears out, and denials that got lost.

A clause is compared with the utterances that share most content words with it. An approximation by
words: "she doesn't like it" for "I can't stand it" fits, for "it is awful" it does not.
"""

import re
from collections.abc import Iterator

from dialogist.metrics.sayings import Sayings
from dialogist.records import Dialogue
from dialogist.text.clauses import Who, is_content
from dialogist.text.function_words import FUNCTION_WORDS
from dialogist.text.negation import NEGATION, RELUCTANCE
from dialogist.text.stems import stem_of
from dialogist.text.tokens import sentence_spans, tokens_of

_BREAK = re.compile(
    r"[,;]|\b(?:and|but|because|so|while|as|since|although|though|that|which|who|if|when|before"
    r"|after|until)\b",
    re.I,
)
_FEWEST = 2  # content words that clause and utterance must share
_SHARE = 0.5  # of the clause's content words that the dialogue must hold


class Denials:
    """Which utterances and sentences of a dialogue hold which words, and a denial."""

    def __init__(self, dialogue: Dialogue, sayings: Sayings) -> None:
        texts = [utterance.text for utterance in dialogue.utterances]
        self._sayings = sayings
        self._words: list[set[str]] = [set() for _ in texts]
        for saying in sayings.all:
            self._words[saying.utterance] |= saying.words.keys()
        self._denies = [bool(NEGATION.search(t) or RELUCTANCE.search(t)) for t in texts]

    def added(self, words: set[str]) -> bool:
        """Whether a denial of these words has none beside it, nor in the answer."""
        known = self._known(words)
        closest = _closest([len(known & held) for held in self._words])
        return bool(closest) and not any(any(self._denies[i : i + 2]) for i in closest)

    def lost(self, words: set[str]) -> bool:
        """Whether each sentence of the dialogue with two of these words or more denies them."""
        known = self._known(words)
        about = [s for s in self._sayings.all if len(known & s.words.keys()) >= _FEWEST]
        return bool(about) and all(saying.denies and not saying.question for saying in about)

    def _known(self, words: set[str]) -> set[str]:
        known = words & self._sayings.of.keys()
        return known if len(known) >= _SHARE * len(words) else set()


def _closest(shared: list[int]) -> list[int]:
    most = max(shared, default=0)
    return [i for i, count in enumerate(shared) if count == most] if most >= _FEWEST else []


def added_denials(text: str, denials: Denials, who: Who) -> Iterator[tuple[int, int, bool]]:
    """Clauses that deny something, and whether the dialogue only asserts it."""
    for start, end in _clauses(text):
        if NEGATION.search(text, start, end):
            yield start, end, denials.added(_content(text[start:end], who))


def lost_denials(text: str, denials: Denials, who: Who) -> Iterator[tuple[int, int, bool]]:
    """Clauses that assert something, and whether the dialogue only denies it."""
    for start, end in _clauses(text):
        clause = text[start:end]
        if not (NEGATION.search(clause) or RELUCTANCE.search(clause)):
            yield start, end, denials.lost(_content(clause, who))


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    for start, end in sentence_spans(text):
        place = start
        for mark in _BREAK.finditer(text, start, end):
            yield from _stripped(text, place, mark.start())
            place = mark.end()
        yield from _stripped(text, place, end)


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    if part.strip():
        yield start + len(part) - len(part.lstrip()), end - len(part) + len(part.rstrip())


def _content(clause: str, who: Who) -> set[str]:
    return {
        stem_of(token.base)
        for token in tokens_of(clause)
        if token.base not in FUNCTION_WORDS and is_content(token.base) and who(token.base) is None
    }
