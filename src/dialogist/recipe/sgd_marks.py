"""Marked dialogues to train the selector on: from a file, and from SGD's annotated form."""

import gzip
import json
import random
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zlib import crc32

from dialogist.errors import DataError
from dialogist.highlights.cues import CUES
from dialogist.highlights.select import ReportedDialogue, report_dialogue
from dialogist.highlights.statements import Candidate
from dialogist.highlights.units import terms_of

# Dialogues whose important words are marked, and whether a summary holds what they say.
#
# A line of a file is a dialogue: ``id``, ``turns`` (speaker, text) and ``statements``, each with
# ``key`` (whether a summary must hold it), ``spans`` (turn, exact words) and perhaps ``type``;
# what a later turn changes has the type ``stale``. A key statement is a fact.


_HELD = 0.6  # of the letters of each span of a fact
_TOUCHED = 0.2  # of the letters of a span: less of it is in a unit by accident
_VALIDATION = 12  # of a hundred dialogues

_Spans = tuple[Mapping[int, float], ...]
"""Of each span, which units hold what share of its letters."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a summary must hold: where it is said, and the content words that a reader looks for.

    ``terms`` are those of the fact in plain words, as far as the dialogue says them; of the spans
    where it is not in plain words.
    """

    spans: _Spans
    terms: frozenset[str]

    def covered(self, terms: Collection[str]) -> float:
        """The share of its content words that a text with these has."""
        return len(self.terms.intersection(terms)) / len(self.terms) if self.terms else 0.0

    def is_told_by(self, units: Collection[int]) -> bool:
        """Whether one of these units says a part of it."""
        return any(one.get(i, 0.0) > _TOUCHED for one in self.spans for i in units)


@dataclass(frozen=True, slots=True)
class Marked:
    """A dialogue, its facts, and the spans that a later turn changes."""

    id: str
    turns: Sequence[tuple[str, str]]
    told: ReportedDialogue
    facts: tuple[Fact, ...]
    stale: tuple[_Spans, ...]
    knows_stale: bool = True
    """Whether what is stale is marked."""
    times: int = 1
    """How often it is learned from an epoch."""

    @property
    def words(self) -> int:
        """How many words are said."""
        return sum(unit.words for unit in self.told.units)

    @property
    def is_validation(self) -> bool:
        """Whether no shipped selector has learned from it."""
        return _is_validation(self.id)


def holds(fact: _Spans, units: Collection[int]) -> bool:
    """Whether these units say all of a fact."""
    return all(sum(share for i, share in one.items() if i in units) >= _HELD for one in fact)


def needed(fact: _Spans, candidates: Sequence[Candidate]) -> list[int]:
    """The numbers of the fewest candidates that hold a fact; none where they cannot."""
    shares = [
        sum(share for one in fact for unit, share in one.items() if unit in own.units)
        for own in candidates
    ]
    found = [
        i
        for i, own in enumerate(candidates)
        if any(one.get(unit, 0.0) > _TOUCHED for one in fact for unit in own.units)
    ]
    if not holds(fact, _units(found, candidates)):
        found = [i for i, share in enumerate(shares) if share]
    if not holds(fact, _units(found, candidates)):
        return []
    for i in sorted(found, key=lambda i: shares[i]):
        rest = [j for j in found if j != i]
        if holds(fact, _units(rest, candidates)):
            found = rest
    return found


def _units(numbers: Sequence[int], candidates: Sequence[Candidate]) -> set[int]:
    return {unit for i in numbers for unit in candidates[i].units}


def _is_validation(name: str) -> bool:
    return crc32(name.encode("utf-8")) % 100 < _VALIDATION


def read_marked(path: Path, is_validation: bool | None = None) -> list[Marked]:
    """The dialogues of a file: all, or those for validation, or the others.

    Raises:
        DataError: a span is not in its turn; names the record.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    records = [(json.loads(line), f"{path}:{n}") for n, line in enumerate(lines, start=1)]
    types = {one.get("type") for record, _ in records for one in record["statements"]}
    return [
        replace(marked_of(record, where), knows_stale="stale" in types)
        for record, where in records
        if is_validation in (None, _is_validation(record["id"]))
    ]


def marked_of(record: Any, where: str) -> Marked:
    """The dialogue of a record; ``where`` names it in errors."""
    turns = [(speaker, text) for speaker, text in record["turns"]]
    told = report_dialogue(turns)
    said = frozenset(terms_of(" ".join(text for _, text in turns)))
    names = frozenset(terms_of(" ".join(speaker for speaker, _ in turns)))
    facts, stale = [], []
    for statement in record["statements"]:
        spans = list(_spans(statement["spans"], turns, where))
        if statement.get("key"):
            plain = statement.get("fact", statement.get("text", ""))
            words = plain or " ".join(turns[t][1][a:b] for t, a, b in spans)
            terms = said.intersection(terms_of(words)) - names
            facts.append(Fact(tuple(_shares(told, span) for span in spans), terms))
        elif statement.get("type") == "stale":
            stale += [(_shares(told, span),) for span in spans]
    return Marked(record["id"], turns, told, tuple(facts), tuple(stale))


def _spans(
    spans: Sequence[tuple[int, str]], turns: Sequence[tuple[str, str]], where: str
) -> Iterator[tuple[int, int, int]]:
    for turn, words in spans:
        place = turns[turn][1].find(words)
        if place < 0:
            raise DataError(f"{where}: turn {turn} does not have '{words}'")
        yield turn, place, place + len(words)


def _shares(told: ReportedDialogue, span: tuple[int, int, int]) -> dict[int, float]:
    turn, start, end = span
    return {
        i: (min(end, unit.end) - max(start, unit.start)) / (end - start)
        for i, unit in enumerate(told.units)
        if unit.turn == turn and min(end, unit.end) > max(start, unit.start)
    }


# Dialogues of SGD's annotated form (CC BY-SA 4.0), marked by program: values that hold, and stale.
#
# A value holds at the end where the user's last word of it is, or where the system answered or
# confirmed it. What the user changed, and offers that the user did not take, are stale.


SgdTurn = dict[str, Any]

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
_IDENTITY = ("name", "title")


@dataclass(slots=True)
class Said:
    """What one dialogue says: values by turn, those that hold at the end, and outcomes by turn."""

    values: list[tuple[int, str, str]] = field(default_factory=list)
    """(turn, service and slot, words)"""
    outcomes: list[int] = field(default_factory=list)
    refusals: set[int] = field(default_factory=set)
    """Turns in which the user says no to what was asked or offered right before."""
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
            if known & OUTCOMES:
                self.outcomes.append(number)
            if turn["s"] == "USER":
                self._answer(number, service, known)
            elif "OFFER" in known:
                self._offer(service, acts)
            for act, slot, values in acts:
                self._values(number, turn["s"], act, f"{service}.{slot}", values)
            if "NOTIFY_SUCCESS" in known:
                self._settle(service)

    def _answer(self, number: int, service: str, acts: set[str]) -> None:
        """The user takes what was offered, or does not."""
        own = {slot: words for slot, words in self.offered.items() if _of(service, slot)}
        if "SELECT" in acts:
            for slot, words in own.items():
                self.learned.setdefault(slot, set()).add(words)
        elif "AFFIRM" in acts:  # in place of what could not be booked
            for slot, words in own.items():
                self._want(slot, words)
        if acts & {"NEGATE", "REQUEST_ALTS"}:
            self.refusals.add(number)
        if acts & {"SELECT", "AFFIRM", "NEGATE", "REQUEST_ALTS"}:
            self.offered = {k: v for k, v in self.offered.items() if not _of(service, k)}

    def _offer(self, service: str, acts: Sequence[tuple[str, str, Sequence[str]]]) -> None:
        """Forget what is known of the last thing, unless the same is offered again."""
        named = {
            (f"{service}.{slot}", plain_words(words).strip())
            for _, slot, own in acts
            for words in own
        }
        before = [*self.wanted.items(), *self.learned.items()]
        before += [(slot, {words}) for slot, words in self.offered.items()]
        if not any(
            slot.endswith(_IDENTITY) and (slot, one) in named
            for slot, words in before
            for one in words
        ):
            self.learned = {k: v for k, v in self.learned.items() if not _of(service, k)}
        self.offered = {k: v for k, v in self.offered.items() if not _of(service, k)}

    def _values(self, number: int, speaker: str, act: str, key: str, values: Sequence[str]) -> None:
        if speaker == "USER" or len(values) == 1:  # several are a choice, not a claim
            for words in values:
                self._value(number, speaker, act, key, words)

    def _value(self, number: int, speaker: str, act: str, key: str, words: str) -> None:
        if words in BOTH_WAYS or key.endswith((".intent", ".count")):
            return
        words = plain_words(words).strip()
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

    def _settle(self, service: str) -> None:
        for slot, words in self.wanted.items():
            if _of(service, slot):
                self.settled.setdefault(slot, set()).update(words)

    def _want(self, key: str, words: str) -> None:
        """The user's word replaces all that was said of it before, unless it says the same."""
        if words not in self.wanted.get(key, ()):
            self.wanted[key] = {words}
            self.learned.pop(key, None)

    def facts(self) -> dict[str, set[str]]:
        """The words for each value that holds at the end."""
        known = (self.wanted, self.learned, self.settled)
        return {
            key: set().union(*(one.get(key, ()) for one in known)) for key in set().union(*known)
        }


def _of(service: str, slot: str) -> bool:
    return slot.startswith(f"{service}.")


def said_in(turns: Sequence[SgdTurn]) -> Said:
    """Return what a dialogue says."""
    said = Said()
    for number, turn in enumerate(turns):
        said.take(number, turn)
    return said


def plain_words(text: str) -> str:
    """Return a text as it is compared: lower case, words and numbers alone."""
    kept = " ".join(re.findall(r"[a-z0-9$#.:&+-]+", text.lower()))
    return f" {re.sub(r'[.:]+(?= |$)', '', kept)} "


def is_stated(words: str, text: str) -> bool:
    """Tell whether a value stands in a text, a small number also as a word."""
    forms = (words, NUMBERS.get(words, words))
    return any(plain_words(form) in plain_words(text) for form in forms)


def read_sgd(path: Path, count: int, seed: int = 5) -> list[Marked]:
    """Return some dialogues of a file as `dialogist.recipe.sgd_marks` has them."""
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
    said, told = said_in(record["turns"]), report_dialogue(turns)
    holding, wrong = _places(said, told)
    keys = list(_fewest(holding, wrong, set(said.facts())))
    keys += [i for i in _outcomes(said, told) if i not in keys]
    spans = [[[told.units[i].turn, told.units[i].text]] for i in keys]
    stale = [[[told.units[i].turn, told.units[i].text]] for i in sorted(wrong.difference(keys))]
    statements = [{"key": True, "spans": one} for one in spans]
    statements += [{"key": False, "type": "stale", "spans": one} for one in stale]
    return {"id": f"sgd-{record['id']}", "turns": turns, "statements": statements}


def _places(said: Said, told: ReportedDialogue) -> tuple[dict[int, set[str]], set[int]]:
    """Of the units that can be told: the values that hold in each, and those with any other."""
    facts = said.facts()
    usable = {unit for one in told.candidates for unit in one.units}
    holding: dict[int, set[str]] = {}
    wrong: set[int] = set()
    for turn, key, words in said.values:
        for i in usable:
            if told.units[i].turn == turn and is_stated(words, told.units[i].text):
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


def _outcomes(said: Said, told: ReportedDialogue) -> Iterator[int]:
    """Yield of each turn that tells an outcome the unit that most likely does; it asks nothing."""
    usable = {unit for one in told.candidates for unit in one.units}
    for turn in said.outcomes:
        own = [i for i in usable if told.units[i].turn == turn and "?" not in told.units[i].text]
        if own:
            yield max(own, key=lambda i: (_is_outcome(told.units[i].text), told.units[i].words, -i))


def _is_outcome(text: str) -> bool:
    return any(CUES[name].search(text) for name in ("done", "refuse", "sorry", "negation"))
