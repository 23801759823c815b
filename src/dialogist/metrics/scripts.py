"""Scripts of writing, and the letters that a metric's tokenizer makes nothing of.

A tokenizer that knows ASCII letters alone finds no word in Chinese, one that splits at white space
finds one word in a sentence of it: figures are then 0, or say nothing. Every metric of this package
that compares texts has a method ``reads(script)``.

Scripts are named as Unicode names characters, in small letters: ``latin``, ``cjk``, ``hiragana``,
``katakana``, ``hangul``, ``cyrillic``, ``greek``, ``arabic``, ``hebrew``, ``thai`` ...
"""

import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from typing import Protocol, runtime_checkable

from dialogist.metrics.base import Metric

UNSPACED = frozenset({"cjk", "hiragana", "katakana", "thai", "lao", "khmer", "myanmar"})
"""Scripts that put no space between words."""

# What the names of some characters begin with instead of their script.
_ALSO = {"fullwidth": "latin", "ideographic": "cjk", "kangxi": "cjk", "halfwidth": "katakana"}


@runtime_checkable
class Reader(Protocol):
    """A metric that says which scripts it reads."""

    def reads(self, script: str) -> bool:
        """Whether it can tell words of that script apart."""


def reads(metric: Metric, script: str) -> bool:
    """Whether a metric can tell words of a script apart; one that compares no words can."""
    return metric.reads(script) if isinstance(metric, Reader) else True


def letters(texts: Iterable[str]) -> Counter[str]:
    """How many letters of each script there are."""
    characters: Counter[str] = Counter()
    for text in texts:
        characters.update(text)
    found: Counter[str] = Counter()
    for character, count in characters.items():
        if character.isalpha():
            found[_script(character)] += count
    return found


def unread(metric: Metric, texts: Iterable[str]) -> dict[str, float]:
    """The share of all letters, by script, that a metric cannot read: ``{"cjk": 0.97}``."""
    found = letters(texts)
    total = found.total()
    return {
        script: count / total for script, count in found.most_common() if not reads(metric, script)
    }


@lru_cache(10_000)
def _script(character: str) -> str:
    first = unicodedata.name(character, "unknown").split()[0].lower()
    return _ALSO.get(first, first)
