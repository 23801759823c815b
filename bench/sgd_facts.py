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
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dialogist import Dialogue, Summary, Utterance
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import intervals
from dialogist.metrics.base import Column, percentage
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.faithful import faithful_summaries
from dialogist.recipe.sgd_marks import Said, is_stated, said_in


def checked(said: Said, summary: Summary) -> Iterator[tuple[float, float]]:
    """Yield the numbers of the columns: (hits, all) of each."""
    facts = said.facts()
    mentions: set[tuple[str, str]] = set()
    cited: set[int] = set()
    for statement in summary.sentences:
        turns = {span.utterance for span in statement.evidence}
        cited |= turns
        stated = [
            one for one in said.values if one[0] in turns and is_stated(one[2], statement.text)
        ]
        mentions |= {
            (key, words)
            for number, key, words in stated
            if words in facts.get(key, ()) or not _is_refused(said, turns, stated, (number, key))
        }
    told = {key for key, words in mentions if words in facts.get(key, ())}
    true = {(key, words) for key, words in mentions if words in facts.get(key, ())}
    ended = [number for number in said.outcomes if number in cited]
    yield len(true) + len(ended), len(mentions) + len(ended)
    yield len(told) + len(ended), len(facts) + len(said.outcomes)
    yield len(true), len(mentions)
    yield len(told), len(facts)
    yield len(ended), len(said.outcomes)


def _is_refused(
    said: Said, turns: set[int], stated: Sequence[tuple[int, str, str]], value: tuple[int, str]
) -> bool:
    """Whether a statement that tells a value also tells that the user refuses or changes it."""
    number, key = value
    if number + 1 in turns and number + 1 in said.refusals:
        return True
    return any(key == other and later > number for later, other, _ in stated)


COLUMNS = (
    ("precision", "precision of values and outcomes"),
    ("recall", "recall of values and outcomes"),
    ("precision.values", "precision of values"),
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
