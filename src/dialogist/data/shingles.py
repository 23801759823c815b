"""Runs of words as numbers: what dialogues that repeat each other have in common."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from dialogist.records import Dialogue
from dialogist.text.words import words_of

Hashes: TypeAlias = npt.NDArray[np.uint64]

_FACTOR = 0x9E3779B97F4A7C15


def dialogue_words(dialogue: Dialogue) -> list[str]:
    """Return the words of a dialogue in small letters; who speaks them does not count."""
    text = "\n".join(utterance.text for utterance in dialogue.utterances).lower()
    return words_of(text) or text.split()


def digest(text: str) -> int:
    """64 bits of a text."""
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big")


def shingles_of(words: Sequence[str], width: int, known: dict[str, int]) -> Hashes:
    """The distinct hashes of all runs of ``width`` words; of fewer words, of all of them.

    ``known`` remembers the words' own hashes from call to call.
    """
    for word in words:
        if word not in known:
            known[word] = digest(word)
    hashes = np.array([known[word] for word in words], dtype=np.uint64)
    width = min(width, len(hashes))
    count = len(hashes) - width + 1
    total = np.zeros(count, dtype=np.uint64)
    for place in range(width):  # a polynomial in a fixed odd factor, modulo 2**64
        total = total * np.uint64(_FACTOR) + hashes[place : place + count]
    return np.unique(total)
