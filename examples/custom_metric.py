"""A metric of your own: which share of the amounts of money in a dialogue a summary holds.

    python custom_metric.py dialogues.jsonl

A metric turns each output into numbers that can be added up. A figure is a function of their sum,
so intervals and tests come for free. Here faithful style is compared with the first three turns.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from dialogist import Dialogue, Summarizer, read_dialogues
from dialogist.data.entities import find_entities
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.significance import compare_scores, intervals
from dialogist.metrics.base import Case, Column, percentage


class Amounts:
    """The share of a dialogue's amounts that its summary says; implements `Metric`."""

    name = "amounts"
    signature = "amounts | entity rules | each different amount once"
    columns = (Column("amounts.recall", "Amounts", "higher", 2, percentage),)

    def measure(self, case: Case) -> Sequence[float]:
        """How many amounts the output has, and how many there are."""
        assert case.dialogue is not None
        there = {value for turn in case.dialogue.utterances for value in _amounts(turn.text)}
        return (len(there & set(_amounts(case.prediction))), len(there))


def _amounts(text: str) -> list[str]:
    spans = (one for one in find_entities(text) if one.kind == "AMOUNT")
    return [text[one.start : one.end].lower() for one in spans]


def scores(system: str, dialogues: Sequence[Dialogue], texts: Iterable[str]) -> Scores:
    """Measure one system's texts about the dialogues."""
    metric = Amounts()
    rows = [
        metric.measure(Case(text, ("",), dialogue))
        for dialogue, text in zip(dialogues, texts, strict=True)
    ]
    ids = tuple(dialogue.id or str(n) for n, dialogue in enumerate(dialogues))
    return Scores(system, ids, metric.columns, np.array(rows), {metric.name: metric.signature})


def main(file: Path) -> None:
    dialogues = list(read_dialogues(file))
    summaries = Summarizer.load("default").summarize(dialogues)
    ours = scores("faithful style", dialogues, (one.text for one in summaries))
    first = (" ".join(turn.text for turn in one.utterances[:3]) for one in dialogues)
    lead = scores("first three turns", dialogues, first)
    for system in (ours, lead):
        found = intervals(system)["amounts.recall"]
        print(f"{system.system}: {found.figure:.1f}% ({found.low:.1f} to {found.high:.1f})")
    difference = compare_scores(ours, lead)["amounts.recall"]
    print(f"difference: {difference.difference:+.1f} points, p {difference.p:.3f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: custom_metric.py DIALOGUES.jsonl")
    main(Path(sys.argv[1]))
