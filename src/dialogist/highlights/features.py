"""What the selector is told of units, candidates, and pairs of them.

90 numbers of each unit need no network. Candidates have those of their units.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.highlights.cues import AGENTS, CUES, NUMBERISH
from dialogist.highlights.staleness import Staleness
from dialogist.highlights.statements import Candidate
from dialogist.highlights.units import Likeness, Rarity, Unit, terms_of
from dialogist.language.reported_speech import Reported
from dialogist.language.tokens import FUNCTION_WORDS

Matrix: TypeAlias = NDArray[np.float32]
Row: TypeAlias = dict[str, float]

_CAPITAL = re.compile(r"(?<!^)\b[A-Z][a-zé]+")
_SHORT = 3  # words
_BRIEF = 4  # words of a whole turn
_AHEAD = 8  # units in which a value may be changed


def features_of(
    units: Sequence[Unit], told: Mapping[tuple[int, int], Reported], rarity: Rarity
) -> Matrix:
    """(U, F); ``told``: what is reported of units, by turn and start."""
    if not units:
        return np.zeros((0, 0), dtype=np.float32)
    describe = _Describer(units, told, rarity)
    rows = [describe.row(i) for i in range(len(units))]
    return np.array([list(row.values()) for row in rows], dtype=np.float32)


class _Describer:
    def __init__(
        self, units: Sequence[Unit], told: Mapping[tuple[int, int], Reported], rarity: Rarity
    ) -> None:
        self.units, self.told, self.rarity = units, told, rarity
        self.terms = [terms_of(unit.text) for unit in units]
        self.like = Likeness.between(self.terms, rarity)
        self.cues = [
            {name: bool(cue.search(unit.text)) for name, cue in CUES.items()} for unit in units
        ]
        self.words = [unit.words for unit in units]
        self.upto = np.cumsum(self.words) - self.words
        self.total = sum(self.words) or 1
        self.turns: list[list[int]] = []
        self.where: list[int] = []
        self.share: dict[str, float] = {}
        for i, unit in enumerate(units):
            if not i or units[i - 1].turn != unit.turn:
                self.turns.append([])
            self.turns[-1].append(i)
            self.where.append(len(self.turns) - 1)
            self.share[unit.speaker] = self.share.get(unit.speaker, 0.0) + unit.words / self.total
        self.turn_words = [sum(self.words[j] for j in own) for own in self.turns]
        self.numbers = [bool(NUMBERISH.search(unit.text)) for unit in units]
        self.last_numbers = [i for i, found in enumerate(self.numbers) if found][-2:]
        first: dict[str, int] = {}
        self.uses: dict[str, int] = {}
        for i, own in enumerate(self.terms):
            for term in set(own):
                first.setdefault(term, i)
                self.uses[term] = self.uses.get(term, 0) + 1
        self.first = first

    def row(self, i: int) -> Row:
        """All features of one unit."""
        cues = {f"cue_{name}": float(hit) for name, hit in self.cues[i].items()}
        return {**self._place(i), **self._content(i), **self._neighbours(i), **cues}

    def _place(self, i: int) -> Row:
        unit, k, last = self.units[i], self.where[i], len(self.turns) - 1
        mine, words = self.turns[k], self.words[i]
        position = self.upto[i] / self.total
        return {
            "words": min(words, 40) / 10,
            "short": words <= _SHORT,
            "log_words": math.log1p(words),
            "position": position,
            "from_middle": (position - 0.5) ** 2 * 4,
            **{f"turn_{n}": k == n for n in range(3)},
            **{f"last_turn_{n}": k == last - n for n in range(3)},
            "beginning": math.exp(-k / 3),
            "end": math.exp((k - last) / 3),
            "units": math.log(len(self.units)),
            "speakers": min(len(self.share), 6) - 2,
            "is_first_speaker": unit.speaker == self.units[0].speaker,
            "is_agent": bool(AGENTS.search(unit.speaker)),
            "speaker_share": self.share[unit.speaker] * len(self.share),
            "turn_words": math.log1p(self.turn_words[k]),
            "place_in_turn": (i - mine[0]) / len(mine),
            "is_last_in_turn": i == mine[-1],
        }

    def _content(self, i: int) -> Row:
        own, weights = self.terms[i], self.like.weights[i]
        mass = sum(weights.values())
        new = sum(w for term, w in weights.items() if self.first[term] == i)
        names = [m for m in _CAPITAL.findall(self.units[i].text) if m.lower() not in FUNCTION_WORDS]
        told = self.told.get((self.units[i].turn, self.units[i].start))
        return {
            "mass": math.log1p(mass),
            "mean_rarity": mass / max(1, len(weights)) / 4,
            "rarest": max(weights.values(), default=0.0) / 4,
            "content": math.log1p(len(own)),
            "content_share": len(own) / max(1, self.words[i]),
            "names": math.log1p(len(names)),
            "says_nothing": not own,
            "new": math.log1p(new),
            "repeated": sum(self.uses[t] - 1 for t in weights) / max(1, len(weights)),
            "is_told": told is not None,
            "is_reported": told is not None and told.kind == "reported",
            "refers_back": told is not None and told.refers_back,
        }

    def _neighbours(self, i: int) -> Row:
        k, like = self.where[i], self.like
        before = self.turns[k - 1] if k else []
        after = self.turns[k + 1] if k + 1 < len(self.turns) else []
        said, reply = self._others(i, before), self._others(i, after)
        asked = [j for j in said if self.cues[j]["question"]]
        reply_words = sum(self.words[j] for j in reply)
        changes = self.numbers[i] and any(
            self.numbers[j] and self._changes(i, j)
            for j in range(i + 1, min(len(self.units), i + _AHEAD))
        )
        return {
            "like_before": like.most(i, before),
            "like_after": like.most(i, after),
            "centrality": sum(like.of[i].values()) / len(self.units) * 10,
            "like_later": max((s for j, s in like.of[i].items() if j > i), default=0.0),
            "like_earlier": max((s for j, s in like.of[i].items() if j < i), default=0.0),
            "is_asked": bool(asked),
            "is_answer": bool(asked) and i == self.turns[k][0],
            "is_answered": self.cues[i]["question"] and bool(reply),
            "agreed": bool(reply) and self._hits(reply[:1], "agree", "yes"),
            "refused": bool(reply)
            and (self._hits(reply[:1], "no") or self._hits(reply[:2], "refuse")),
            "brief_reply": bool(reply) and reply_words <= _BRIEF,
            "follows_brief": bool(before) and sum(self.words[j] for j in before) <= _BRIEF,
            "follows_refusal": self._hits(said, "refuse", "no"),
            "changed": changes,
            "last_number": i in self.last_numbers,
        }

    def _others(self, i: int, turn: Sequence[int]) -> list[int]:
        """The units of a turn, if somebody else than the speaker of ``i`` has it."""
        return [j for j in turn if self.units[j].speaker != self.units[i].speaker]

    def _hits(self, units: Sequence[int], *names: str) -> bool:
        return any(self.cues[j][name] for j in units for name in names)

    def _changes(self, i: int, j: int) -> bool:
        return self._hits([j], "change", "no", "but") or self.like.of[i].get(j, 0.0) > 0.2


REACH = 3
"""How many candidates on the other one of a pair may be: facts are rarely told farther apart."""

SIGNS = 27
"""How many signs of staleness there are."""

_FAR, _LONG = 6, 12  # units and words: more makes no difference


@dataclass(frozen=True, slots=True)
class Pairs:
    """``places`` (P, 2): the numbers of two candidates; ``features`` (P, K) of them together."""

    places: NDArray[np.int64]
    features: Matrix


def rows_of(candidates: Sequence[Candidate], units: Sequence[Unit], each: Matrix) -> Matrix:
    """(C, 6F + 5) of the normalized features (U, F) of all units.

    The last 2F tell of the whole dialogue: the mean over its candidates, and how each departs from
    it. What matters is what stands out among what else is said.
    """
    if not candidates:
        return np.zeros((0, 6 * each.shape[1] + 5), dtype=np.float32)
    beside = around(each)[[one.units[-1] for one in candidates]]
    own = np.array([each[list(one.units)].max(axis=0) for one in candidates])
    wording = np.array([_wording(one, units) for one in candidates])
    mean = np.broadcast_to(own.mean(axis=0), own.shape)
    return np.concatenate([beside, own, wording, own - mean, mean], axis=1).astype(np.float32)


def signs_of(candidates: Sequence[Candidate], units: Sequence[Unit]) -> Matrix:
    """(C, S): of each candidate the signs of staleness that one of its units shows."""
    staleness = Staleness(units)
    rows = [
        np.max([list(staleness.row(i).values()) for i in one.units], axis=0) for one in candidates
    ]
    return np.array(rows, dtype=np.float32).reshape(len(rows), SIGNS)


def _wording(one: Candidate, units: Sequence[Unit]) -> list[float]:
    said = sum(units[i].words for i in one.units)
    return [
        len(one.units) - 1,
        one.kind == "quoted",
        float(np.log1p(one.words)) - 2,
        one.words / max(1, said) - 1,
        one.words / 10 - 1,
    ]


def around(x: Matrix) -> Matrix:
    """(U, 3F): each row with the one before and the one behind it, zeros beyond the ends."""
    none = np.zeros_like(x[:1])
    return np.concatenate([x, np.vstack([none, x[:-1]]), np.vstack([x[1:], none])], axis=1)


def pairs_of(candidates: Sequence[Candidate], units: Sequence[Unit], rarity: Rarity) -> Pairs:
    """All pairs of candidates that are at most `REACH` apart."""
    terms = [terms_of(" ".join(units[i].text for i in one.units)) for one in candidates]
    like = Likeness.between(terms, rarity)
    places = [
        (i, j)
        for i in range(len(candidates))
        for j in range(i + 1, min(len(candidates), i + REACH + 1))
    ]
    rows = [
        _together(
            j - i, units, (candidates[i].units[-1], candidates[j].units[0]), like.of[i].get(j)
        )
        for i, j in places
    ]
    return Pairs(
        np.array(places, dtype=np.int64).reshape(-1, 2),
        np.array(rows, dtype=np.float32).reshape(len(rows), REACH + 9),
    )


def _together(
    apart: int, units: Sequence[Unit], ends: tuple[int, int], likeness: float | None
) -> list[float]:
    """``ends``: the last unit of the first candidate, and the first of the second."""
    one, other = units[ends[0]], units[ends[1]]
    return [
        *(apart == n for n in range(1, REACH + 1)),
        one.speaker == other.speaker,
        one.turn == other.turn,
        other.turn - one.turn == 1,
        min(ends[1] - ends[0], _FAR) / 3,
        likeness or 0.0,
        "?" in one.text,
        "?" in other.text,
        min(other.words, _LONG) / 6,
        min(one.words, _LONG) / 6,
    ]
