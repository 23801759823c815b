"""Units of choice: the parts of a dialogue's sentences that can be told by themselves.

Their terms are stems of content words, and units are alike by the rare terms that they share.
"""

import math
import re
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from dialogist.highlights.cues import SPOKEN
from dialogist.language.porter import stem_of
from dialogist.language.reported_speech.parts import part_spans
from dialogist.language.tokens import FUNCTION_WORDS


@dataclass(frozen=True, slots=True)
class Unit:
    """``text`` is what ``speaker`` says at ``start`` to ``end`` of turn number ``turn``."""

    turn: int
    start: int
    end: int
    speaker: str
    text: str

    @property
    def words(self) -> int:
        """How many words it has."""
        return len(self.text.split())


def units_of(turns: Sequence[tuple[str, str]]) -> list[Unit]:
    """All units of a dialogue of speakers and texts, in order."""
    return [
        Unit(turn, start, end, speaker, text[start:end])
        for turn, (speaker, text) in enumerate(turns)
        for start, end in part_spans(text)
        if text[start:end].strip()
    ]


_WORD = re.compile(r"[A-Za-z]+(?:'[a-z]+)?|\d+(?:[.,:]\d+)*|[^\W\d_]+")
_RAREST = 8.0


@lru_cache(1 << 13)
def _stem(word: str) -> str:
    """The stem of a content word, empty for any other."""
    low = word.replace("'s", "")
    if low in FUNCTION_WORDS or low in SPOKEN or "'" in low:
        return ""
    return "" if len(low) < 2 and not low.isdigit() else stem_of(low)


def terms_of(text: str) -> list[str]:
    """The stems of the content words, names and numbers of a text."""
    words = _WORD.findall(text.lower().replace("’", "'"))
    return [stem for word in words if (stem := word if word[0].isdigit() else _stem(word))]


@dataclass(frozen=True, slots=True)
class Rarity:
    """In how many of ``dialogues`` a stem occurs, ``counts``; unknown stems are the rarest."""

    counts: Mapping[str, int]
    dialogues: int

    def of(self, stem: str) -> float:
        """The logarithm of one dialogue in how many has the stem."""
        return min(_RAREST, math.log((self.dialogues + 1) / (self.counts.get(stem, 0) + 1)))


_REACH = 60  # units back that are compared: the time of a long dialogue stays linear


@dataclass(slots=True)
class Likeness:
    """``of[i][j]``: the cosine of units ``i`` and ``j``, of those that share something."""

    weights: list[dict[str, float]] = field(default_factory=list)
    of: list[dict[int, float]] = field(default_factory=list)

    @classmethod
    def between(cls, terms: Sequence[Sequence[str]], rarity: Rarity) -> "Likeness":
        """Of units with these terms."""
        weights = [{term: rarity.of(term) for term in own} for own in terms]
        norms = [math.sqrt(sum(w * w for w in own.values())) or 1.0 for own in weights]
        found: list[dict[int, float]] = [{} for _ in weights]
        places: dict[str, deque[int]] = defaultdict(deque)
        for i, own in enumerate(weights):
            for term, weight in own.items():
                before = places[term]
                while before and before[0] < i - _REACH:
                    before.popleft()
                for j in before:
                    shared = weight * weight / (norms[i] * norms[j])
                    found[i][j] = found[j][i] = found[i].get(j, 0.0) + shared
                before.append(i)
        return cls(weights, found)

    def most(self, i: int, others: Sequence[int]) -> float:
        """The most that a unit shares with one of the others."""
        return max((self.of[i].get(j, 0.0) for j in others), default=0.0)
