"""Which other words of a dialogue mean a speaker: names that speakers call themselves.

``Agent: Hi, this is Priya.`` makes "Priya" another name of Agent wherever it is said: a model that
does not know would give the name to whoever it likes. A speaker labelled ``Bo Chen`` is "Bo", too.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from dialogist.records import Dialogue, Utterance
from dialogist.text.introductions import initials, names_called, own_names, unsigned
from dialogist.text.people import ROLES, is_only_name

_LABEL_PARTS = re.compile(r"[^\W\d_]+")
_FULL_NAME = re.compile(
    r"([A-Z\u00c0-\u00de][\w'’-]*[a-z])(?: [A-Z]\.?)? [A-Z\u00c0-\u00de][\w'’-]*[a-z]"
)
_PLACE = r"\b(?:on|at|in|from|by|the|an?|my|your|our|of) "
_SIGNS_OFTEN = 2  # utterances of one speaker that end in two capital letters


def is_generic(label: str) -> bool:
    """Whether a speaker's label says a role or a number, and no name."""
    parts = _LABEL_PARTS.findall(label)
    return bool(parts) and not label.startswith("#") and all(p.lower() in ROLES for p in parts)


def other_names(dialogue: Dialogue) -> dict[str, str]:
    """Name -> the speaker whom it means; names that two speakers claim mean nobody."""
    claims: dict[str, set[str]] = defaultdict(set)
    for name, label in (*_introduced(dialogue), *_first_names(dialogue.speakers)):
        for form in _forms(name):
            claims[form].add(label)
    labels = {label.casefold() for label in dialogue.speakers}
    text = "\n".join(utterance.text for utterance in dialogue.utterances)
    return {
        name: next(iter(having))
        for name, having in claims.items()
        if len(having) == 1
        and name.casefold() not in labels
        and not re.search(rf"{_PLACE}{re.escape(name)}\b", text)
    }


def without_signatures(dialogue: Dialogue) -> Dialogue:
    """The dialogue without the signatures of speakers that have a generic label."""
    signing = _signing(dialogue)
    kept = [_unsigned(u, u.speaker in signing) for u in dialogue.utterances]
    return replace(dialogue, utterances=tuple(kept))


def _introduced(dialogue: Dialogue) -> Iterator[tuple[str, str]]:
    """Names that speakers give themselves, or that the only other speaker calls them."""
    labels = dialogue.speakers
    for utterance in dialogue.utterances:
        speaker = utterance.speaker
        if is_generic(speaker):
            yield from ((name, speaker) for name in own_names(utterance.text))
        if len(labels) == 2 and speaker in labels:
            other = labels[1 - labels.index(speaker)]
            if is_generic(other):
                yield from ((name, other) for name in names_called(utterance.text))


def _forms(name: str) -> Iterator[str]:
    """A name, its first word, and that in small letters where it can be nothing but a name."""
    first = name.split()[0]
    yield from dict.fromkeys((name, first))
    if is_only_name(first):
        yield first.lower()


def _first_names(labels: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for label in labels:
        full = _FULL_NAME.fullmatch(label)
        if full and not any(p.lower() in ROLES for p in _LABEL_PARTS.findall(label)):
            yield full[1], label


def _signing(dialogue: Dialogue) -> set[str]:
    """The speakers who end more than one utterance in two capital letters."""
    count: dict[str, int] = defaultdict(int)
    for utterance in dialogue.utterances:
        if is_generic(utterance.speaker) and initials(utterance.text):
            count[utterance.speaker] += 1
    return {speaker for speaker, times in count.items() if times >= _SIGNS_OFTEN}


def _unsigned(utterance: Utterance, signs: bool) -> Utterance:
    if not is_generic(utterance.speaker):
        return utterance
    text = unsigned(utterance.text)
    found = initials(text) if signs else None
    text = text[: found.start()] if found else text
    return replace(utterance, text=text) if text.strip() else utterance
