"""The user profile: what is known of a customer beside the dialogue (KDD 2019 paper, section 5).

A model that reads profiles is given them as the first utterances, one for each field, which nobody
speaks (`Dialogue.with_profile_turns`). All that looks at utterances (search, evidence, checks) then
knows the fields, too; `engine.profile` tells them apart again in the summary.
"""

import re

from dialogist.records import JSON, Dialogue

PROFILE = "profile"
"""The key of a record that holds it; what of it cannot be read stays there in the metadata."""

PROFILE_PREFIX = f"{PROFILE}."
"""Before a field's name, where a statement cites it."""

MOST_FIELDS = 50
_LONGEST_NAME, _LONGEST_VALUE = 64, 500  # characters


def profile_of(value: JSON) -> tuple[dict[str, str], dict[str, JSON]]:
    """The fields of a record's profile that can be read, as text, and those that cannot.

    A value is text, a number, true or false, or a list of these, which are joined by semicolons.
    """
    fields: dict[str, str] = {}
    ignored: dict[str, JSON] = {}
    for name, one in value.items() if isinstance(value, dict) else ():
        text = _text(one)
        is_named = bool(name.strip()) and name.isprintable() and len(name) <= _LONGEST_NAME
        if text and is_named and len(text) <= _LONGEST_VALUE and len(fields) < MOST_FIELDS:
            fields[name.strip()] = text
        else:
            ignored[name] = one
    return fields, ignored


def _text(value: JSON) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        texts = [_text(one) for one in value if not isinstance(one, list)]
        return "; ".join(texts) if all(texts) else ""
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def title_of_field(name: str) -> str:
    """A field's name in words: ``home_address`` is "home address"."""
    return " ".join(name.replace("_", " ").split())


def stands_in(value: str, text: str) -> bool:
    """Whether a text has a value, as whole words in any case."""
    pattern = rf"(?<!\w){re.escape(value)}(?!\w)"
    return re.search(pattern, text, re.IGNORECASE) is not None


def is_said(value: str, dialogue: Dialogue) -> bool:
    """Whether somebody says a value in the dialogue."""
    return any(stands_in(value, one.text) for one in dialogue.utterances)
