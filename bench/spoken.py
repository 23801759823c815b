"""What the rules of templates find in conversations whose truth was written down beforehand.

The conversations are tests/forms/gold/spoken.yaml, the lines of which say how they are read.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from dialogist.records import Dialogue, Utterance
from dialogist.forms.extract.extraction import Extracted, extract

SPOKEN = Path(__file__).resolve().parents[1] / "tests" / "template" / "gold" / "spoken.yaml"
KINDS = ("issue", "done", "decisions", "actions", "outcome")


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation, what must be found in it, and what is true beside that."""

    dialogue: Dialogue
    kind: str
    wanted: Mapping[str, Sequence[str]]
    may: Sequence[str]


def cases(path: Path = SPOKEN) -> Iterator[Case]:
    """The conversations of the file."""
    for row in yaml.safe_load(path.read_text(encoding="utf-8")):
        turns = (line.partition(": ") for line in row["turns"].strip().splitlines())
        dialogue = Dialogue(tuple(Utterance(who, text) for who, _, text in turns), row["id"])
        wanted = {kind: row.get(kind, []) for kind in KINDS}
        yield Case(dialogue, row["kind"], wanted, row.get("may", []))


def found_lines(extracted: Extracted) -> dict[str, list[str]]:
    """What was found, a line each, by kind."""
    return {
        kind: [f"{one.owner}: {one.text} {one.deadline}" for one in getattr(extracted, kind)]
        for kind in KINDS
    }


def says(line: str, expected: str) -> bool:
    """Whether a line holds all words of what was expected, and none behind ``!``."""
    low = line.lower()
    owner, colon, words = expected.partition(": ")
    if not colon:
        words = owner
    elif not low.startswith(f"{owner.lower()}: "):
        return False
    there = {word: re.search(rf"(?<!\w){re.escape(word.lower())}", low) is not None
             for word in words.replace("!", " ").split()}  # fmt: skip
    return all(there[w] for w in words.split() if w[0] != "!") and not any(
        there[w[1:]] for w in words.split() if w[0] == "!"
    )


def measured(path: Path = SPOKEN) -> tuple[Counter[str], list[str]]:
    """Counts (``actions wanted``, ``recalled``, ``found``, ``right``), and what went wrong."""
    counts: Counter[str] = Counter()
    told: list[str] = []
    for case in cases(path):
        lines = found_lines(extract(case.dialogue))
        for kind in KINDS:
            wanted = case.wanted[kind]
            true = [*wanted, *case.may, *(case.wanted["done"] if kind == "outcome" else ())]
            missed = [one for one in wanted if not any(says(line, one) for line in lines[kind])]
            wrong = [line for line in lines[kind] if not any(says(line, one) for one in true)]
            counts.update({
                f"{kind} wanted": len(wanted), f"{kind} recalled": len(wanted) - len(missed),
                f"{kind} found": len(lines[kind]), f"{kind} right": len(lines[kind]) - len(wrong),
            })  # fmt: skip
            told += [f"{case.dialogue.id}: {kind} missed: {one}" for one in missed]
            told += [f"{case.dialogue.id}: {kind} wrong: {one}" for one in wrong]
    return counts, told
