"""Promises in reported statements: "The agent will send a label" is an action of the agent."""

import re
from collections.abc import Sequence

from dialogist.records import Statement
from dialogist.template.filled import Entry
from dialogist.text.deadlines import deadline_in
from dialogist.text.listing import word_set
from dialogist.text.reported_speech.participants import written_name

_CONDITION = re.compile(r"\b(?:if|unless|until|whether)\b", re.I)
# What is looked at at once, or understood by what was said before alone.
_OPEN = re.compile(
    r"(?:go (?:and )?(?:look|check|see|ask)|(?:have|take) a look|check|look)\b|"
    r".*\b(?:it|that|this|them|those|these|one)\b(?! \w+ing)",
    re.I,
)
# What nobody sets out to do.
_STATES = word_set(
    "be have need want see know think feel like love hate hope find wait stay miss get lose owe "
    "not never probably maybe cost take remember forget understand mean seem become"
)


def promise_in(statement: Statement, speakers: Sequence[str]) -> Entry | None:
    """What a speaker will do by a reported statement; None where it tells no such thing."""
    if statement.kind != "reported" or _CONDITION.search(statement.text):
        return None
    for speaker in speakers:
        subject = f"{written_name(speaker)} will "
        if not statement.text.casefold().startswith(subject.casefold()):
            continue
        deed = statement.text[len(subject) :].strip().rstrip(".")
        verb, _, rest = deed.partition(" ")
        if verb.casefold() in _STATES or not rest or _OPEN.match(deed):
            return None
        return Entry(
            deed, "summary", owner=speaker, deadline=deadline_in(deed), kind=statement.kind
        )
    return None
