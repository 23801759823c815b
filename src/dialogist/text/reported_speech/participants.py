"""Who takes part: names as they are written, what they are called, and whom a turn addresses."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dialogist.text.aliases import NICKNAMES
from dialogist.text.listing import word_set

_GENERIC = word_set("""
agent customer caller guest doctor patient employee reader coach optician mother father client user
system assistant visitor nurse manager teacher student interviewer interviewee candidate applicant
speaker clerk receptionist waiter waitress host passenger driver operator representative dentist
pharmacist therapist counselor counsellor lawyer landlord tenant seller buyer boss technician bot
parent librarian salesman salesperson advisor adviser consultant chatbot moderator chair resident
neighbour neighbor reporter officer
""")
_NAME = r"([A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?)"
_INTRODUCTIONS = (
    re.compile(rf"\b(?i:my name is|my name's|my name’s|i am called) {_NAME}"),
    re.compile(
        rf"\b(?i:this is|it is|it's|it’s|i am|i'm|i’m) {_NAME}"
        r"(?=\s*(?:[,.!]|$|from\b|speaking\b|here\b|at\b|with\b))"
    ),
    re.compile(rf"{_NAME} (?:speaking|here)\b(?=\s*[,.!?]|$)"),
)
_NO_NAMES = word_set("""
the a okay ok sorry fine sure not just going in on at here there yes no monday tuesday wednesday
thursday friday saturday sunday january february march april june july august september october
november december mr mrs ms dr christmas easter english french german chinese american
""")
_TITLES = word_set("mr mrs ms miss dr doctor prof professor sir madam")


def written_name(label: str) -> str:
    """How reports write a speaker's label: "Agent" as "the agent", a name as it is."""
    name = " ".join(label.split())
    return "the " + name.lower() if name.lower() in _GENERIC else name


@dataclass(frozen=True, slots=True)
class Participant:
    """A speaker: the label, how reports write it, and the words that others call them by."""

    label: str
    name: str
    called: frozenset[str]


def participants_of(turns: Sequence[tuple[str, str]]) -> dict[str, Participant]:
    """The speakers of a dialogue by their labels, in the order in which they speak."""
    introduced: dict[str, list[str]] = {}
    for label, text in turns:
        introduced.setdefault(label, []).extend(introductions(text))
    found = {}
    for label, names in introduced.items():
        written = written_name(label)
        called = {label.lower()} | {name.lower() for name in names}
        for name in [label, *names]:
            called |= _parts(name)
        found[label] = Participant(label, written, frozenset(called) - {""})
    return found


def _parts(name: str) -> set[str]:
    words = {word for word in name.lower().split() if word not in _TITLES}
    return words | {nick for word in words for nick in NICKNAMES.get(word, ())}


def introductions(text: str) -> list[str]:
    """The names that a speaker gives as their own: "this is Priya", "Tom speaking"."""
    found = []
    for pattern in _INTRODUCTIONS:
        for match in pattern.finditer(text):
            if match[1].split()[0].lower() not in _NO_NAMES:
                found.append(match[1])
    return found
