"""Content words of what is said, as stems, and how rare they are."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from dialogist.selection.cues import SPOKEN
from dialogist.text.porter import stem_of
from dialogist.text.tokens import FUNCTION_WORDS

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
