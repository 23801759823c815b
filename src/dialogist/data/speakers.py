"""Speakers as atomic tokens: names out of the text and back in, exactly.

Inside the model a speaker is one private character (one token), numbered by first appearance. It
can be copied or produced whole or not at all, never in half, and a name that training never saw
is handled like any other. The reports keep names inline instead (``#Person1#:`` as plain text).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from dialogist.records import Dialogue, Utterance
from dialogist.language.people import initials, is_only_name, names_called, own_names, unsigned
from dialogist.language.roles import ROLE_NUMBERS, ROLES
from dialogist.language.tokens import count_words
from dialogist.tokenizers import PLACEHOLDERS, placeholder

_LETTER = r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_TITLE = r"(?:\b(?:Mr|Mrs|Ms|Miss|Dr|Prof|Doctor|Professor)\b\.?\s)?"
_PLACEHOLDER = re.compile(f"[{placeholder(0)}-{placeholder(PLACEHOLDERS - 1)}]")


class SpeakerTable:
    """The speakers of one dialogue and the placeholders that stand for them.

    Names beyond the first `PLACEHOLDERS` have no placeholder and stay plain text (`overflow`).
    ``others`` are further names of these speakers; text has the placeholder for them, too.
    """

    def __init__(self, names: Iterable[str], others: Mapping[str, str] | None = None) -> None:
        distinct = tuple(dict.fromkeys(name for name in names if name))
        self.names = distinct[:PLACEHOLDERS]
        self.overflow = distinct[PLACEHOLDERS:]
        self._index = {name: i for i, name in enumerate(self.names)}
        self._mention = _mention_pattern(self.names)
        own = {name: self.token(label) for name, label in (others or {}).items()}
        self._others = own
        self._other_mention = _other_pattern(own)

    def token(self, name: str) -> str:
        """The placeholder of a speaker; a name without one stays itself."""
        return placeholder(self._index[name]) if name in self._index else name

    def mask(self, text: str) -> str:
        """Replace every whole-word mention of a speaker by the placeholder (case-sensitive).

        Names of one letter stay: an "A" or "I" in running text is hardly ever the speaker.
        """
        if self._mention is not None:
            text = self._mention.sub(lambda match: self.token(match.group()), text)
        if self._other_mention is not None:
            text = self._other_mention.sub(lambda match: self._others[match["name"]], text)
        return text


class RoleTable:
    """The roles of one dialogue's speakers as placeholders: who asks is 0, who serves is 1.

    A speaker whose role is not known takes the first number that is left, by first appearance; so
    two speakers without roles are 0 and 1 in the order in which they speak. (Liu et al., KDD 2019,
    section 3.1: "a special token which represents the role of speaker", user or agent.)
    Speakers beyond the first `PLACEHOLDERS` (`overflow`) have the last number, too.
    """

    def __init__(self, utterances: Iterable[Utterance]) -> None:
        spoken = dict.fromkeys(_role_key(u) for u in utterances if u.speaker or u.role)
        self._number = {key: ROLE_NUMBERS[key] for key in spoken if key in ROLE_NUMBERS}
        taken = set(self._number.values())
        left = (i for i in range(PLACEHOLDERS) if i not in taken)
        for key in spoken:
            if key not in self._number:
                self._number[key] = next(left, PLACEHOLDERS - 1)
        self.overflow = tuple(self._number)[PLACEHOLDERS:]

    def token(self, utterance: Utterance) -> str:
        """The placeholder of the role in which an utterance is said; empty if nobody says it."""
        number = self._number.get(_role_key(utterance))
        return "" if number is None else placeholder(number)


def _role_key(utterance: Utterance) -> str:
    known = utterance.role in ROLE_NUMBERS
    return utterance.role if known or not utterance.speaker else utterance.speaker


def _mention_pattern(names: Sequence[str]) -> re.Pattern[str] | None:
    telling = [name for name in names if len(name) > 1 or not re.match(_LETTER, name)]
    if not telling:
        return None
    longest_first = sorted(telling, key=len, reverse=True)  # "Ann Lee" before "Ann"
    return re.compile("|".join(_whole_word(name) for name in longest_first))


def _other_pattern(names: Iterable[str]) -> re.Pattern[str] | None:
    """Further names with the title before them; "Tom" not where "Tom Hanks" is meant."""
    longest_first = sorted(names, key=len, reverse=True)
    if not longest_first:
        return None
    either = "|".join(map(re.escape, longest_first))
    return re.compile(rf"{_TITLE}(?<!{_LETTER})(?P<name>{either})(?!{_LETTER})(?! [A-Z][a-z])")


def _whole_word(name: str) -> str:
    """``Ann`` not inside ``Anna``; a border is demanded only where the name ends in a letter.

    Chinese and Japanese are written without spaces: there is no border, neither around such a
    name nor between it and another.
    """
    before = f"(?<!{_LETTER})" if re.match(_LETTER, name) else ""
    after = f"(?!{_LETTER})" if re.match(_LETTER, name[-1]) else ""
    return before + re.escape(name) + after


def restore_speakers(text: str, names: Sequence[str]) -> str:
    """Put names back for placeholders; one that no speaker stands behind is removed.

    (A model may produce a third speaker in a dialogue of two: that is no person at all.)
    """

    def name_of(match: re.Match[str]) -> str:
        index = ord(match.group()) - ord(placeholder(0))
        return names[index] if index < len(names) else ""

    return _PLACEHOLDER.sub(name_of, text)


# Which other words of a dialogue mean a speaker: names that speakers call themselves.
#
# ``Agent: Hi, this is Priya.`` makes "Priya" another name of Agent wherever it is said: a model
# that does not know would give the name to whoever it likes. A speaker labelled ``Bo Chen`` is
# "Bo", too.


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


# Merging of adjacent short utterances of one speaker, as in the KDD'19 paper (section 4.1).


def group_short(utterances: Sequence[Utterance], below: int) -> list[list[Utterance]]:
    """Neighbours of one speaker together while their words in sum stay below ``below``."""
    groups: list[list[Utterance]] = []
    words = 0
    for utterance in utterances:
        own = count_words(utterance.text)
        last = groups[-1][-1] if groups else utterance
        same = (last.speaker, last.role) == (utterance.speaker, utterance.role)
        if groups and same and words + own < below:
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
