"""How far what forms take from a dialogue can be believed: precision and recall as Markdown.

    python bench/forms.py [--sgd dev.jsonl.gz]

Of conversations that were written with their truth (tests/forms/gold), and with --sgd of what was
done or refused in annotated dialogues of Schema-Guided Dialogue: by the turns that are marked as
success and failure.
"""

import argparse
import gzip
import json
import re
from collections import Counter
from pathlib import Path

import yaml

from dialogist.forms.extraction import extract
from dialogist.records import Dialogue, Utterance

GOLD = Path(__file__).resolve().parents[1] / "tests" / "forms" / "gold"
KINDS = ("issue", "done", "decisions", "actions", "outcome")


def says(line: str, expected: str) -> bool:
    """Whether a line holds all words of what was expected, and none behind ``!``."""
    owner, colon, words = expected.lower().rpartition(": ")
    if colon and not line.lower().startswith(f"{owner}: "):
        return False
    return all(
        (re.search(rf"(?<!\w){re.escape(word.lstrip('!'))}", line.lower()) is None)
        == word.startswith("!")
        for word in words.split()
    )


def measured(path: Path) -> tuple[Counter[tuple[str, str]], list[str]]:
    """Counts (kind, ``there``, ``recalled``, ``found``, ``right``), and what went wrong."""
    counts: Counter[tuple[str, str]] = Counter()
    told: list[str] = []
    for row in yaml.safe_load(path.read_text(encoding="utf-8")):
        turns = (line.partition(": ") for line in row["turns"].strip().splitlines())
        dialogue = Dialogue(tuple(Utterance(who, text) for who, _, text in turns), row["id"])
        extracted = extract(dialogue)
        for kind in KINDS:
            findings = getattr(extracted, kind)
            lines = [f"{f.owner}: {f.text} {f.deadline}" for f in findings]
            wanted = row.get(kind, [])
            true = [*wanted, *row.get("may", []), *(row.get("done", []) * (kind == "outcome"))]
            missed = [one for one in wanted if not any(says(line, one) for line in lines)]
            wrong = [line for line in lines if not any(says(line, one) for one in true)]
            counts[kind, "there"] += len(wanted)
            counts[kind, "recalled"] += len(wanted) - len(missed)
            counts[kind, "found"] += len(lines)
            counts[kind, "right"] += len(lines) - len(wrong)
            told += [f"{dialogue.id}: {kind} missed: {one}" for one in missed]
            told += [f"{dialogue.id}: {kind} wrong: {one}" for one in wrong]
    return counts, told


def annotated(path: Path) -> Counter[tuple[str, str]]:
    """Counts of all dialogues of SGD: a turn is right where it is marked."""
    counts: Counter[tuple[str, str]] = Counter()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            dialogue = Dialogue(tuple(Utterance(t["s"], t["t"]) for t in row["turns"]), row["id"])
            extracted = extract(dialogue)
            marks = [{act[0] for _, acts in turn["a"] for act in acts} for turn in row["turns"]]
            done = {n for n, acts in enumerate(marks) if "NOTIFY_SUCCESS" in acts}
            ended = done | {n for n, acts in enumerate(marks) if "NOTIFY_FAILURE" in acts}
            for kind, true in (("done", done), ("outcome", ended)):
                found = {finding.main.utterance for finding in getattr(extracted, kind)}
                counts[kind, "there"] += len(true)
                counts[kind, "recalled"] += len(true & found)
                counts[kind, "found"] += len(found)
                counts[kind, "right"] += len(true & found)
    return counts


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sgd", type=Path)
    flags = parser.parse_args()
    tables = {path.stem: measured(path)[0] for path in sorted(GOLD.glob("*.yaml"))}
    if flags.sgd is not None:
        tables["sgd"] = annotated(flags.sgd)
    for name, counts in tables.items():
        print(f"| {name} | there | found | right | precision | recall |")
        print("|---|---:|---:|---:|---:|---:|")
        for kind in dict.fromkeys(kind for kind, _ in counts):
            there, recalled, found, right = (
                counts[kind, key] for key in ("there", "recalled", "found", "right")
            )
            precision, recall = 100 * right / max(1, found), 100 * recalled / max(1, there)
            print(f"| {kind} | {there} | {found} | {right} | {precision:.1f} | {recall:.1f} |")


if __name__ == "__main__":
    main()
