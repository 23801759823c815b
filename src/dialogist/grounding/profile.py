"""Which fields of the user profile statements rest on: "my plan", where nobody says which."""

import re

from dialogist.language.roles import PROFILED_ROLES, role_of
from dialogist.records import PROFILE_PREFIX, Dialogue, Statement, title_of_field


class ProfileFields:
    """The fields of a dialogue's profile that its customer's own things are named by."""

    def __init__(self, dialogue: Dialogue) -> None:
        self._utterances = dialogue.utterances
        self._owner = _owner_of(dialogue)
        self._left = {
            name: title_of_field(name)
            for name, value in dialogue.profile.items()
            if self._owner and not self._is_told(title_of_field(name), value)
        }

    def of(self, statement: Statement) -> tuple[str, ...]:
        """The fields that a statement is the first to mention: as "my" by the customer, else as
        "your", in the words that it rests on."""
        fields = []
        for name, title in list(self._left.items()):
            if title.lower() not in statement.text.lower():
                continue
            for span in statement.evidence:
                utterance = self._utterances[span.utterance]
                whose = "my" if utterance.speaker == self._owner else "your"
                words = utterance.text[span.start : span.end]
                if re.search(_of(whose, title), words, re.IGNORECASE):
                    fields.append(f"{PROFILE_PREFIX}{name}")
                    del self._left[name]
                    break
        return tuple(fields)

    def _is_told(self, title: str, value: str) -> bool:
        """Whether somebody says what the field is: its value, or "my plan is ..."."""
        told = (
            rf"{_of('(?:my|your|the)', title)}(?:['’]s| is| was|:)|(?<!\w){re.escape(value)}(?!\w)"
        )
        return any(re.search(told, u.text, re.IGNORECASE) for u in self._utterances)


def _of(whose: str, title: str) -> str:
    return rf"\b{whose}\s+(?:\w+\s+)?{re.escape(title)}\b"


def _owner_of(dialogue: Dialogue) -> str:
    """The speaker that the profile is of; empty where there is not exactly one, or of many."""
    if len(dialogue.speakers) != 2:
        return ""
    name = dialogue.profile.get("name", "").casefold()
    roles = {u.speaker: (u.role or role_of(u.speaker)).lower() for u in dialogue.utterances}
    owners = [s for s in dialogue.speakers if name and s.casefold() == name]
    owners = owners or [s for s in dialogue.speakers if roles[s] in PROFILED_ROLES]
    return owners[0] if len(owners) == 1 else ""
