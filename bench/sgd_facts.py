"""Check summaries of SGD's annotated dialogues by program: which values and outcomes they hold.

    python bench/sgd_facts.py sgd_annotated/dev.jsonl.gz [--count 300] [--save FILE]

A fact is a value that holds at the end of a dialogue (a slot of the final state in words that were
said, or what the system answered to a question), or an outcome (a booking made, or failed). Values
that the user changed, and offers that the user did not take, do not hold at the end.

* recall: facts whose value stands in a statement that cites a turn where it was said, and outcomes
  whose turn is cited.
* precision: of all annotated values that stand in statements beside a turn where they were said,
  those that hold at the end.

Intervals: 95%, bootstrap over dialogues.
"""

import argparse
import gzip
import json
import random
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dialogist import Dialogue, Summary, Utterance
from dialogist.engine.faithful import faithful_summaries
from dialogist.engine.options import SummaryOptions
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import intervals
from dialogist.metrics.base import Column, percentage

Turn = dict[str, Any]

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
BOTH_WAYS = {"True", "False", "dontcare"}
"""Values that stand for a choice and not for words."""
NUMBERS = dict(zip("123456789", _WORDS, strict=True))
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


def checked(said: Said, summary: Summary) -> Iterator[tuple[float, float]]:
    """Yield the numbers of the columns: (hits, all) of each."""
    facts = said.facts()
    mentions: set[tuple[str, str]] = set()
    cited: set[int] = set()
    for statement in summary.sentences:
        turns = {span.utterance for span in statement.evidence}
        cited |= turns
        for number, key, words in said.values:
            if number in turns and stands_in(words, statement.text):
                mentions.add((key, words))
    told = {key for key, words in mentions if words in facts.get(key, ())}
    true = {(key, words) for key, words in mentions if words in facts.get(key, ())}
    ended = [number for number in said.outcomes if number in cited]
    yield len(true) + len(ended), len(mentions) + len(ended)
    yield len(told) + len(ended), len(facts) + len(said.outcomes)
    yield len(told), len(facts)
    yield len(ended), len(said.outcomes)


COLUMNS = (
    ("precision", "precision of values and outcomes"),
    ("recall", "recall of values and outcomes"),
    ("recall.values", "recall of values"),
    ("recall.outcomes", "recall of outcomes"),
    ("words", "words of the summary, of the dialogue's"),
)


def measured(records: Sequence[dict[str, Any]]) -> Scores:
    """Summarise the dialogues and check what comes out."""
    rows, ids = [], []
    for record in records:
        turns = record["turns"]
        names = {"USER": "User", "SYSTEM": "Assistant"}
        utterances = tuple(Utterance(names[turn["s"]], turn["t"]) for turn in turns)
        dialogue = Dialogue(utterances, record["id"])
        [summary] = faithful_summaries([dialogue], SummaryOptions(), "default")
        words = sum(len(turn["t"].split()) for turn in turns)
        pairs = [*checked(said_in(turns), summary), (len(summary.text.split()), words)]
        rows.append([number for pair in pairs for number in pair])
        ids.append(record["id"])
    columns = tuple(Column(key, title, "neither", 2, percentage) for key, title in COLUMNS)
    return Scores("default", tuple(ids), columns, np.array(rows, dtype=np.float64), {})


def main() -> None:
    """Print the figures; save them where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path)
    options = parser.parse_args()
    with gzip.open(options.file, "rt", encoding="utf-8") as file:
        records = [json.loads(line) for line in file]
    drawn = random.Random(options.seed).sample(records, min(options.count, len(records)))
    scores = measured(drawn)
    found = intervals(scores)
    for key, title in COLUMNS:
        one = found[key]
        print(f"{title:42s} {one.figure:5.1f}%  ({one.low:.1f} to {one.high:.1f})")
    if options.save:
        commit = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
        ).stdout.strip()
        result = {
            "schema": 1,
            "name": "sgd-facts",
            "what": f"{len(drawn)} annotated dialogues of SGD dev, checked by program",
            "commit": commit,
            "seed": options.seed,
            "commands": [f"python bench/sgd_facts.py dev.jsonl.gz --count {options.count}"],
            "figures": {
                key: {
                    "figure": round(v.figure, 1),
                    "low": round(v.low, 1),
                    "high": round(v.high, 1),
                }
                for key, v in found.items()
            },
        }
        text = json.dumps(result, indent=1, ensure_ascii=False)
        options.save.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
