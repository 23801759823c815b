"""The most important of a dialogue: passages weighed, the best chosen exactly, neighbours joined.

A passage is what somebody says in a turn, or a part of a long one that stands alone, with the brief
reply to it: clauses cut out of their turn mislead readers (results/blind-reading.json).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from dialogist.highlights.candidates import corrects, quoted, spoken_words, statement_words
from dialogist.highlights.section_network import SectionChances
from dialogist.language.reading import Reading
from dialogist.language.tokens import word_set
from dialogist.records import EvidenceSpan

_PASSAGES = (25, 8, 0)  # words that a part of a turn has at least; fewer where nothing fits
_SHORT_PASSAGES = (8, 0)
_LONGEST = 60  # words of a part that has more than a whole summary may have
_LITTLE = 0.05  # a clause that is so rarely told is left out where a passage begins or ends
_LEAST = 0.05  # of the chance that a clause is told says nothing
_BRIEF, _SETTLED = 6, 4  # words of an answer, and of a reply that settles something
_STALE = 2.0  # what the chance that something later changes a clause costs, of its worth
# More worth of the likeliest outcome and issue, of the most; if they are as likely as this.
_FRAME, _SURE = 0.7, 0.2
_PAIRED = 0.25  # more worth of a passage told with the question or offer before it
_JOINED_WORDS = 40  # of neighbours that share a label
_NEVER = -1e9
_SETTLING = ("agree", "yes", "no", "refuse", "takes")
_OFFERING = ("offer", "want", "please")
# What goes on with the clause before it: "But I can't." "Not 10." "If they say no, ring me."
_GOING_ON = word_set(
    "and so but then or also not no never unless except only instead rather though if otherwise"
    " because until scratch sorry wait actually joking"
)


@dataclass(frozen=True, slots=True)
class Highlight:
    """A statement: units by their numbers, how they are quoted, and where the words stand."""

    units: tuple[int, ...]
    text: str
    quotes: tuple[EvidenceSpan, ...]
    words: int
    chance: float
    """How likely a summary must hold it."""


def select(
    reading: Reading, filed: SectionChances, budget: int, is_short: bool = False, focus: str = ""
) -> list[Highlight]:
    """The statements of a summary of at most ``budget`` words, in the order of the dialogue.

    ``is_short``: parts of turns are chosen, too, and the outcome comes first. ``focus``: only
    passages in which this speaker says something.
    """
    told = filed.of_units("told")
    chosen: list[Highlight] = []
    for fewest in _SHORT_PASSAGES if is_short else _PASSAGES:
        passages = [
            units
            for units in passages_of(reading, told, fewest, max(budget, _LONGEST))
            if focus in ("", *(reading.units[unit].speaker for unit in units))
        ]
        words = [statement_words(quoted(reading, units)[0]) for units in passages]
        worth = _worth(reading, filed, passages, words, budget)
        paired = [0.0] * len(passages)
        for n, (before, units) in enumerate(pairwise(passages), 1):
            if _is_pair(reading, before, units):
                paired[n] = _PAIRED * min(worth[n - 1], worth[n])
        numbers = best_choice(words, worth, paired, budget)
        chosen = _joined(reading, [passages[n] for n in numbers], told)
        if chosen:
            break
    if not is_short:
        return chosen
    ends = filed.of_units("outcome")
    lead = max(chosen, key=lambda one: max(ends.get(i, 0.0) for i in one.units), default=None)
    return sorted(chosen, key=lambda one: one is not lead)


def _worth(
    reading: Reading,
    filed: SectionChances,
    passages: Sequence[Sequence[int]],
    words: Sequence[int],
    budget: int,
) -> list[float]:
    """How many words that the best summary tells each passage is expected to have.

    The likeliest outcome and issue count more where there is room for them.
    """
    told, stale = filed.of_units("told"), filed.of_units("stale")
    of_units = {
        unit: max(0.0, chance - _LEAST)
        * max(0.0, 1 - _STALE * stale[unit])
        * reading.units[unit].words
        for unit, chance in told.items()
    }
    worth = [sum(of_units.get(unit, 0.0) for unit in units) for units in passages]
    for section in ("outcome", "issue"):
        of_section = filed.of_units(section)
        likely = [
            max(of_section.get(unit, 0.0) * told.get(unit, 0.0) for unit in units) * (n <= budget)
            for n, units in zip(words, passages, strict=True)
        ]
        if max(likely, default=0.0) > _SURE:
            best = likely.index(max(likely))
            worth[best] += _FRAME * max(worth)
            budget -= words[best]
    return worth


def passages_of(
    reading: Reading, told: Mapping[int, float], fewest: int, most: int
) -> list[tuple[int, ...]]:
    """The passages of a dialogue, as numbers of units; greetings are in none.

    ``fewest``: words before a turn is cut, where what goes on stands alone; ``most``: words before
    it is cut anywhere.
    """
    passages: list[tuple[int, ...]] = []
    for turn in reading.turns:
        parts: list[list[int]] = [[]]
        for i in turn:
            count = spoken_words(reading, parts[-1])
            is_long = count >= fewest and (not fewest or _stands(reading, i))
            if parts[-1] and (is_long or count + reading.units[i].words > most):
                parts.append([])
            parts[-1].append(i)
        for part in parts:
            units = _trimmed(reading, part, told)
            if units and passages and _is_reply(reading, passages[-1], units):
                passages[-1] += units
            elif units:
                passages.append(units)
    return passages


def _stands(reading: Reading, i: int) -> bool:
    """Whether a clause is understood without the one before it in its turn."""
    first = next((word for word in reading.words[i] if word[0].isalnum()), "")
    is_own = first not in _GOING_ON and not reading.has(i, "pointing") and not corrects(reading, i)
    return is_own and reading.units[i].words > _SETTLED


def _trimmed(reading: Reading, part: Sequence[int], told: Mapping[int, float]) -> tuple[int, ...]:
    """A part of a turn without what says nothing where it begins and ends."""

    def is_idle(i: int) -> bool:
        return told.get(i, 0.0) < _LITTLE and not reading.has(i, *_SETTLING)

    first, last = 0, len(part)
    while first < last and is_idle(part[first]):
        goes_on = first + 1 < last and not _stands(reading, part[first + 1])
        if goes_on and not reading.has(part[first], "greet", "thanks"):
            break
        first += 1
    while first < last and is_idle(part[last - 1]):
        if part[last - 1] in told and not _stands(reading, part[last - 1]):
            break
        last -= 1
    return tuple(part[first:last])


def _is_reply(reading: Reading, before: Sequence[int], units: Sequence[int]) -> bool:
    """Whether a passage is a brief reply to the one right before it: it is told with that one."""
    asked, first = reading.units[before[-1]], reading.units[units[0]]
    speakers = {reading.units[i].speaker for i in before}
    is_third = len(speakers) > 1 and first.speaker not in speakers  # "Will you?" "Yes." "I'll go."
    is_next = reading.places[units[0]] - reading.places[before[-1]] == 1
    if is_third or not is_next or asked.speaker == first.speaker:
        return False
    words, is_settling = spoken_words(reading, units), reading.has(units[0], *_SETTLING)
    return words <= _BRIEF if _is_open(reading, before) else words <= _SETTLED and is_settling


def _is_open(reading: Reading, units: Sequence[int]) -> bool:
    """Whether a passage ends in a question or an offer."""
    is_offer = any(reading.has(i, *_OFFERING) for i in units[-2:])
    return is_offer or "?" in reading.units[units[-1]].text


def _is_pair(reading: Reading, before: Sequence[int], units: Sequence[int]) -> bool:
    """Whether a passage goes on in its turn, or may answer the one before it."""
    last, first = reading.units[before[-1]], reading.units[units[0]]
    is_next = reading.places[units[0]] - reading.places[before[-1]] == 1
    return first.turn == last.turn or (is_next and _is_open(reading, before))


def best_choice(
    words: Sequence[int], worth: Sequence[float], paired: Sequence[float], budget: int
) -> list[int]:
    """The numbers of the things of at most ``budget`` words that are worth the most, in order.

    Exact. ``paired``: what each is worth more where the one before it is chosen, too; what is worth
    nothing is never chosen.
    """
    budget = min(budget, sum(words))
    best = np.full((2, budget + 1), _NEVER)  # without the last one, and with it
    best[0] = 0.0
    steps: list[NDArray[np.bool_]] = []  # of both, whether the one before was chosen
    for cost, own, more in zip(words, worth, paired, strict=True):
        ways = np.full((2, *best.shape), _NEVER)
        ways[0] = best
        if own > 0 and cost <= budget:
            ways[1, :, cost:] = best[:, : budget + 1 - cost] + own + np.array([[0.0], [more]])
        steps.append(ways[:, 1] > ways[:, 0])
        best = ways.max(axis=1)
    chosen, state = [], int(best[:, budget].argmax()) if len(words) else 0
    for n in range(len(words) - 1, -1, -1):
        before = int(steps[n][state, budget])
        if state:
            chosen.append(n)
            budget -= words[n]
        state = before
    return chosen[::-1]


def _joined(
    reading: Reading, chosen: Sequence[tuple[int, ...]], told: Mapping[int, float]
) -> list[Highlight]:
    """The statements of chosen passages; neighbours of one speaker share a label."""
    groups: list[tuple[int, ...]] = []
    for units in chosen:
        if groups and _shares_label(reading, groups[-1], units):
            groups[-1] += units
        else:
            groups.append(units)
    highlights = []
    for units in groups:
        text, quotes = quoted(reading, units)
        chance = max(told.get(unit, 0.0) for unit in units)
        highlights.append(Highlight(units, text, quotes, statement_words(text), chance))
    return highlights


def _shares_label(reading: Reading, left: Sequence[int], right: Sequence[int]) -> bool:
    """Whether nobody else says anything between the two, and both are short together."""
    speaker = reading.units[left[-1]].speaker
    between = range(left[-1] + 1, right[0] + 1)
    return (
        reading.units[right[0]].speaker == speaker
        and all(reading.units[i].speaker == speaker or not reading.terms[i] for i in between)
        and spoken_words(reading, left) + spoken_words(reading, right) <= _JOINED_WORDS
    )
