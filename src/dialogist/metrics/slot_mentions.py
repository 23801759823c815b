"""Slot values that a summary of a booking dialogue mentions: of the domains of MultiWOZ and TODSum.

Closed slots are read by their values (days, areas, prices, foods), numbers by the word behind them
("3 people", "4-star"), times by the verb before them, stations by name. Names of places cannot be
told from other words, but for "the name is ..." and the names that the state itself holds.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from dialogist.text.entities import calendar_value
from dialogist.text.listing import listed
from dialogist.text.names import DAYS
from dialogist.text.quantities import quantities

DOMAINS = ("hotel", "restaurant", "train", "taxi", "attraction")
TIMES = frozenset(("time", "leaveAt", "arriveBy"))

_CUES = {
    "hotel": "hotel|guest ?house|stays?|nights?|accommodat\\w+|rooms?|stars?|parking|internet|wifi",
    "restaurant": "restaurant|seats?|tables?|food|dish(?:es)?|cuisine|dine|dining",
    "train": "trains?|train(?:ing)? tickets?|tickets?",
    "taxi": "taxi|car|driver|cab",
    "attraction": "attraction|entrance|museum|college|nightclub|architecture|park|theatre|theater|"
    "boat|cinema|entertainment|swimming ?pool|concert ?hall",
}
_CUE = re.compile(r"\b(?:" + "|".join(f"(?P<{k}>{v})" for k, v in _CUES.items()) + r")\b")
_FOODS = (
    "modern european|asian oriental|north american|italian|indian|chinese|british|european|thai|"
    "turkish|gastropub|mediterranean|spanish|french|international|korean|vietnamese|japanese|"
    "portuguese|african|lebanese|mexican|seafood|jamaican|asian|polish|scandinavian|german|fusion|"
    "steakhouse|tuscan|corsica|caribbean|russian|greek|american|australian|brazilian|cuban|irish|"
    "moroccan|persian|romanian|scottish|singaporean|swedish|swiss|welsh|kosher|halal|vegetarian"
)
_TYPES = (
    "museum|college|nightclub|architecture|park|theatre|boat|cinema|entertainment|swimming ?pool|"
    "multiple sports|concert ?hall|guest ?house"
)
_STATIONS = (
    "cambridge|bishops stortford|london kings cross|leicester|birmingham new street|"
    "stansted airport|ely|norwich|peterborough|london liverpool street|kings lynn|stevenage|"
    "broxbourne"
)
_NUMBER = r"(?P<number>\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten)"
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("stars", re.compile(rf"\b{_NUMBER}[ -]stars?\b")),
    (
        "people",
        re.compile(rf"\b{_NUMBER}[ -](?:people|persons?|guests?|seats?|(?:train )?tickets?)\b"),
    ),
    ("people", re.compile(rf"\b(?:seat|table|room|tickets?) for {_NUMBER}\b")),
    ("stay", re.compile(rf"\b{_NUMBER} (?:days?|nights?)\b")),
    ("pricerange", re.compile(r"\b(?P<value>cheap|moderate|expensive)(?:ly)?\b")),
    ("area", re.compile(r"\b(?P<value>centre|center|north|south|east|west)\b")),
    ("food", re.compile(rf"\b(?P<value>{_FOODS})\b")),
    ("type", re.compile(rf"\b(?P<value>{_TYPES})\b")),
    ("departure", re.compile(rf"\b(?:from|departure (?:is|of)) (?P<value>{_STATIONS})\b")),
    ("departure", re.compile(rf"\bdepart?ure of the train is (?P<value>{_STATIONS})\b")),
    (
        "destination",
        re.compile(rf"\b(?:to|arriv\w+ (?:in|at)|destination is) (?P<value>{_STATIONS})\b"),
    ),
    (
        "name",
        re.compile(
            r"\bname of (?:the (?:hotel|restaurant|attraction) is )?(?P<value>[^.,;]{2,60})"
        ),
    ),
    ("name", re.compile(r"(?:'s name|\bname) is (?P<value>[^.,;]{2,60})")),
)
_FACILITY = re.compile(r"\b(?:(?P<parking>parking)|(?P<internet>internet|wi-?fi|network))\b")
_DENIED = re.compile(r"\b(?:no|not|without|n't)\b[^.;]{0,30}$")
_VERB = re.compile(r"\b(?:(?P<leaveAt>leav\w*|depart\w*)|(?P<arriveBy>arriv\w*))\b")
_SENTENCE = re.compile(r"(?<=[.;!?])\s+")  # these texts are in small letters throughout
_ARTICLE = re.compile(r"^(?:the|a|an) ")
_WORDS = listed("one two three four five six seven eight nine ten")


class Mention(NamedTuple):
    """One value, normalised: of which domain (empty where nothing tells) and slot."""

    domain: str
    slot: str
    value: str


def mentions_of(summary: str) -> list[Mention]:
    """The slot values that a summary mentions, each once."""
    low = summary.lower()
    found: dict[Mention, None] = {}
    domain = ""
    for sentence in _SENTENCE.split(low):
        cues = [(cue.start(), str(cue.lastgroup)) for cue in _CUE.finditer(sentence)]
        for place, slot, value in _values(sentence):
            before = [cue for at, cue in cues if at <= place]
            after = [cue for at, cue in cues if at > place]
            of = before[-1] if before else after[0] if after else domain
            found[Mention(_fitting(of, slot), slot, value)] = None
        domain = cues[-1][1] if cues else domain
    return list(found)


def _fitting(domain: str, slot: str) -> str:
    """The domain, unless it has no such slot: then nothing is known of it."""
    return domain if slot in _SLOTS.get(domain, ()) else ""


_SLOTS = {
    "hotel": listed("area day internet name parking people pricerange stars stay type"),
    "restaurant": listed("area day food name people pricerange time"),
    "train": listed("arriveBy day departure destination leaveAt people time"),
    "taxi": listed("arriveBy departure destination leaveAt time"),
    "attraction": listed("area name type"),
}


def _values(sentence: str) -> Iterator[tuple[int, str, str]]:
    """Place, slot and value of each mention in a sentence in small letters."""
    named: list[tuple[int, int]] = []
    for slot, form in reversed(_FORMS):  # names first: what they hold is nothing else
        for match in form.finditer(sentence):
            if any(a <= match.start() < b for a, b in named):
                continue
            if slot == "name":
                named.append(match.span("value"))
            value = match.groupdict().get("value") or match["number"]
            yield match.start(), slot, normalised(slot, value)
    for match in _FACILITY.finditer(sentence):
        denied = _DENIED.search(sentence, 0, match.start())
        yield match.start(), str(match.lastgroup), "no" if denied else "yes"
    yield from _dates(sentence)


def _dates(sentence: str) -> Iterator[tuple[int, str, str]]:
    for match in re.finditer(rf"\b(?:{'|'.join(DAYS)})\b", sentence):
        yield match.start(), "day", calendar_value(match[0])
    for quantity in quantities(sentence):
        if ":" in sentence[quantity.start : quantity.end]:
            verbs = list(_VERB.finditer(sentence, 0, quantity.start))
            slot = str(verbs[-1].lastgroup) if verbs else "time"
            value = normalised(slot, sentence[quantity.start : quantity.end])
            yield quantity.start, slot, value


def normalised(slot: str, value: str) -> str:
    """A value as its spellings have it in common."""
    text = " ".join(value.lower().replace("-", " ").replace("'", "").split())
    if slot == "day":
        return calendar_value(text)
    if slot in TIMES:
        return text.zfill(len("00:00"))
    if slot in ("people", "stay", "stars") and text in _WORDS:
        return str(_WORDS.index(text) + 1)
    text = {"center": "centre", "y": "yes", "n": "no"}.get(text, text)
    if slot in ("type", "food"):
        return text.replace(" ", "")
    return _ARTICLE.sub("", text)
