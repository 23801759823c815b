"""From a prepared dialogue's tokens back to the utterances that were said."""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from dialogist.data.encode import Encoded
from dialogist.records import Dialogue, Example
from dialogist.text.words import count_words


def origins_of_tokens(
    example: Example, encoded: Encoded, dialogue: Dialogue, eos: int
) -> NDArray[np.int64]:
    """(S,) the utterance of the dialogue behind each source token, -1 of begin and end.

    Where several utterances were merged, each has as many of the tokens as it has of the words:
    their texts stand one behind the other.
    """
    ended = bool(encoded.source) and encoded.source[-1] == eos  # a cut may have taken it
    places = np.full(len(encoded.source), -1, dtype=np.int64)
    ends = (*encoded.starts[1:], len(encoded.source) - int(ended))
    for number, (start, end) in enumerate(zip(encoded.starts, ends, strict=True)):
        origins = example.origins[number] if example.origins else (number,)
        words = [1 + count_words(dialogue.utterances[i].text) for i in origins]
        for origin, (first, last) in zip(origins, _split(end - start, words), strict=True):
            places[start + first : start + last] = origin
    return places


def _split(tokens: int, words: Sequence[int]) -> list[tuple[int, int]]:
    """(first, after the last) token of each of some texts in a row."""
    total = sum(words)
    ends = [round(tokens * done / total) for done in accumulate(words)]
    return list(zip((0, *ends), ends, strict=False))
