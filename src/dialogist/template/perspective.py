"""What people are called in a summary: as the dialogue does, by their names, or by their roles."""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeAlias

from dialogist.metrics.speaker_mentions import Speakers
from dialogist.records import Dialogue
from dialogist.text.names import name_mentions

Perspective: TypeAlias = Literal["name", "role"]

_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Professor|Doctor)\b\.? ?$")
_TAG = re.compile(r"#\s?[Pp]erson\s?\d+\s?#|(?:speaker|person|spk)[ _]?\d+", re.I)


def names_by(
    perspective: Perspective, dialogue: Dialogue
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """What to rename for a perspective, for `rename`, and whom it has no name for, in words.

    ``role``: ``Customer``, ``Agent`` as `Utterance.role` says; several of one role are numbered in
    order of appearance. ``name``: where speakers are tags (``#Person1#``) or go by their role, the
    name by which two speakers call each other or themselves.
    """
    found = _roles(dialogue) if perspective == "role" else _called(dialogue)
    names = {old: new for old, new in found.items() if new and new != old}
    # A new name that somebody else has keeps its owner's: two people must not become one.
    taken = {s for s in dialogue.speakers if s not in names}
    names = {old: new for old, new in names.items() if new not in taken}
    unknown = [s for s in dialogue.speakers if s not in names and _lacks(s, perspective, dialogue)]
    told = f"no {perspective} is known for {', '.join(unknown)}: kept as written"
    return names, (told,) if unknown else ()


def _roles(dialogue: Dialogue) -> dict[str, str]:
    roles = {u.speaker: u.role.strip() for u in reversed(dialogue.utterances) if u.role.strip()}
    known = {s: roles[s][:1].upper() + roles[s][1:] for s in dialogue.speakers if s in roles}
    several = {role for role, count in Counter(known.values()).items() if count > 1}
    numbers: Counter[str] = Counter()
    for speaker, role in known.items():
        if role in several:
            numbers[role] += 1
            known[speaker] = f"{role} {numbers[role]}"
    return known


def _called(dialogue: Dialogue) -> dict[str, str]:
    """Names for speakers that have none of their own; the most frequent one of each."""
    speakers = Speakers(dialogue)
    nameless = {s for s in dialogue.speakers if _is_nameless(s, dialogue)}
    votes: dict[str, Counter[str]] = {s: Counter() for s in nameless}
    for utterance in dialogue.utterances:
        for mention in name_mentions(utterance.text):
            name = utterance.text[mention.start : mention.end]
            number = speakers.who(name.split()[-1].lower())
            if number is not None and speakers.names[number] in nameless:
                title = _TITLE.search(utterance.text[: mention.start])
                full = f"{title[0].strip()} {name}" if title else name
                votes[speakers.names[number]][full] += 1
    found = {s: counts.most_common(1)[0][0] for s, counts in votes.items() if counts}
    several = {name for name, count in Counter(found.values()).items() if count > 1}
    return {speaker: name for speaker, name in found.items() if name not in several}


def _is_nameless(speaker: str, dialogue: Dialogue) -> bool:
    if _TAG.fullmatch(speaker):
        return True
    return any(
        u.speaker == speaker and u.role.lower() == speaker.lower() for u in dialogue.utterances
    )


def _lacks(speaker: str, perspective: Perspective, dialogue: Dialogue) -> bool:
    if perspective == "name":
        return _is_nameless(speaker, dialogue)
    return not any(u.speaker == speaker and u.role.strip() for u in dialogue.utterances)
