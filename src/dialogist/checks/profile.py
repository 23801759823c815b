"""Which fields of the user profile statements rest on, told apart from utterances.

In free style a network reads the fields as the first utterances (`Dialogue.with_profile_turns`);
here they are taken out of the summary again. In faithful style nobody said them: where a customer
speaks of "my plan", and never says which, a note behind the statement gives the field.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from dialogist.records import (
    PROFILE_PREFIX,
    Dialogue,
    EvidenceSpan,
    Statement,
    Summary,
    title_of_field,
)
from dialogist.language.roles import PROFILED_ROLES, role_of
from dialogist.language.tokens import words_in

_FEWEST_LETTERS = 4  # of a word that a statement and a field may have in common


def without_profile_turns(summary: Summary, dialogue: Dialogue) -> Summary:
    """The summary of `with_profile_turns`, in the numbers of the dialogue itself."""
    count = len(dialogue.profile)
    if not count:
        return summary
    coverage = summary.coverage
    use = coverage.use[count:]
    total = sum(use)
    return replace(
        summary,
        sentences=tuple(_apart(one, dialogue) for one in summary.sentences),
        key_points=tuple(_apart(one, dialogue) for one in summary.key_points),
        entities=tuple(
            replace(one, utterance=one.utterance - count)
            for one in summary.entities
            if one.utterance >= count
        ),
        coverage=replace(
            coverage,
            utterances=max(0, coverage.utterances - count),
            utterances_read=max(0, coverage.utterances_read - count),
            windows=tuple((max(0, a - count), max(0, b - count)) for a, b in coverage.windows),
            dropped=tuple(
                replace(one, utterance=one.utterance - count)
                for one in coverage.dropped
                if one.utterance >= count
            ),
            use=tuple(round(one / total, 4) for one in use) if total else (),
        ),
    )


def _apart(statement: Statement, dialogue: Dialogue) -> Statement:
    """Evidence in the profile becomes the names of its fields."""
    fields = list(dialogue.profile.items())
    cited = {span.utterance for span in statement.evidence}
    found = tuple(
        f"{PROFILE_PREFIX}{name}"
        for number, (name, value) in enumerate(fields)
        if _rests_on(statement.text, value, number in cited, dialogue)
    )
    said = tuple(
        replace(one, utterance=one.utterance - len(fields))
        for one in statement.evidence
        if one.utterance >= len(fields)
    )
    return replace(statement, evidence=said, profile=found)


def _rests_on(text: str, value: str, is_cited: bool, dialogue: Dialogue) -> bool:
    """Whether a statement has a value that nobody says, or cites the field and shares a word."""
    if _stands_in(value, text):
        return is_cited or not _is_said(value, dialogue)
    words = {word for word in words_in(value.lower()) if len(word) >= _FEWEST_LETTERS}
    return is_cited and not words.isdisjoint(words_in(text.lower()))


def _stands_in(value: str, text: str) -> bool:
    """Whether a text has a value, as whole words in any case."""
    pattern = rf"(?<!\w){re.escape(value)}(?!\w)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def _is_said(value: str, dialogue: Dialogue) -> bool:
    """Whether somebody says a value in the dialogue."""
    return any(_stands_in(value, one.text) for one in dialogue.utterances)


class ProfileNotes:
    """Notes from a dialogue's profile behind statements about its customer's own things."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._dialogue = dialogue
        self._owner = _owner_of(dialogue)
        self._left = {
            name: value
            for name, value in dialogue.profile.items()
            if self._owner and not _is_said(value, dialogue) and not self._is_told(name)
        }

    def note(self, text: str, evidence: Sequence[EvidenceSpan]) -> tuple[str, tuple[str, ...]]:
        """A statement with a note of the fields that it mentions first, and their names."""
        found = [name for name in self._left if self._mentions(name, text, evidence)]
        if not found:
            return text, ()
        told = "; ".join(f"{title_of_field(name)} {self._left.pop(name)}" for name in found)
        end = text[-1] if text[-1] in ".!?" else ""
        noted = f"{text.removesuffix(end)} (profile: {told}){end}"
        return noted, tuple(f"{PROFILE_PREFIX}{name}" for name in found)

    def _mentions(self, name: str, text: str, evidence: Sequence[EvidenceSpan]) -> bool:
        title = title_of_field(name)
        if not _stands_in(title, text):
            return False
        for span in evidence:
            turn = self._dialogue.utterances[span.utterance]
            whose = "my" if turn.speaker == self._owner else "your"
            if re.search(_of(whose, title), turn.text[span.start : span.end], re.IGNORECASE):
                return True
        return False

    def _is_told(self, name: str) -> bool:
        """Whether somebody says what the field is: "my plan is Silver"."""
        told = rf"{_of('(?:my|your|the)', title_of_field(name))}(?:['’]s| is| was|:)"
        return any(re.search(told, u.text, re.IGNORECASE) for u in self._dialogue.utterances)


def _of(whose: str, title: str) -> str:
    return rf"\b{whose}\s+(?:\w+\s+)?{re.escape(title)}\b"


def _owner_of(dialogue: Dialogue) -> str:
    """The speaker that the profile is of; empty where there is not exactly one, or of many."""
    if len(dialogue.speakers) != 2:
        return ""
    name = dialogue.profile.get("name", "").casefold()
    named = [one for one in dialogue.speakers if name and one.casefold() == name]
    roles = {one.speaker: one.role or role_of(one.speaker) for one in dialogue.utterances}
    found = named or [one for one in dialogue.speakers if roles[one].lower() in PROFILED_ROLES]
    return found[0] if len(found) == 1 else ""
