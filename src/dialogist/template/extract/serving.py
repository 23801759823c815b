"""Who serves in a conversation, and who is served."""

import re

from dialogist.template.extract.turns import Turns
from dialogist.text.tokens import word_set

_SERVING = word_set(
    "agent advisor adviser support rep representative operator system assistant bot clerk "
    "reception receptionist doctor dr nurse teacher salesperson helpdesk service host staff "
    "waiter mechanic technician consultant dispatcher cashier pharmacist"
)
_SERVED = word_set(
    "customer caller client guest patient passenger user traveller traveler tenant shopper "
    "member subscriber"
)
_TWO = 2
_SERVES = re.compile(
    r"\b(?:how (?:can|may|could) (?:i|we) (?:help|assist)|what can i do for you|"
    r"what (?:brings|seems|can i get)|thanks? (?:you )?for (?:calling|contacting|reaching)|"
    r"you ?['’]?re (?:through to|speaking (?:to|with))|can i help you|"
    r"what ?['’]?s (?:the (?:problem|matter)|wrong)|"
    r"welcome to|how is (?:the|your)|speaking\W*$|(?:support|desk|surgery|office|deliveries|"
    r"hotline)[,.])",
    re.I,
)


def served_in(turns: Turns) -> frozenset[str]:
    """Those who are served; nobody where nobody serves."""
    names = turns.dialogue.speakers
    roles = {u.speaker: u.role.lower() for u in turns.dialogue.utterances}
    words = {name: {roles.get(name, ""), *re.findall(r"\w+", name.lower())} for name in names}
    served = frozenset(name for name in names if not _SERVED.isdisjoint(words[name]))
    if served and len(served) < len(names):
        return served
    serving = {name for name in names if not _SERVING.isdisjoint(words[name])}
    if not serving and len(names) == _TWO:
        first = [s for s in turns.all() if s.utterance < 3]
        serving = {s.speaker for s in first if _SERVES.search(s.text)}
    if not serving:
        return frozenset()
    return frozenset(names) - serving
