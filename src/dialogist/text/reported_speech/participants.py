"""Who takes part: names as they are written, what they are called, and whom a turn addresses."""

from collections.abc import Sequence
from dataclasses import dataclass

from dialogist.text.people import NICKNAMES, own_names
from dialogist.text.roles import ROLES
from dialogist.text.tokens import word_set

# Labels that stand for several people, or for nobody known.
_MANY = word_set("support team staff helpdesk unknown voice")
_TITLES = word_set("mr mrs ms miss dr doctor prof professor sir madam")


def written_name(label: str) -> str:
    """How reports write a speaker's label: a role as a name, "Agent"; a name as it is."""
    name = " ".join(label.split())
    return name.capitalize() if is_role(name) else name


def is_role(name: str) -> bool:
    """Whether a name is that of one person's role: "Agent"."""
    return name.lower() in ROLES - _MANY


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
        introduced.setdefault(label, []).extend(own_names(text))
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
