"""What transcripts of speech lack or have too much: "um", "the th- the"; who "Speaker 1" is.

`dialogist_lab.sections.role_training` makes the weights of the linear model of roles.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dialogist.language.tokens import replaced

Places = Sequence[tuple[int, int]]

_FILLER = r"(?<![-\w'’])(?:u+m+|u+h+|uhm+|erm|(?-i:[Ee]r))(?![-\w'’]|,? (?:huh|oh)\b)"
_SUBJECT = r"(?:i|you|we|he|she|it|they|that|there|who|what)\b"  # of the clause behind a comma
_FILLERS = re.compile(
    rf"(?i)(?:^|(?<=[.!?…]))\s*+{_FILLER}[.,…]*|,\s*+{_FILLER},(?!\s+{_SUBJECT})"
    rf"|{_FILLER}(?:,|\s*(?:[-–—…]|\.\.\.))?"
)
# Words after which a sentence goes on, and others. Not "that that", "had had", "very very".
_OPEN = (
    r"i|we|he|she|they|a|an|the|my|your|our|their|and|but|or|if|of|than|because"
    r"|(?:i|you|we|they|it|he|she|that|there|what)['’](?:m|re|ve|ll|d|s)"
    r"|(?:do|did|does|is|was|are|ca|wo|could|would|should)n['’]t"
)
_OTHER = (
    r"you|it|this|these|to|for|from|with|at|was|were|are|can|could|will|would|should|let|let['’]s"
    r"|there|what|where|when|how"
)
_TWICE = re.compile(
    rf"(?i)(?<![-\w'’])(?:((?:{_OPEN})(?: +[\w'’]+){{0,2}})"
    rf"(?:,?\s+|\s*(?:[-–—…]|\.\.\.),?\s*)(?=\1(?![-\w'’]))"
    rf"|((?:{_OTHER})(?: +(?:{_OPEN}|{_OTHER}|me))?)\s+(?=\2(?![-\w'’]))"
    rf"|((?:is|that|{_OTHER})(?: +[\w'’]+){{2}})\s+(?=\3(?![-\w'’])))"
)
_BEGUN = re.compile(r"(?i)(?<![-\w'’])([a-z]{1,6})[-–—],?\s+(?=\1)")


def disfluencies(text: str) -> Places:
    """Where an English text has fillers, words that are at once said again, and cut-off ones."""
    spans = list[tuple[int, int]]()
    for pattern in (_FILLERS, _BEGUN, _TWICE):
        found = [match.span() for match in pattern.finditer(text)]
        text = blanked(text, found)
        spans += found
    merged = list[tuple[int, int]]()
    for start, end in sorted(spans):  # "to um to": a word is found with the filler behind it
        if merged and start < merged[-1][1]:
            start, end = merged[-1][0], max(end, merged.pop()[1])
        merged.append((start, end))
    return merged


def blanked(text: str, places: Places) -> str:
    """The text with spaces at some places, which stand in order."""
    return replaced(text, ((start, end, " " * (end - start)) for start, end in places)).text


# Which of two speakers serves or treats the other, by their words

SPOKEN_ROLES = ("agent", "customer", "doctor", "patient", "")
"""What the model knows; an empty one is of people who are none of them."""
PAIRS = ((0, 1), (1, 0), (2, 3), (3, 2), (4, 4))
"""Two of them, by their numbers."""

_WEIGHTS = Path(__file__).parents[1] / "assets" / "language" / "roles.txt"
# The chance from which on a role is told; of fewer known words, 1 in 20 would be wrong from 0.6 on.
_LEAST, _FEW_WORDS, _LEAST_OF_FEW = 0.6, 20, 0.8
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


class RoleWeights(NamedTuple):
    """Of each word, by its row, and of none the weights for `SPOKEN_ROLES`: (V, 5) and (5,)."""

    rows: Mapping[str, int]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]

    def words(self, text: str) -> set[str]:
        """The words of a text."""
        return set(_WORD.findall(text.lower().replace("’", "'")))

    def chances(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """How likely two who say some texts are each of `PAIRS`."""
        scores = np.stack([self.features(text) for text in texts]) @ self.weights + self.bias
        chances = np.exp([scores[0, one] + scores[1, other] for one, other in PAIRS])
        total: NDArray[np.float64] = chances / chances.sum()
        return total

    def features(self, text: str) -> NDArray[np.float32]:
        """(V,): the known words of a text, each as much as the others, of length one together."""
        features = np.zeros(len(self.rows), np.float32)
        features[[self.rows[word] for word in self.words(text) if word in self.rows]] = 1
        return features / max(1.0, float(np.sqrt(features.sum())))


@cache
def role_weights() -> RoleWeights:
    """Those that the package holds: a line has a word, the first one none, and hundredths."""
    lines = [line.split(" ") for line in _WEIGHTS.read_text("utf-8").splitlines()]
    table = np.array([line[1:] for line in lines]).astype(np.float32) / np.float32(100)
    return RoleWeights({line[0]: n for n, line in enumerate(lines[1:])}, table[1:], table[0])


def spoken_roles(said: Mapping[str, str]) -> dict[str, str]:
    """What two speakers are, by all that each says; empty where unsure, or of more than two."""
    if len(said) != len(PAIRS[0]):
        return {}
    model = role_weights()
    chances = model.chances(list(said.values()))
    best = PAIRS[int(chances.argmax())]
    words = min(len(model.words(text) & model.rows.keys()) for text in said.values())
    least = _LEAST if words >= _FEW_WORDS else _LEAST_OF_FEW
    if chances.max() < least or not SPOKEN_ROLES[best[0]]:
        return {}
    return {name: SPOKEN_ROLES[n] for name, n in zip(said, best, strict=True)}
