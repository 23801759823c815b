"""Dialogues of SGD's annotated form (CC BY-SA 4.0), marked by program: values that hold, and stale.

A value holds at the end where the user's last word of it is, or where the system answered or
confirmed it. What the user changed, and offers that the user did not take, are stale.
"""

import gzip
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialogist.recipe.marked_dialogues import Marked, marked_of
from dialogist.selection.select import Told, told_of

Turn = dict[str, Any]

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
BOTH_WAYS = {"True", "False", "dontcare"}
"""Values that stand for a choice and not for words."""
NUMBERS = dict(zip("123456789", _WORDS, strict=True))
_LABELS = (
    ("User", "Assistant"),
    ("Customer", "Agent"),
    ("User", "Assistant"),
    ("Maria", "Agent"),
    ("Guest", "Support"),
)
OUTCOMES = {"NOTIFY_SUCCESS", "NOTIFY_FAILURE"}


@dataclass(slots=True)
class Said:
    """What one dialogue says: values by turn, those that hold at the end, and outcomes by turn."""

    values: list[tuple[int, str, str]] = field(default_factory=list)
    """(turn, service and slot, words)"""
    outcomes: list[int] = field(default_factory=list)
    latest: dict[str, set[str]] = field(default_factory=dict)
    answers: set[str] = field(default_factory=set)
    offered: dict[str, tuple[str, str]] = field(default_factory=dict)

    def take(self, number: int, turn: Turn) -> None:
        """Add one turn."""
        for service, acts in turn["a"]:
            self._choose(number, service, {act for act, _, _ in acts})
            for act, slot, values in acts:
                for words in values:
                    self._value(number, turn["s"], act, f"{service}.{slot}", words)

    def _choose(self, number: int, service: str, acts: set[str]) -> None:
        """Keep what is selected, and forget the offers that are not taken."""
        if acts & OUTCOMES:
            self.outcomes.append(number)
        if "SELECT" in acts:
            for slot, (_, words) in self.offered.items():
                if slot.startswith(f"{service}."):
                    self.latest.setdefault(slot, set()).add(words)
        if acts & {"REQUEST_ALTS", "OFFER"}:
            self._drop_offers(service)
        if "OFFER" in acts:  # another thing: what was answered about the last one is over
            self._drop_answers(service)

    def _drop_offers(self, service: str) -> None:
        self.offered = {k: v for k, v in self.offered.items() if not k.startswith(f"{service}.")}

    def _drop_answers(self, service: str) -> None:
        for key in self.answers:
            if key.startswith(f"{service}."):
                self.latest.pop(key, None)

    def _value(self, number: int, speaker: str, act: str, key: str, words: str) -> None:
        if words in BOTH_WAYS or key.endswith((".intent", ".count")):
            return
        self.values.append((number, key, words))
        if act == "OFFER":
            self.offered[key] = (key, words)
        elif speaker == "USER":  # the user's own word replaces all that was said of it before
            self.latest[key] = {words}
        else:  # a confirmation or an answer says the same in other words
            self.latest.setdefault(key, set()).add(words)
            if act == "INFORM":
                self.answers.add(key)

    def facts(self) -> dict[str, set[str]]:
        """The words for each value that holds at the end."""
        return {key: words for key, words in self.latest.items() if words}


def said_in(turns: Sequence[Turn]) -> Said:
    """Return what a dialogue says."""
    said = Said()
    for number, turn in enumerate(turns):
        said.take(number, turn)
    return said


def plain(text: str) -> str:
    """Return a text as it is compared: lower case, words and numbers alone."""
    kept = " ".join(re.findall(r"[a-z0-9$#.:&+-]+", text.lower()))
    return f" {re.sub(r'[.:]+(?= |$)', '', kept)} "


def stands_in(words: str, text: str) -> bool:
    """Tell whether a value stands in a text, a small number also as a word."""
    forms = (words, NUMBERS.get(words, words))
    return any(plain(form) in plain(text) for form in forms)


def read_sgd(path: Path, count: int, seed: int = 5) -> list[Marked]:
    """Return some dialogues of a file as `dialogist.recipe.marked_dialogues` has them."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    draw = random.Random(seed)
    return [
        marked_of(_record(one, draw.choice(_LABELS)), f"{path}: {one['id']}")
        for one in draw.sample(records, min(count, len(records)))
    ]


def _record(record: dict[str, Any], labels: tuple[str, str]) -> dict[str, Any]:
    names = dict(zip(("USER", "SYSTEM"), labels, strict=True))
    turns = [(names[turn["s"]], turn["t"]) for turn in record["turns"]]
    said, told = said_in(record["turns"]), told_of(turns)
    holding, wrong = _places(said, told)
    keys = list(_fewest(holding, wrong, set(said.facts())))
    keys += [i for i in _outcomes(said, told) if i not in keys]
    spans = [[[told.units[i].turn, told.units[i].text]] for i in keys]
    stale = [[[told.units[i].turn, told.units[i].text]] for i in sorted(wrong.difference(keys))]
    statements = [{"key": True, "spans": one} for one in spans]
    statements += [{"key": False, "type": "stale", "spans": one} for one in stale]
    return {"id": f"sgd-{record['id']}", "turns": turns, "statements": statements}


def _places(said: Said, told: Told) -> tuple[dict[int, set[str]], set[int]]:
    """Of the units that can be told: the values that hold in each, and those with any other."""
    facts = said.facts()
    usable = {unit for one in told.candidates for unit in one.units}
    holding: dict[int, set[str]] = {}
    wrong: set[int] = set()
    for turn, key, words in said.values:
        for i in usable:
            if told.units[i].turn == turn and stands_in(words, told.units[i].text):
                if words in facts.get(key, ()):
                    holding.setdefault(i, set()).add(key)
                else:
                    wrong.add(i)
    return holding, wrong


def _fewest(holding: dict[int, set[str]], wrong: set[int], left: set[str]) -> Iterator[int]:
    """Yield units that hold all values that units hold, the fullest and the latest first."""
    while any(keys & left for keys in holding.values()):
        best = max(holding, key=lambda i: (len(holding[i] & left) - 0.5 * (i in wrong), i))
        if not holding[best] & left:
            return
        left = left - holding[best]
        yield best


def _outcomes(said: Said, told: Told) -> Iterator[int]:
    """Yield of each turn that tells an outcome the longest unit that asks nothing."""
    usable = {unit for one in told.candidates for unit in one.units}
    for turn in said.outcomes:
        own = [i for i in usable if told.units[i].turn == turn and "?" not in told.units[i].text]
        if own:
            yield max(own, key=lambda i: (told.units[i].words, -i))
