"""Trains the tagger of personal numbers, on dialogues in which writers marked them.

    python -m dialogist_lab.value_training corpus/*.jsonl --marked corpus/personal/*.jsonl

What no rule finds in the other dialogues counts as nobody's. A minute on one core; the weights
replace those of `dialogist.privacy.value_tagger`.
"""

import argparse
import re
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from dialogist import Dialogue, read_dialogues
from dialogist.privacy.masking import turns_that_ask
from dialogist.privacy.packs import privacy_of
from dialogist.privacy.value_tagger import value_candidates
from dialogist_lab.name_training import WEIGHTS, Examples, write_weights

_NUMBER = re.compile("[0-9]{2,}")


def value_examples(marked: Iterable[Dialogue], others: Iterable[Dialogue]) -> Examples:
    """Numbers and codes: those marked as somebody's, and others."""
    examples, rules, dice = Examples(), privacy_of().rules, Random(7)
    for dialogue in (*marked, *others):
        values: Any = dialogue.metadata.get("values")
        for n, (asked, turn) in enumerate(
            zip(turns_that_ask(dialogue.utterances), dialogue.utterances, strict=True)
        ):
            if values is None:
                longer = _NUMBER.sub(
                    lambda _: str(dice.randrange(10 ** dice.randrange(2, 7))), turn.text
                )
                for text in {turn.text: 0, longer: 0}:
                    found = [span for rule in rules for span in rule.spans(text, asked)]
                    examples.add(
                        (w for w in value_candidates(text, asked) if not w.touches(found)), []
                    )
            else:
                places = [_place(turn.text, text) for m, text, *_ in values if m == n]
                examples.add(value_candidates(turn.text, asked), places)
    return examples


def _place(text: str, value: str) -> tuple[int, int]:
    start = text.index(value)
    return start, start + len(value)


def main() -> None:
    """Train, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("others", nargs="+", type=Path, help="dialogues in which nothing is marked")
    parser.add_argument("--marked", nargs="+", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=WEIGHTS.with_name("values.weights"))
    given = parser.parse_args()
    marked, others = (
        [dialogue for path in paths for dialogue in read_dialogues(path)]
        for paths in (given.marked, given.others)
    )
    examples = value_examples(marked, others)
    write_weights(examples.fitted(1), given.output)
    print(f"{len(examples.features)} words, {sum(examples.are_names)} of values: {given.output}")


if __name__ == "__main__":
    main()
