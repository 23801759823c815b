"""Stems of English words: ``went``, ``going`` and ``go`` are one."""

from functools import lru_cache

from dialogist.text.porter import porter_stem
from dialogist.text.verbs import IRREGULAR

# "purchases" is no form in the list, but its stem is one's.
_STEMS: dict[str, str] = {porter_stem(form): porter_stem(b) for form, b in IRREGULAR.items()}
_KEPT = 1 << 16  # words; stemming takes a hundred times as long as looking up
_LONGEST = 40  # letters of a word; a longer row of them is none


@lru_cache(maxsize=_KEPT)
def stem_of(word: str) -> str:
    """The stem of a lower-cased word: Porter's, of its base form where it is irregular."""
    base = IRREGULAR.get(word, word)
    if len(base) > _LONGEST:
        return base
    stem = porter_stem(base)
    return _STEMS.get(stem, stem)
