"""Questions that a summary must answer: cloze probes of speakers, numbers and named values.

Report 1 (section VII) asks for question-answering probes of faithfulness. A question is a sentence
of a reference with one mention left out: a speaker, a number or time, a weekday, an address. The
summary alone has to answer it. The answer is the mention of the same kind around which the most
words of the question stand, at the same distance before or behind it; rules give it, no model. It
is right where it has the value that was left out. What people wrote is taken for the truth.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dialogist.metrics.base import Case, Column, percentage
from dialogist.metrics.speaker_mentions import Speakers
from dialogist.language.patterns import entities
from dialogist.language.porter import stem_of
from dialogist.language.quantities import Quantity, quantities
from dialogist.language.tokens import FUNCTION_WORDS, split_sentences

_TOKEN = re.compile(r"#\w+#|\w+(?:['’:.,-]\w+)*")
_HALF_DAY, _HOURS = 720, 24  # minutes, hours of a day
_LEAST = 0.75
"""How much of a question must stand around an answer: one of its words nearly in its place."""


@dataclass(frozen=True, slots=True)
class ProbedMention:
    """A speaker or a value in a sentence.

    ``values``: all that it may mean. ``around``: the other words, as stems, with their distances in
    words; before it they are negative.
    """

    kind: str
    values: frozenset[object]
    around: dict[str, int]

    def answers(self, other: "ProbedMention") -> bool:
        """Whether two mentions mean the same."""
        return not self.values.isdisjoint(other.values)


class ClozeProbes:
    """``probes.right``: questions that the summary answers rightly, in percent of all questions.

    ``probes.answered``: those that it answers at all; ``probes.wrong``: of these, those with
    another value.
    """

    name = "probes"
    signature = (
        "probes 1 | cloze questions of references: speakers, numbers, named values | answers by "
        "rules from the summary alone"
    )
    columns: tuple[Column, ...] = (
        Column("probes.right", "Probes right", "higher", 2, percentage),
        Column("probes.answered", "Probes answered", "neither", 2, percentage),
        Column("probes.wrong", "Probes wrong", "lower", 2, percentage),
    )

    def reads(self, script: str) -> bool:
        """English questions alone."""
        return script == "latin"

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`; nothing without a dialogue, whose speakers are asked for."""
        if case.dialogue is None:
            return (0.0,) * 6
        speakers = Speakers(case.dialogue)
        told = list(mentions(case.prediction, speakers))
        asked = [one for text in case.references for one in mentions(text, speakers)]
        asked = [one for one in asked if one.around.keys() - FUNCTION_WORDS]
        given = [(one, answer(one, told)) for one in asked]
        answered = [(one, found) for one, found in given if found is not None]
        right = sum(one.answers(found) for one, found in answered)
        questions, count = float(len(asked)), float(len(answered))
        return (float(right), questions, count, questions, count - right, count)


def answer(question: ProbedMention, told: Sequence[ProbedMention]) -> ProbedMention | None:
    """The mention of a summary that stands where the question's does; None if none does."""
    alike = [one for one in told if one.kind == question.kind]
    best = max(alike, key=lambda one: _likeness(question, one), default=None)
    return best if best is not None and _likeness(question, best)[0] >= _LEAST else None


def _likeness(question: ProbedMention, other: ProbedMention) -> tuple[float, float]:
    """The words that both have around them, each the less the more their distances differ.

    Content words decide, then function words.
    """
    shared = question.around.keys() & other.around.keys()
    near = {word: 1 / (1 + abs(question.around[word] - other.around[word])) for word in shared}
    small = sum(near[word] for word in shared & FUNCTION_WORDS)
    return sum(near.values()) - small, small


def mentions(text: str, speakers: Speakers) -> Iterator[ProbedMention]:
    """The mentions of a text, sentence by sentence."""
    for sentence in split_sentences(text, small=True):
        tokens = list(_TOKEN.finditer(sentence))
        found = [(token, *_meaning(token[0], speakers)) for token in tokens]
        stems = [_stem(token[0]) for token in tokens]
        for place, (_, kind, values) in enumerate(found):
            if not values:
                continue
            around: dict[str, int] = {}
            for other, stem in enumerate(stems):
                nearer = stem in around and abs(around[stem]) <= abs(other - place)
                if stem and not found[other][2] and not nearer:
                    around[stem] = other - place
            yield ProbedMention(kind, values, around)


def _stem(word: str) -> str:
    low = word.lower()
    return low if low in FUNCTION_WORDS else stem_of(low)


def _meaning(word: str, speakers: Speakers) -> tuple[str, frozenset[object]]:
    """The kind of a word and what it may mean; nothing of most words."""
    low = word.lower()
    person = speakers.who(low)
    if person is None:
        person = speakers.who(f"#{low}#")  # of models that write no marks
    if person is not None:
        return "speaker", frozenset({person})
    for entity in entities(word):
        return entity.kind, frozenset({entity.value})
    for quantity in quantities(word):
        return "number", _readings(quantity)
    return "", frozenset()


def _readings(quantity: Quantity) -> frozenset[object]:
    """Numbers, and minutes of half a day: a bare 5 may be the hour."""
    hours = {int(value) * 60 for value in quantity.values if 0 < value <= _HOURS}
    clock = {time % _HALF_DAY for time in quantity.times | quantity.vague | hours}
    return frozenset({*(("value", v) for v in quantity.values), *(("clock", t) for t in clock)})
