"""What a pretrained model writes of one exchange, beside what rules report of it, to be read.

    python bench/pretrained_rewriter.py MODEL corpus/w[7-9].jsonl corpus/w1?.jsonl > rewrites.jsonl

One exchange of each of ``--count`` dialogues that the selector did not learn from: a statement that
`default` tells (one that rules have put into the third person, chosen by chance), and the two to
four turns that it rests on. The model reads these turns alone; its first sentence counts. With
``--tags`` it reads #Person1# and #Person2# for the speakers, and its tags are put back.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from pretrained_verifier import with_tags

from dialogist import Dialogue, Summarizer, Utterance
from dialogist.recipe.sgd_marks import read_marked

FEWEST, MOST = 2, 4  # turns of an exchange


class Exchange(NamedTuple):
    """A part of a dialogue, and what rules report of it."""

    dialogue: Dialogue
    reported: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="a model folder")
    parser.add_argument("files", nargs="+", type=Path, help="of corpus/")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--tags", action="store_true", help="#Person1# for the speakers' names")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    marked = [one for path in flags.files for one in read_marked(path, is_validation=True)]
    chance = random.Random(1)
    chance.shuffle(marked)
    dialogues = [Dialogue(tuple(Utterance(*turn) for turn in one.turns), one.id) for one in marked]
    found = list(exchanges(dialogues, chance, flags.count))
    writer = Summarizer.load(flags.model, precision="int8")
    read = [with_tags(d, [])[0] if flags.tags else d for d, _ in found]
    for one, summary in zip(found, writer.stream(read), strict=True):
        written = summary.sentences[0].text if summary.sentences else ""
        for number, who in enumerate(one.dialogue.speakers if flags.tags else (), 1):
            written = written.replace(f"#Person{number}#", who)
        row = {
            "id": one.dialogue.id,
            "turns": [[turn.speaker, turn.text] for turn in one.dialogue.utterances],
            "reported": one.reported,
            "written": written,
        }
        sys.stdout.write(json.dumps(row, ensure_ascii=False) + "\n")


def exchanges(
    dialogues: Sequence[Dialogue], chance: random.Random, count: int
) -> Iterator[Exchange]:
    """At most one of each dialogue, ``count`` in all."""
    rules = Summarizer.load()
    for dialogue in dialogues:
        if not count:
            return
        [summary] = rules.summarize([dialogue])
        told = [one for one in summary.sentences if one.kind == "reported"]
        chance.shuffle(told)
        for statement in told:
            places = [span.utterance for span in statement.evidence]
            if places and (turns := around(min(places), max(places), len(dialogue.utterances))):
                part = Dialogue(dialogue.utterances[turns], dialogue.id)
                yield Exchange(part, statement.text)
                count -= 1
                break


def around(first: int, last: int, turns: int) -> slice | None:
    """The turns that a statement rests on, with the one before if it is one; None: too many."""
    if last - first + 1 < FEWEST:
        first = max(0, first - 1)
        last = min(max(last, first + 1), turns - 1)
    size = last - first + 1
    return slice(first, last + 1) if FEWEST <= size <= MOST else None


if __name__ == "__main__":
    sys.exit(main())
