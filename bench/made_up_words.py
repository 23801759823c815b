"""How many summaries hold a word that neither their dialogue nor any training text does.

    python bench/made_up_words.py PREDICTIONS --texts DATA/dialogsum/train.jsonl

PREDICTIONS is what `dialogist evaluate ... --predictions` wrote (with the dialogues' turns). The
texts are JSON lines; every word of every string in them counts as known. A word is two letters or
more; its genitive or contraction ("yang's") counts as the word. What is found is printed to be
read: a new name misspelt or "housemaid" is told from "bridegroomgroom" by eye.
"""

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dialogist.language.casing import uncased

_WORD = re.compile(r"[^\W\d_]{2,}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("predictions", type=Path, nargs="+")
    parser.add_argument("--texts", type=Path, required=True, action="append")
    flags = parser.parse_args()
    known: set[str] = set()
    for path in flags.texts:
        for record in _records(path):
            known |= _words(record)
    for path in flags.predictions:
        outputs, found = 0, []
        for record in _records(path):
            outputs += 1
            new = _words(record["prediction"]) - known - _words(record["turns"])
            if new:
                found.append(f"{record['id']}: {' '.join(sorted(new))}")
        share = 100 * len(found) / max(1, outputs)
        print(f"{path}: {len(found)} of {outputs} ({share:.1f}%)", *found, sep="\n  ")


def _records(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def _words(value: Any) -> set[str]:
    """Every word of every string in a JSON value."""
    if isinstance(value, str):
        return set(_WORD.findall(uncased(value)))
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return {word for part in value for word in _words(part)}
    return set()


if __name__ == "__main__":
    main()
