"""The most important of a dialogue: its candidates weighed, chosen exactly, neighbours joined."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from dialogist.highlights.candidates import (
    Candidate,
    lacks_verb,
    quoted_parts,
    statement_words,
)
from dialogist.highlights.features import REACH, is_agent
from dialogist.highlights.network import Worth
from dialogist.highlights.section_network import SectionChances
from dialogist.language.reading import Reading
from dialogist.records import EvidenceSpan

# Chosen on the held-out dialogues of bench/selection.py (docs/notes/index.md).
LEAST = 0.25  # the chance below which a statement is left out even where there is room
STALE = 15.0  # what the chance that something later changes a statement costs, of its worth
_MOST_SAVED = 12  # words that joining saves at most
_PART = 0.1  # of a fact that a reader knows by one of the statements that tell it
_VAGUE = 0.2  # of the worth of a statement whose "it" no other one names
_ASKED = 0.6  # of the worth of a question without its answer
_OPENING = (0.2, 0.1)  # more worth of what is said first: it tells what the dialogue is about
_SAYS = 3  # terms that an opening has at least
# More worth of the likeliest issue and outcome, of the most; if they are as likely as this.
_FRAME, _SURE = 0.7, 0.5
_JOINED_UNITS, _JOINED_WORDS = 4, 40  # of neighbours that share a label
_NEVER = -1e9
_STATES = 1 << REACH
# (S, REACH): whether the candidate so many places before was chosen, by the last decisions.
_CHOSEN = (np.arange(_STATES)[:, None] >> np.arange(REACH) & 1).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Highlight:
    """A statement: units by their numbers, how they are quoted, and where the words stand."""

    units: tuple[int, ...]
    text: str
    quotes: tuple[EvidenceSpan, ...]
    words: int
    chance: float
    """How likely a summary must hold it."""


@dataclass(slots=True)
class Weighed:
    """Candidates with what they are worth to a choice: see `Choice`."""

    candidates: Sequence[Candidate]
    alone: NDArray[np.float64]
    together: dict[tuple[int, int], float]
    ties: dict[tuple[int, int], float]
    chances: NDArray[np.float32]


def select(
    reading: Reading,
    worth: Worth,
    filed: SectionChances,
    budget: int,
    is_short: bool = False,
) -> list[Highlight]:
    """The statements of a summary of at most ``budget`` words, in the order of the dialogue.

    The likeliest outcome and issue count more. ``is_short``: the outcome comes first.
    """
    weighed = weigh(reading, filed.candidates, worth)
    most, room = weighed.alone.max(), budget
    words = np.array([candidate.words for candidate in filed.candidates])
    likely = filed.of("told") * (worth.key > 0)  # about the speaker asked for
    for section in ("outcome", "issue"):
        chances = filed.of(section) * likely * (words <= room)
        best = int(chances.argmax())
        if chances[best] > _SURE:
            weighed.alone[best] += _FRAME * most
            room -= words[best]
    chosen = highlights_of(reading, weighed, budget)
    if not is_short:
        return chosen
    ends = filed.of_units("outcome")
    lead = max(
        chosen, key=lambda highlight: max(ends[unit] for unit in highlight.units), default=None
    )
    return sorted(chosen, key=lambda highlight: highlight is not lead)


def highlights_of(reading: Reading, weighed: Weighed, budget: int) -> list[Highlight]:
    """The best choice of some candidates, neighbours joined."""
    words = [candidate.words for candidate in weighed.candidates]
    choice = Choice(words, weighed.alone, weighed.together, budget + _MOST_SAVED, weighed.ties)
    for room in np.argsort(-choice.values(), kind="stable").tolist():
        joined = _joined(reading, weighed.candidates, weighed.chances, choice.within(room))
        if sum(highlight.words for highlight in joined) <= budget:
            return joined
    return []


def weigh(reading: Reading, candidates: Sequence[Candidate], worth: Worth) -> Weighed:
    """The worth of candidates to a choice: what is stale, vague or a bare question counts less."""
    holder = {unit: i for i, candidate in enumerate(candidates) for unit in candidate.units}
    alone = worth.alone.astype(np.float64) + _PART * worth.key
    usable = worth.key >= LEAST
    if not usable.any():
        usable[worth.key.argmax()] = True
    ties: dict[tuple[int, int], float] = {}
    for i, extra in zip(_openings(reading, candidates), _OPENING, strict=False):
        if worth.key[i]:  # about the speaker asked for
            alone[i] += extra
            usable[i] = True
    for i, candidate in enumerate(candidates):
        if all("?" in reading.units[unit].text for unit in candidate.units):
            alone[i] *= _ASKED
    fresh = np.clip(1 - STALE * worth.stale, 0, 1).astype(np.float64)
    for i, lost in _changes(candidates, worth, holder, ties).items():
        fresh[i] *= max(0.0, 1 - STALE * lost)
    ties = {(i, j): float(loss * alone[i] * fresh[i]) for (i, j), loss in ties.items()}
    for i, candidate in enumerate(candidates):
        named = _antecedent(reading, candidate, holder)
        if named is None:
            continue
        if i - named <= REACH and usable[named]:
            ties[i, named] = ties.get((i, named), 0.0) + _VAGUE * float(alone[i] * fresh[i])
        else:
            alone[i] *= 1 - _VAGUE / 2  # another choice may name it, or none
    together = {
        (int(i), int(j)): float(more) * min(fresh[i], fresh[j])
        for (i, j), more in zip(worth.places, worth.together, strict=True)
    }
    alone = np.where(usable, alone * fresh, 0.0)
    return Weighed(candidates, alone, together, ties, worth.key)


def _changes(
    candidates: Sequence[Candidate],
    worth: Worth,
    holder: Mapping[int, int],
    ties: dict[tuple[int, int], float],
) -> dict[int, float]:
    """How likely each candidate is changed by what is too far on to be told with it.

    Adds to ``ties`` what is lost of a candidate, as a share, without a near one that changes it.
    """
    kept = np.ones(len(candidates))
    near: dict[tuple[int, int], float] = {}
    for (i, unit), chance in zip(worth.changes.tolist(), worth.changed.tolist(), strict=True):
        j = holder.get(unit)
        if j is not None and i < j <= i + REACH:
            near[i, j] = 1 - (1 - near.get((i, j), 0.0)) * (1 - chance)
        elif j != i:
            kept[i] *= 1 - chance
    ties |= {pair: min(1.0, STALE * chance) for pair, chance in near.items()}
    return dict(enumerate((1 - kept).tolist()))


def _antecedent(reading: Reading, candidate: Candidate, holder: Mapping[int, int]) -> int | None:
    """The candidate before that names what the "it" or "she" of one means; None: it has none."""
    first = candidate.units[0]
    if not reading.has(first, "pointing") or not first or len(candidate.units) > 1:
        return None
    before = (holder.get(i) for i in range(first - 1, max(-1, first - 9), -1) if reading.terms[i])
    return next((i for i in before if i is not None), None)


def _openings(reading: Reading, candidates: Sequence[Candidate]) -> list[int]:
    """The first candidates that say something, in order; not who answers a call."""
    telling = (
        i
        for i, candidate in enumerate(candidates)
        if len({term for unit in candidate.units for term in reading.terms[unit]}) >= _SAYS
        and not (
            candidate.units[0] in reading.turns[0] and _answers_a_call(reading, candidate.units[0])
        )
    )
    return list(islice(telling, len(_OPENING)))


def _answers_a_call(reading: Reading, i: int) -> bool:
    """Whether a unit of the first turn is that of a firm: "Spoke and Chain, you've got Hamish"."""
    unit = reading.units[i]
    names = any(value.kind == "name" for value in reading.values[i])
    return is_agent(unit.speaker) and "?" not in unit.text and (names or lacks_verb(unit.text))


def _joined(
    reading: Reading,
    candidates: Sequence[Candidate],
    chances: NDArray[np.float32],
    chosen: Sequence[int],
) -> list[Highlight]:
    """The statements of chosen candidates; neighbours of one speaker share a label."""
    groups: list[list[int]] = []
    for i in chosen:
        if groups and _shares_label(reading, [candidates[j] for j in groups[-1]], candidates[i]):
            groups[-1].append(i)
        else:
            groups.append([i])
    highlights = []
    for group in groups:
        units = tuple(unit for i in group for unit in candidates[i].units)
        parts = quoted_parts(reading, units)
        text = " – ".join(quotation for quotation, _ in parts)
        quotes = tuple(span for _, spans in parts for span in spans)
        chance = max(float(chances[i]) for i in group)
        highlights.append(Highlight(units, text, quotes, statement_words(text), chance))
    return highlights


def _shares_label(reading: Reading, left: Sequence[Candidate], right: Candidate) -> bool:
    """Whether nobody else says anything between the two, and both are short together."""
    units = [unit for candidate in left for unit in candidate.units]
    after, speaker = range(units[-1] + 1, right.units[0] + 1), reading.units[units[-1]].speaker
    return (
        reading.units[right.units[0]].speaker == speaker
        and all(reading.units[i].speaker == speaker or not reading.terms[i] for i in after)
        and len(units) + len(right.units) <= _JOINED_UNITS
        and sum(candidate.words for candidate in left) + right.words <= _JOINED_WORDS
    )


@dataclass(slots=True)
class Choice:
    """The best choices of candidates, each of so many words, for all budgets up to ``most``.

    A choice is worth the facts that it is expected to tell: those of each candidate, ``alone``,
    none where that is below nought, and what the two of a pair tell more, ``together``, less what
    is lost where the first of two is chosen without the second, ``ties``. Pairs are at most `REACH`
    apart. Exact: candidates are decided in their order, and what is known of the last `REACH`
    decisions is enough.
    """

    words: Sequence[int]
    alone: NDArray[np.float64]
    together: Mapping[tuple[int, int], float]
    most: int
    ties: Mapping[tuple[int, int], float] = field(default_factory=dict)
    _best: NDArray[np.float64] = field(init=False)
    _older: list[NDArray[np.bool_]] = field(init=False)

    def __post_init__(self) -> None:
        self.most = min(self.most, sum(self.words))  # all of them: more makes no difference
        self.alone = np.where(self.alone > 0, self.alone, _NEVER)
        self._fill()

    def values(self) -> NDArray[np.float64]:
        """What the best choice for each budget is worth, (``most`` + 1,)."""
        best: NDArray[np.float64] = self._best.max(axis=0)
        return best

    def within(self, budget: int) -> list[int]:
        """The numbers of the best candidates of at most that many words, in order."""
        chosen: list[int] = []
        budget = min(budget, self.most)
        state = int(self._best[:, budget].argmax())
        for i in range(len(self.words) - 1, -1, -1):
            oldest = int(self._older[i][state & 1, state >> 1, budget]) << (REACH - 1)
            if state & 1:
                chosen.append(i)
                budget -= self.words[i]
            state = state >> 1 | oldest
        return chosen[::-1]

    def worth(self, chosen: Sequence[int]) -> float:
        """How many facts some candidates are expected to tell, less what they lose."""
        kept = set(chosen)
        both = sum(more for pair, more in self.together.items() if kept.issuperset(pair))
        lost = sum(loss for (i, j), loss in self.ties.items() if i in kept and j not in kept)
        return float(sum(max(self.alone[i], 0.0) for i in chosen)) + both - lost

    def _fill(self) -> None:
        """Best values by the last decisions (a bit each) and budget, and which led to them."""
        best = np.full((_STATES, self.most + 1), _NEVER)
        best[0] = 0.0
        self._older = []
        for i, cost in enumerate(self.words):
            before = list(range(i - 1, i - 1 - REACH, -1))  # as the bits of a state
            more = np.array([self.together.get((j, i), 0.0) for j in before])
            back = np.array([self.ties.get((i, j), 0.0) for j in before])
            ahead = np.array([self.ties.get((j, i), 0.0) for j in before])
            # Without i, what is tied to it loses; with i, what i is tied to and is not chosen.
            skipped = best - (_CHOSEN @ ahead)[:, None]
            taken = np.full_like(best, _NEVER)
            if cost <= self.most:
                gain = self.alone[i] + _CHOSEN @ more - (1 - _CHOSEN) @ back
                taken[:, cost:] = best[:, : self.most + 1 - cost] + gain[:, None]
            # The oldest decision is forgotten: the better of both ways is kept.
            ways = np.stack([skipped, taken]).reshape(2, 2, _STATES // 2, -1)
            self._older.append(ways[:, 1] > ways[:, 0])
            best = np.empty_like(best)
            best[0::2], best[1::2] = ways.max(axis=1)
        self._best = best
