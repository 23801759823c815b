"""Dialogues of SGD's annotated form (CC BY-SA 4.0), marked by program: values that hold, and stale.

A value holds at the end where the user's last word of it is, or where the system answered or
confirmed it. What the user changed, and offers that the user did not take, are stale.
"""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dialogist.highlights.candidates import candidates_of
from dialogist.language.quantities import UNITS
from dialogist.language.reading import Reading
from dialogist.records import Dialogue, Utterance
from dialogist_lab.asset_training import is_validation, records_of
from dialogist_lab.selector.marks import MarkedDialogue, marked_of

SgdTurn = dict[str, Any]

_WORDS = {str(value): word for word, value in UNITS.items() if 0 < value < 10}
_CHOICES = {"True", "False", "dontcare"}  # values that stand for a choice and not for words
_LABELS = ("User Assistant", "Customer Agent", "User Assistant", "Maria Agent", "Guest Support")
_OUTCOMES = {"NOTIFY_SUCCESS", "NOTIFY_FAILURE"}
_TELLING = ("done", "refuse", "sorry", "negation")  # cues of an outcome
_IDENTITY = ("name", "title")


@dataclass(slots=True)
class SgdState:
    """What is said up to a turn: values by turn, those that hold, and outcomes by turn."""

    values: list[tuple[int, str, str]] = field(default_factory=list)
    """(turn, service and slot, words)"""
    outcomes: list[int] = field(default_factory=list)
    wanted: dict[str, set[str]] = field(default_factory=dict)
    """Of each slot the words for what the user wants, as the user says it or as it is confirmed."""
    learned: dict[str, set[str]] = field(default_factory=dict)
    """Of each slot what holds of the thing that was offered last: its own values, and answers."""
    offered: dict[str, str] = field(default_factory=dict)
    settled: dict[str, set[str]] = field(default_factory=dict)
    """Of each slot the words for what was booked, bought or sent: that cannot change any more."""

    def take(self, number: int, turn: SgdTurn) -> None:
        """Add one turn."""
        for service, acts in turn["a"]:
            known = {act for act, _, _ in acts}
            if known & _OUTCOMES:
                self.outcomes.append(number)
            if turn["s"] == "USER":
                self._answer(service, known)
            elif "OFFER" in known:
                self._offer(service, acts)
            for act, slot, values in acts:
                if turn["s"] == "USER" or len(values) == 1:  # several are a choice, not a claim
                    for words in values:
                        self._value(number, turn["s"], act, f"{service}.{slot}", words)
            if "NOTIFY_SUCCESS" in known:
                for slot, words in self.wanted.items():
                    if _of(service, slot):
                        self.settled.setdefault(slot, set()).update(words)

    def _answer(self, service: str, acts: set[str]) -> None:
        """The user takes what was offered, or does not."""
        offered = {slot: words for slot, words in self.offered.items() if _of(service, slot)}
        if "SELECT" in acts:
            for slot, words in offered.items():
                self.learned.setdefault(slot, set()).add(words)
        elif "AFFIRM" in acts:  # in place of what could not be booked
            for slot, words in offered.items():
                self._want(slot, words)
        if acts & {"SELECT", "AFFIRM", "NEGATE", "REQUEST_ALTS"}:
            self.offered = {k: v for k, v in self.offered.items() if not _of(service, k)}

    def _offer(self, service: str, acts: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Forget what is known of the last thing, unless the same is offered again."""
        named = {
            (f"{service}.{slot}", _plain(v).strip()) for _, slot, values in acts for v in values
        }
        known = [*self.wanted.items(), *self.learned.items()]
        known += [(slot, {words}) for slot, words in self.offered.items()]
        before = {(slot, words) for slot, several in known for words in several}
        if not any(slot.endswith(_IDENTITY) for slot, _ in before & named):
            self.learned = {k: v for k, v in self.learned.items() if not _of(service, k)}
        self.offered = {k: v for k, v in self.offered.items() if not _of(service, k)}

    def _value(self, number: int, speaker: str, act: str, key: str, words: str) -> None:
        if words in _CHOICES or key.endswith((".intent", ".count")):
            return
        words = _plain(words).strip()
        if speaker == "USER" and act == "REQUEST":
            return  # "Is it expensive?": only the answer says
        self.values.append((number, key, words))
        if act == "OFFER":
            self.offered[key] = words
        elif speaker == "USER":
            self._want(key, words)
        elif act == "INFORM":
            self.learned.setdefault(key, set()).add(words)
        else:  # a confirmation says the same in other words
            self.wanted.setdefault(key, set()).add(words)

    def _want(self, key: str, words: str) -> None:
        """The user's word replaces all that was said of it before, unless it says the same."""
        if words not in self.wanted.get(key, ()):
            self.wanted[key] = {words}
            self.learned.pop(key, None)

    def facts(self) -> dict[str, set[str]]:
        """The words for each value that holds at the end."""
        known = (self.wanted, self.learned, self.settled)
        keys = set[str]().union(*known)
        return {key: set().union(*(words.get(key, ()) for words in known)) for key in keys}


def _of(service: str, slot: str) -> bool:
    return slot.startswith(f"{service}.")


def _plain(text: str) -> str:
    """A text as it is compared: lower case, words and numbers alone."""
    kept = " ".join(re.findall(r"[a-z0-9$#.:&+-]+", text.lower()))
    return f" {re.sub(r'[.:]+(?= |$)', '', kept)} "


def is_stated(words: str, text: str) -> bool:
    """Whether a value stands in a text, a small number also as a word."""
    return any(_plain(form) in _plain(text) for form in (words, _WORDS.get(words, words)))


def read_sgd(path: Path, count: int, whole: int, seed: int = 5) -> list[MarkedDialogue]:
    """Some dialogues of a gzipped file of annotated dialogues.

    Of the first ``whole`` of them what matters is known, of the others what is stale only.
    """
    records = list(records_of(path))
    draw = random.Random(seed)
    chosen = draw.sample(records, min(count, len(records)))
    labels = [draw.choice(_LABELS).split() for _ in chosen]
    marked = [
        marked_of(_record(record, names), f"{path}: {record['id']}")
        for record, names in zip(chosen, labels, strict=True)
    ]
    return [
        replace(dialogue, knows_key=number < whole)
        for number, dialogue in enumerate(marked)
        if not is_validation(dialogue.id)
    ]


def _record(record: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    names = dict(zip(("USER", "SYSTEM"), labels, strict=True))
    turns = [(names[turn["s"]], turn["t"]) for turn in record["turns"]]
    reading = Reading(Dialogue(tuple(Utterance(speaker, text) for speaker, text in turns)))
    usable = {unit for candidate in candidates_of(reading) for unit in candidate.units}
    state = SgdState()
    for number, turn in enumerate(record["turns"]):
        state.take(number, turn)
    facts = state.facts()
    holding: dict[int, set[str]] = {}  # the values that hold in each unit
    wrong: set[int] = set()  # units with any other
    for turn, key, words in state.values:
        for i in usable:
            if reading.units[i].turn == turn and is_stated(words, reading.units[i].text):
                if words in facts.get(key, ()):
                    holding.setdefault(i, set()).add(key)
                else:
                    wrong.add(i)
    keys = list(_fewest(holding, wrong, set(facts)))
    for turn in state.outcomes:  # the unit that most likely tells it
        units = [i for i in usable if reading.units[i].turn == turn and not reading.is_question(i)]
        if units:
            best = max(units, key=lambda i: (reading.has(i, *_TELLING), reading.units[i].words, -i))
            keys += [best] if best not in keys else []
    marks = [(i, True) for i in keys] + [(i, False) for i in sorted(wrong.difference(keys))]
    statements = []
    for i, is_key in marks:
        unit = reading.units[i]
        words = turns[unit.turn][1][unit.start : unit.end]  # its own text lacks fillers
        kind = "" if is_key else "stale"
        statements.append({"key": is_key, "type": kind, "spans": [[unit.turn, words]]})
    return {"id": f"sgd-{record['id']}", "turns": turns, "statements": statements}


def _fewest(holding: dict[int, set[str]], wrong: set[int], left: set[str]) -> Iterator[int]:
    """Yield units that hold all values that units hold, the fullest and the latest first."""
    while any(keys & left for keys in holding.values()):
        best = max(holding, key=lambda i: (len(holding[i] & left) - 0.5 * (i in wrong), i))
        if not holding[best] & left:
            return
        left = left - holding[best]
        yield best
