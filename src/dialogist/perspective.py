"""What people are called in a summary: by names that were asked for, by name or by role.

Speakers are renamed before a dialogue is read, so a quote has its speaker's new name before it;
what somebody says stays as it was said.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from dialogist.errors import UsageError, nearest
from dialogist.privacy.persons import names_called, own_names
from dialogist.records import Dialogue, Perspective

_TAG = re.compile(r"#\s?[Pp]erson\s?\d+\s?#|(?:speaker|person|spk)[ _]?\d+", re.I)


def rename_speakers(
    dialogue: Dialogue, names: Mapping[str, str], perspective: Perspective | None = None
) -> tuple[Dialogue, Mapping[str, str], tuple[str, ...]]:
    """The dialogue with people called otherwise, by which names, and in words who kept theirs.

    ``names`` (old: new) go before the perspective. ``role``: ``Customer``, ``Agent`` as
    `Utterance.role` says; several of one role are numbered. ``name``: where speakers are tags
    (``#Person1#``) or go by their role, the name that they or, of two, the other one says.

    Raises:
        UsageError: nobody in the dialogue has an old name, or somebody else has a new one.
    """
    for old, new in names.items():
        check_speaker(old, dialogue)
        if new != old and new in dialogue.speakers and new not in names:
            raise UsageError(f"'{old}' cannot be called '{new}': somebody else is; rename both")
    renamed = dict(names)
    notes: tuple[str, ...] = ()
    if perspective is not None:
        nameless = _nameless(dialogue) if perspective == "name" else set(dialogue.speakers)
        known = _roles(dialogue) if perspective == "role" else _said_names(dialogue, nameless)
        # A new name that somebody else has keeps its owner's: two people must not become one.
        taken = {*names.values(), *(s for s in dialogue.speakers if s not in known)}
        renamed = {old: new for old, new in known.items() if new not in taken} | renamed
        unknown = [s for s in dialogue.speakers if s in nameless and s not in renamed]
        if unknown:
            notes = (f"no {perspective} is known for {', '.join(unknown)}: kept as written",)
    utterances = (
        replace(u, speaker=renamed.get(u.speaker, u.speaker)) for u in dialogue.utterances
    )
    changed = replace(dialogue, utterances=tuple(utterances), is_verbatim=False)
    return (changed if renamed else dialogue), renamed, notes


def check_speaker(speaker: str, dialogue: Dialogue) -> None:
    """See that somebody of that name says something.

    Raises:
        UsageError: nobody does.
    """
    if speaker not in dialogue.speakers:
        there = ", ".join(dialogue.speakers) or "nobody by name"
        hint = nearest(speaker, dialogue.speakers)
        raise UsageError(f"'{speaker}' says nothing in this dialogue{hint} (there are: {there})")


def _roles(dialogue: Dialogue) -> dict[str, str]:
    roles = {u.speaker: u.role.strip() for u in reversed(dialogue.utterances) if u.role.strip()}
    known = {s: roles[s][:1].upper() + roles[s][1:] for s in dialogue.speakers if s in roles}
    counts, numbers = Counter(known.values()), Counter[str]()
    for speaker, role in known.items():
        if counts[role] > 1:
            numbers[role] += 1
            known[speaker] = f"{role} {numbers[role]}"
    return known


def _nameless(dialogue: Dialogue) -> set[str]:
    """The speakers that are tags, or go by their role."""
    by_role = {u.speaker for u in dialogue.utterances if u.role.lower() == u.speaker.lower()}
    return {s for s in dialogue.speakers if _TAG.fullmatch(s) or s in by_role}


def _said_names(dialogue: Dialogue, nameless: set[str]) -> dict[str, str]:
    """Names for speakers that have none of their own; the most frequent one of each."""
    votes: dict[str, Counter[str]] = {speaker: Counter() for speaker in nameless}
    speakers = dialogue.speakers
    for utterance in dialogue.utterances:
        if utterance.speaker in nameless:
            votes[utterance.speaker].update(2 * list(own_names(utterance.text)))
        if len(speakers) == 2 and utterance.speaker in speakers:
            other = speakers[1 - speakers.index(utterance.speaker)]
            if other in nameless:
                votes[other].update(names_called(utterance.text))
    known = {s: counts.most_common(1)[0][0] for s, counts in votes.items() if counts}
    several = {name for name, count in Counter(known.values()).items() if count > 1}
    return {speaker: name for speaker, name in known.items() if name not in several}
