"""Merging of adjacent short utterances of one speaker, as in the KDD'19 paper (section 4.1)."""

from collections.abc import Sequence

from dialogist.records import Utterance
from dialogist.text.words import count_words


def group_short(utterances: Sequence[Utterance], below: int) -> list[list[Utterance]]:
    """Neighbours of one speaker together while their words in sum stay below ``below``."""
    groups: list[list[Utterance]] = []
    words = 0
    for utterance in utterances:
        own = count_words(utterance.text)
        if groups and _same_voice(groups[-1][-1], utterance) and words + own < below:
            groups[-1].append(utterance)
            words += own
        else:
            groups.append([utterance])
            words = own
    return groups


def merge(group: Sequence[Utterance]) -> Utterance:
    """One utterance of all that a group says."""
    text = " ".join(utterance.text for utterance in group if utterance.text)
    return Utterance(group[0].speaker, text, group[0].role)


def _same_voice(one: Utterance, other: Utterance) -> bool:
    return one.speaker == other.speaker and one.role == other.role
