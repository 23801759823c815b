"""Slot values of a summary beside the true dialogue state: whether facts are right and complete."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple

import numpy as np
import yaml

from dialogist.metrics.base import Case, Column, Floats, percentage, ratio
from dialogist.records import JSON
from dialogist.language.patterns import calendar_value
from dialogist.language.people import DAYS
from dialogist.language.quantities import quantities
from dialogist.language.tokens import listed

# Slot values that a summary of a booking dialogue mentions: of the domains of MultiWOZ and TODSum.
#
# Closed slots are read by their values (days, areas, prices, foods), numbers by the word behind
# them ("3 people", "4-star"), times by the verb before them, stations by name. Names of places
# cannot be told from other words, but for "the name is ..." and the names that the state itself
# holds.

TIME_SLOTS = frozenset(("time", "leaveAt", "arriveBy"))

_VALUES = yaml.safe_load(
    (resources.files("dialogist") / "assets" / "slots.yaml").read_text(encoding="utf-8")
)
_CUE = re.compile(r"\b(?:" + "|".join(f"(?P<{k}>{v})" for k, v in _VALUES["cues"].items()) + r")\b")
_FOODS, _TYPES, _STATIONS = ("|".join(_VALUES[name]) for name in ("foods", "types", "stations"))
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


class SlotMention(NamedTuple):
    """One value, normalised: of which domain (empty where nothing tells) and slot."""

    domain: str
    slot: str
    value: str


def slot_mentions_of(summary: str) -> list[SlotMention]:
    """The slot values that a summary mentions, each once."""
    low = summary.lower()
    found: dict[SlotMention, None] = {}
    domain = ""
    for sentence in _SENTENCE.split(low):
        cues = [(cue.start(), str(cue.lastgroup)) for cue in _CUE.finditer(sentence)]
        for place, slot, value in _sentence_values(sentence):
            before = [cue for at, cue in cues if at <= place]
            after = [cue for at, cue in cues if at > place]
            of = before[-1] if before else after[0] if after else domain
            found[SlotMention(_fitting(of, slot), slot, value)] = None
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


def _sentence_values(sentence: str) -> Iterator[tuple[int, str, str]]:
    """Place, slot and value of each mention in a sentence in small letters."""
    named: list[tuple[int, int]] = []
    for slot, form in reversed(_FORMS):  # names first: what they hold is nothing else
        for match in form.finditer(sentence):
            if any(a <= match.start() < b for a, b in named):
                continue
            if slot == "name":
                named.append(match.span("value"))
            value = match.groupdict().get("value") or match["number"]
            yield match.start(), slot, normalise_slot(slot, value)
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
            value = normalise_slot(slot, sentence[quantity.start : quantity.end])
            yield quantity.start, slot, value


def normalise_slot(slot: str, value: str) -> str:
    """A value as its spellings have it in common."""
    text = " ".join(value.lower().replace("-", " ").replace("'", "").split())
    if slot == "day":
        return calendar_value(text)
    if slot in TIME_SLOTS:
        return text.zfill(len("00:00"))
    if slot in ("people", "stay", "stars") and text in _WORDS:
        return str(_WORDS.index(text) + 1)
    text = {"center": "centre", "y": "yes", "n": "no"}.get(text, text)
    if slot in ("type", "food"):
        return text.replace(" ", "")
    return _ARTICLE.sub("", text)


# Slot values of a summary beside the true dialogue state: whether facts are right and complete.
#
# For data with a state (TODSum, Zhao et al. 2021: ``dst_str``). Precision is the share of the
# summary's slot values that the state holds, in the same domain where the sentence names one;
# recall the share of the state's values that the summary mentions. ``dont care`` binds nobody: such
# a slot counts for neither. An empty value is none.

STATE = "dst_str"
"""Where a dialogue's metadata keep the state."""

_ACT = re.compile(r"\w+ \( (.*) \)")
_ANY = frozenset(("dontcare", "do nt care", "dont care"))
# What is said of a place beside its name, or left out.
_GENERIC = re.compile(r"\b(?:the|restaurant|hotel|guest ?house|attraction)\b")
_NAMED = frozenset(("name", "departure", "destination", "type"))


def _f1(sums: Floats) -> Floats:
    """(R, 4) -> (R,) from the numbers of precision, then those of recall."""
    precision, recall = percentage(sums[:, :2]), percentage(sums[:, 2:])
    return ratio(np.stack([2 * precision * recall, precision + recall], axis=1))


def state_of(metadata: Mapping[str, JSON]) -> tuple[SlotMention, ...] | None:
    """The values of a dialogue's state, ``dont care`` among them; None where there is none.

    The form is TODSum's: ``{"hotel": ["book ( people = 3 ; day = monday )", ...], ...}``.
    """
    state = metadata.get(STATE)
    if not isinstance(state, dict):
        return None
    return tuple(dict.fromkeys(_values(state)))


def _values(state: Mapping[str, JSON]) -> Iterator[SlotMention]:
    for domain, acts in state.items():
        for act in acts if isinstance(acts, list) else ():
            form = _ACT.fullmatch(act) if isinstance(act, str) else None
            for part in form[1].split(" ; ") if form else ():
                slot, _, value = part.partition(" = ")
                if value.strip():
                    yield SlotMention(domain, slot.strip(), normalise_slot(slot.strip(), value))


@dataclass(frozen=True, slots=True)
class SlotComparison:
    """A summary beside a state.

    ``right`` and ``wrong``: mentions that the state holds, and that it does not. ``found`` and
    ``missing``: values of the state that the summary mentions, and that it does not.
    """

    right: tuple[SlotMention, ...]
    wrong: tuple[SlotMention, ...]
    found: tuple[SlotMention, ...]
    missing: tuple[SlotMention, ...]


def compare_slots(summary: str, state: Sequence[SlotMention]) -> SlotComparison:
    """Which values are right, wrong, found and missing."""
    free = [one for one in state if one.value in _ANY]
    wanted = [one for one in state if one.value not in _ANY]
    mentions = [
        one for one in slot_mentions_of(summary) if not any(_same_slot(one, f) for f in free)
    ]
    right = [one for one in mentions if any(_same(one, true) for true in wanted)]
    text = _core(summary)
    found = []
    for true in wanted:
        if any(_same(one, true) for one in right):
            found.append(true)
        elif true.slot in _NAMED and f" {_core(true.value).strip()} " in text:
            found.append(true)
            right.append(true)
    return SlotComparison(
        tuple(right),
        tuple(one for one in mentions if one not in right),
        tuple(found),
        tuple(true for true in wanted if true not in found),
    )


def _same_slot(mention: SlotMention, true: SlotMention) -> bool:
    if mention.domain and mention.domain != true.domain:
        return False
    either = {mention.slot, true.slot}
    return len(either) == 1 or ("time" in either and either <= TIME_SLOTS)


def _same(mention: SlotMention, true: SlotMention) -> bool:
    if not _same_slot(mention, true):
        return False
    if mention.value == true.value:
        return True
    if mention.slot != "name":
        return False
    said, meant = _core(mention.value), _core(true.value)
    return meant in said or said in meant


def _core(text: str) -> str:
    """The telling words of a name, spaces around them."""
    words = " ".join(re.findall(r"[^\W_]+", text.lower().replace("'", "")))
    telling = " ".join(_GENERIC.sub(" ", words).split())
    return f" {telling or words} "


class Slots:
    """Precision, recall and F1 of slot values; no value where a dialogue has no state."""

    name = "slots"
    signature = "slots 1 | by domain and slot | times, days, numbers by value; dont care left out"
    columns = (
        Column("slots.precision", "Slot P", "higher", 2, percentage),
        Column("slots.recall", "Slot R", "higher", 2, percentage),
        Column("slots.f1", "Slot F1", "higher", 4, _f1),
    )

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of one output."""
        state = state_of(case.dialogue.metadata) if case.dialogue is not None else None
        if state is None:
            return (0.0,) * 8
        beside = compare_slots(case.prediction, state)
        precision = (float(len(beside.right)), float(len(beside.right) + len(beside.wrong)))
        recall = (float(len(beside.found)), float(len(beside.found) + len(beside.missing)))
        return (*precision, *recall, *precision, *recall)
