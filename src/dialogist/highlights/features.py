"""What the selector is told of clauses, of candidates, and of pairs of them."""

import math
import re
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.highlights.candidates import Candidate, lacks_verb
from dialogist.language.cues import CUES
from dialogist.language.reading import Reading

Matrix: TypeAlias = NDArray[np.float32]

REACH = 3
"""How many candidates on the other one of a pair may be: facts are rarely told farther apart."""

AHEAD = 16
"""How many units behind a candidate may change what it says."""

_AGENTS = re.compile(
    r"(?i)(?<![a-z])(?:agent|support|system|doctor|dr|clerk|assistant|service|desk|staff|shop"
    r"|operator|optician|coach|teacher|manager)s?(?![a-z])"
)
_SHORT = 3  # words
_BRIEF = 4  # words of a whole turn
_RAREST = 8.0
_FAR_BACK = 60  # units that are compared: the time of a long dialogue stays linear


def is_agent(speaker: str) -> bool:
    """Whether a label is of those who are asked for help."""
    return _AGENTS.search(speaker) is not None


@dataclass(frozen=True, slots=True)
class Rarity:
    """In how many of ``dialogues`` a stem occurs, ``counts``; unknown stems are the rarest."""

    counts: Mapping[str, int]
    dialogues: int

    def of(self, stem: str) -> float:
        """The logarithm of one dialogue in how many has the stem."""
        return min(_RAREST, math.log((self.dialogues + 1) / (self.counts.get(stem, 0) + 1)))


def likeness(weights: Sequence[Mapping[str, float]]) -> list[dict[int, float]]:
    """Of each text, given as terms and their weights, its cosine with others that share some."""
    norms = [math.sqrt(sum(w * w for w in weighted.values())) or 1.0 for weighted in weights]
    alike: list[dict[int, float]] = [{} for _ in weights]
    places: dict[str, deque[int]] = defaultdict(deque)
    for i, weighted in enumerate(weights):
        for term, weight in weighted.items():
            before = places[term]
            while before and before[0] < i - _FAR_BACK:
                before.popleft()
            for j in before:
                shared = weight * weight / (norms[i] * norms[j])
                alike[i][j] = alike[j][i] = alike[i].get(j, 0.0) + shared
            before.append(i)
    return alike


class UnitFeatures:
    """The numbers that describe each unit of a dialogue: ``matrix`` (U, F)."""

    def __init__(self, reading: Reading, rarity: Rarity) -> None:
        self._reading = reading
        self._weights = [{term: rarity.of(term) for term in terms} for terms in reading.terms]
        self.alike = likeness(self._weights)
        self._words = [unit.words for unit in reading.units]
        self._before = np.cumsum(self._words) - self._words
        self._total = max(1, sum(self._words))
        self._first: dict[str, int] = {}
        self._uses: dict[str, int] = defaultdict(int)
        self._share: dict[str, float] = defaultdict(float)
        for i, terms in enumerate(reading.terms):
            self._share[reading.units[i].speaker] += self._words[i] / self._total
            for term in set(terms):
                self._first.setdefault(term, i)
                self._uses[term] += 1
        count = len(reading.units)
        bits = np.arange(len(CUES), dtype=np.uint64)
        cues = np.array(reading.cues, dtype=np.uint64)[:, None] >> bits
        rows = [[*self._place(i), *self._content(i), *self._neighbours(i)] for i in range(count)]
        numbers = np.array(rows, dtype=np.float32)
        self.matrix: Matrix = np.concatenate([numbers, (cues & 1).astype(np.float32)], axis=1)

    def _place(self, i: int) -> list[float]:
        reading = self._reading
        unit, place, last = reading.units[i], reading.places[i], len(reading.turns) - 1
        turn, words = reading.turns[place], self._words[i]
        position = float(self._before[i]) / self._total
        return [
            min(words, 40) / 10,
            words <= _SHORT,
            math.log1p(words),
            position,
            (position - 0.5) ** 2 * 4,
            *(place == n for n in range(3)),
            *(place == last - n for n in range(3)),
            math.exp(-place / 3),
            math.exp((place - last) / 3),
            math.log(len(reading.units)),
            min(len(self._share), 6) - 2,
            unit.speaker == reading.units[0].speaker,
            is_agent(unit.speaker),
            self._share[unit.speaker] * len(self._share),
            math.log1p(sum(self._words[turn[0] : turn[-1] + 1])),
            (i - turn[0]) / len(turn),
            i == turn[-1],
        ]

    def _content(self, i: int) -> list[float]:
        weights, kinds = self._weights[i], {value.kind for value in self._reading.values[i]}
        mass = sum(weights.values())
        count = max(1, len(weights))
        return [
            math.log1p(mass),
            mass / count / 4,
            max(weights.values(), default=0.0) / 4,
            math.log1p(len(self._reading.terms[i])),
            len(self._reading.terms[i]) / max(1, self._words[i]),
            not weights,
            math.log1p(sum(w for term, w in weights.items() if self._first[term] == i)),
            sum(self._uses[term] - 1 for term in weights) / count,
            lacks_verb(self._reading.units[i].text),
            "clock" in kinds,
            "day" in kinds,
            "money" in kinds,
            any(kind.startswith(("count", "number")) for kind in kinds),
            not kinds.isdisjoint(("name", "from", "to", "in", "at", "on", "with", "by")),
        ]

    def _neighbours(self, i: int) -> list[float]:
        reading, alike = self._reading, self.alike[i]
        place, speaker = reading.places[i], reading.units[i].speaker
        before = reading.turns[place - 1] if place else range(0)
        after = reading.turns[place + 1] if place + 1 < len(reading.turns) else range(0)
        heard = before if before and reading.units[before[0]].speaker != speaker else range(0)
        reply = reading.replies(i)
        is_asked = any(reading.is_question(j) for j in heard)
        return [
            max((alike.get(j, 0.0) for j in before), default=0.0),
            max((alike.get(j, 0.0) for j in after), default=0.0),
            sum(alike.values()) / len(reading.units) * 10,
            max((s for j, s in alike.items() if j > i), default=0.0),
            max((s for j, s in alike.items() if j < i), default=0.0),
            is_asked,
            is_asked and i == reading.turns[place][0],
            reading.is_question(i) and bool(reply),
            any(reading.has(j, "agree", "yes") for j in reply[:1]),
            any(reading.has(j, "no", "refuse") for j in reply[:2]),
            bool(reply) and sum(self._words[j] for j in reply) <= _BRIEF,
            bool(before) and sum(self._words[j] for j in before) <= _BRIEF,
            any(reading.has(j, "refuse", "no") for j in heard),
        ]


def rows_of(candidates: Sequence[Candidate], each: Matrix) -> Matrix:
    """(C, 6F + 4) of the normalized features (U, F) of all units.

    The last 2F tell of the whole dialogue: the mean over its candidates, and how each departs from
    it. What matters is what stands out among what else is said.
    """
    none = np.zeros_like(each[:1])
    before, behind = np.vstack([none, each[:-1]]), np.vstack([each[1:], none])
    first, last = ([candidate.units[end] for candidate in candidates] for end in (0, -1))
    most = np.array([each[list(candidate.units)].max(axis=0) for candidate in candidates])
    wording = [
        [
            len(candidate.units) - 1,
            candidate.is_answered,
            math.log1p(candidate.words) - 2,
            candidate.words / 10 - 1,
        ]
        for candidate in candidates
    ]
    mean = np.broadcast_to(most.mean(axis=0), most.shape)
    parts = [each[last], before[first], behind[last], most, np.array(wording), most - mean, mean]
    return np.concatenate(parts, axis=1).astype(np.float32)


@dataclass(frozen=True, slots=True)
class Pairs:
    """``places`` (P, 2): the numbers of two; ``features`` (P, K) of them together."""

    places: NDArray[np.int64]
    features: Matrix


PAIR_FEATURES = REACH + 9


def pairs_of(reading: Reading, candidates: Sequence[Candidate], rarity: Rarity) -> Pairs:
    """All pairs of candidates that are at most `REACH` apart; K is `PAIR_FEATURES`."""
    weights = [
        {term: rarity.of(term) for i in candidate.units for term in reading.terms[i]}
        for candidate in candidates
    ]
    alike = likeness(weights)
    places, rows = [], []
    for i in range(len(candidates)):
        for j in range(i + 1, min(len(candidates), i + REACH + 1)):
            end, start = candidates[i].units[-1], candidates[j].units[0]
            before, behind = reading.units[end], reading.units[start]
            places.append((i, j))
            rows.append(
                [
                    *(j - i == n for n in range(1, REACH + 1)),
                    before.speaker == behind.speaker,
                    before.turn == behind.turn,
                    behind.turn - before.turn == 1,
                    min(max(start - end, 0), 6) / 3,
                    alike[i].get(j, 0.0),
                    "?" in before.text,
                    "?" in behind.text,
                    min(behind.words, 12) / 6,
                    min(before.words, 12) / 6,
                ]
            )
    return Pairs(
        np.array(places, dtype=np.int64).reshape(-1, 2),
        np.array(rows, dtype=np.float32).reshape(-1, PAIR_FEATURES),
    )


CHANGE_FEATURES = 18


def changes_of(
    reading: Reading, candidates: Sequence[Candidate], alike: Sequence[Mapping[int, float]]
) -> Pairs:
    """Candidates with the units behind them that may change what they say.

    ``places``: the number of a candidate and that of a unit at most `AHEAD` behind it. A unit may
    change a value of a kind, take something back, or answer an offer.
    """
    places, rows = [], []
    kinds = [_by_kind(reading, [i]) for i in range(len(reading.units))]
    for c, candidate in enumerate(candidates):
        values = _by_kind(reading, candidate.units)
        last = candidate.units[-1]
        unit, turn = reading.units[last], reading.places[last]
        speakers = {reading.units[i].speaker for i in candidate.units}
        terms = {term for i in candidate.units for term in reading.terms[i]}
        seen: set[str] = set()
        for j in range(last + 1, min(len(reading.units), last + 1 + AHEAD)):
            other, apart = reading.units[j], reading.places[j] - turn
            differing = [
                k for k, v in values.items() if k in kinds[j] and v.isdisjoint(kinds[j][k])
            ]
            same = any(not v.isdisjoint(kinds[j].get(k, ())) for k, v in values.items())
            shared = terms.intersection(reading.terms[j])
            places.append((c, j))
            rows.append(
                [
                    apart == 0,
                    apart == 1,
                    apart == 2,
                    min(apart, 12) / 6,
                    j - last == 1,
                    j == reading.turns[reading.places[j]][0],
                    other.speaker == unit.speaker,
                    other.speaker in speakers,
                    bool(differing),
                    bool(differing) and not seen.issuperset(differing),
                    any(kind in ("clock", "day", "money") for kind in differing),
                    same,
                    bool(values),
                    max((alike[i].get(j, 0.0) for i in candidate.units), default=0.0),
                    min(len(shared), 3) / 2,
                    reading.is_question(j),
                    reading.is_question(last),
                    min(other.words, 12) / 6,
                ]
            )
            seen.update(differing)
    return Pairs(
        np.array(places, dtype=np.int64).reshape(-1, 2),
        np.array(rows, dtype=np.float32).reshape(-1, CHANGE_FEATURES),
    )


def _by_kind(reading: Reading, units: Sequence[int]) -> dict[str, set[str]]:
    """The values of some units by their kinds; names are of one kind."""
    values: dict[str, set[str]] = {}
    for i in units:
        for value in reading.values[i]:
            values.setdefault(value.kind, set()).add(value.value)
    return values
