"""Report the utterances of dialogues by rules, and print them for reading, with the coverage.

    python bench/reported_speech.py FILE FORMAT [--first N] [--all]

FORMAT names the file's layout: turns (pairs), dialogsum, samsum, sgd or tweetsumm.
"""

import argparse
import gzip
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from dialogist.language.reported_speech import Conversation

Turns = list[tuple[str, str]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("format", choices=("turns", "dialogsum", "samsum", "sgd", "tweetsumm"))
    parser.add_argument("--first", type=int, default=40, help="dialogues that are read")
    parser.add_argument("--all", action="store_true", help="quoted sentences, too")
    options = parser.parse_args()
    kinds = {"reported": 0, "quoted": 0}
    for turns in islice(_dialogues(options.file, options.format), options.first):
        conversation = Conversation(turns)
        for i, (speaker, text) in enumerate(turns):
            for one in conversation.report(i):
                kinds[one.kind] += 1
                if one.kind == "reported" or options.all:
                    mark = one.text if one.kind == "reported" else "(quoted)"
                    print(f"{speaker}: {text[one.start : one.end]}\n    {mark}")
    total = sum(kinds.values())
    print(f"{kinds['reported']} of {total} sentences reported: {kinds['reported'] / total:.0%}")


def _dialogues(path: Path, layout: str) -> Iterator[Turns]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield _turns(json.loads(line), layout)


def _turns(record: dict[str, Any], layout: str) -> Turns:
    if layout == "sgd":
        return [(turn["s"].capitalize(), turn["t"]) for turn in record["turns"]]
    if layout == "tweetsumm":
        return [(("Customer", "Agent")[i % 2], text) for i, text in enumerate(record["turns"])]
    if layout == "turns":
        return [(speaker, text) for speaker, text in record["turns"]]
    said = (line.partition(": ") for line in record["dialogue"].splitlines())
    return [(speaker.strip(), text) for speaker, mark, text in said if mark and text.strip()]


if __name__ == "__main__":
    main()
