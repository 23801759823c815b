"""A metric of your own: which share of the numbers in a dialogue a summary holds.

    python custom_metric.py dialogues.jsonl

A metric turns each output into numbers that can be added up. A figure is a function of their sum,
so intervals and tests come for free. Here highlights are compared with the first three turns.
"""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from dialogist import Summarizer, read_dialogues
from dialogist_lab.evaluation.metric import (
    Case,
    Metric,
    MetricColumn,
    interval_of,
    paired_differences,
    score,
    share_of,
)
from dialogist_lab.evaluation.systems import find_baseline

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


class Numbers(Metric):
    """The share of a dialogue's different numbers that its summary says."""

    name = "numbers"
    signature = "numbers | digits | each different number once"
    columns = (MetricColumn("numbers.recall", "Numbers"),)

    def measure(self, case: Case) -> Sequence[float]:
        """How many of the numbers the output has, and how many there are."""
        assert case.dialogue is not None
        transcript = " ".join(turn.text for turn in case.dialogue.utterances)
        there = set(_NUMBER.findall(transcript))
        return share_of(len(there & set(_NUMBER.findall(case.prediction))), len(there))


def main(file: Path) -> None:
    dialogues = list(read_dialogues(file))
    lead = find_baseline("lead-3")
    assert lead is not None
    systems = {
        "highlights": Summarizer().summarize(dialogues),
        "first three turns": [lead(dialogue) for dialogue in dialogues],
    }
    ids = [dialogue.id for dialogue in dialogues]
    measured = []
    for name, summaries in systems.items():
        pairs = zip(summaries, dialogues, strict=True)
        cases = [Case(summary.text, ("",), dialogue) for summary, dialogue in pairs]
        measured.append(score(name, cases, ids, [Numbers()]))
        print(f"{name}: {interval_of(measured[-1], 'numbers.recall').text(1)}")
    [difference] = paired_differences(measured[:1], measured[1], "numbers.recall")
    print(f"difference: {difference.difference:+.1f} points, p {difference.p:.3f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: custom_metric.py DIALOGUES.jsonl")
    main(Path(sys.argv[1]))
