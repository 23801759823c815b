"""Merging of adjacent short utterances of one speaker, as in the KDD'19 paper (section 4.1)."""

from collections.abc import Sequence

from dialogist.records import Utterance
from dialogist.text.words import count_words


def merge_short(utterances: Sequence[Utterance], below: int) -> tuple[Utterance, ...]:
    """Join neighbours of one speaker while their words in sum stay below ``below``."""
    merged: list[Utterance] = []
    words = 0
    for utterance in utterances:
        own = count_words(utterance.text)
        if merged and _same_voice(merged[-1], utterance) and words + own < below:
            text = f"{merged[-1].text} {utterance.text}".strip()
            merged[-1] = Utterance(utterance.speaker, text, utterance.role)
            words += own
        else:
            merged.append(utterance)
            words = own
    return tuple(merged)


def _same_voice(one: Utterance, other: Utterance) -> bool:
    return one.speaker == other.speaker and one.role == other.role
