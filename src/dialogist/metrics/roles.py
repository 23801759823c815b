"""Who did what: clauses of a summary that fit what another speaker said better than their subject.

Each content word of a clause is looked up in the dialogue. Who "tells" must have said it, who
"asks" must have asked it, and who does something must have said "I" of it, or have been told "you".
What words say for each speaker is added up by the weights below; a sentence whose subjects have too
little against the other speakers has, most likely, their roles swapped.

The weights are round numbers near those of a logistic regression between human summaries and the
same with their speakers exchanged; the bars leave some 3 of 100 human summaries below them: both on
the training parts of DialogSum and SAMSum.
"""

from collections.abc import Sequence
from typing import NamedTuple

from dialogist.metrics.sayings import BARE, FIRST, SECOND, Saying, Sayings
from dialogist.text.clauses import Clause


class _Weights(NamedTuple):
    """What a word is worth for a speaker, by where it is in the dialogue."""

    said: float  # in a statement of his
    asked: float  # in a question of his
    first: float  # where he says it of himself
    second: float  # where another says it of "you"
    bare: float  # where another asks and says no subject: "Coming tonight?"
    answered: float  # where another asks and he speaks next
    heard: float  # where another states it and he speaks next


_WEIGHTS = {
    "ask": _Weights(0.4, 0.8, 0.8, -0.6, -0.7, -0.6, -0.5),
    "tell": _Weights(1.2, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0),
    "do": _Weights(0.3, -0.5, 1.5, 0.8, 0.0, -0.5, -0.3),
}
# Who agrees, answers or helps has said no more of it than whom he agrees with: nothing is told.

SENTENCE_BAR = -2.5
"""What a sentence must have against it, to be called swapped."""
SUMMARY_BAR = -1.65
"""What all sentences together must have against them: those below 0 are called swapped then."""


def swapped(sentences: Sequence[Sequence[Clause]], sayings: Sayings, speakers: int) -> list[bool]:
    """Which sentences, each given by its clauses, speak for other subjects than they have."""
    scores = [against(clauses, sayings, speakers) for clauses in sentences]
    bar = 0.0 if sum(scores) < SUMMARY_BAR else SENTENCE_BAR
    return [score < bar for score in scores]


def against(clauses: Sequence[Clause], sayings: Sayings, speakers: int) -> float:
    """The sum over clauses of what speaks for their subject, less what does for the best other."""
    total = 0.0
    for clause in clauses:
        if clause.kind not in _WEIGHTS:
            continue
        scores = _scores(clause, sayings, speakers)
        others = scores[: clause.subject] + scores[clause.subject + 1 :]
        if others:
            total += scores[clause.subject] - max(others)
    return total


def _scores(clause: Clause, sayings: Sayings, speakers: int) -> list[float]:
    """What speaks for each speaker.

    A word that is said once tells more than one that is said again and again. The sum is scaled to
    what is found in the one sentence that fits best: many weak traces are no strong one.
    """
    scores = [0.0] * speakers
    matched: dict[int, float] = {}
    for word in set(clause.words):
        found = sayings.of.get(word, ())
        for saying in found:
            worth = len(found) ** -0.5
            matched[id(saying)] = matched.get(id(saying), 0.0) + worth
            _add(scores, _WEIGHTS[clause.kind], saying, saying.words[word], worth)
    total = sum(matched.values())
    return [score * max(matched.values()) / total for score in scores] if total else scores


def _add(scores: list[float], weights: _Weights, saying: Saying, person: int, worth: float) -> None:
    """Adds what one word in one sentence is worth, for its speaker and for the others."""
    speaker = saying.speaker
    if speaker is None:
        return
    own = weights.asked if saying.question else weights.said
    scores[speaker] += worth * (own + (weights.first if person == FIRST else 0.0))
    other = weights.second if person == SECOND else 0.0
    if person == BARE and saying.question:
        other = weights.bare
    if other:
        for i in range(len(scores)):
            if i != speaker:
                scores[i] += worth * other / (len(scores) - 1)
    if saying.answerer is not None and saying.answerer != speaker:
        next_one = weights.answered if saying.question else weights.heard
        scores[saying.answerer] += worth * next_one
