"""Summarise every file of a folder of corpora; count what goes in, what comes out, and how.

    python -m tests.fuzz.corpora FOLDER                     # a tiny model, up to 2,000 of a file
    python -m tests.fuzz.corpora FOLDER --model default --count 100

The tiny model has random weights: it is fast, and everything else of the pipeline is as in use.
"""

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch
from tests.fuzz.checking import faults
from tests.fuzz.running import tiny_summarizer

from dialogist import DialogistError, Dialogue, Summarizer
from dialogist.data.readers import read_dialogues

ENDINGS = (".jsonl", ".jsonl.gz")


def main() -> int:
    """Print a line per file; 1 where a dialogue has no summary, or one at fault."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", default="tiny", help="tiny, or a model's name or folder")
    parser.add_argument("--count", type=int, default=2000, help="dialogues of a file")
    parser.add_argument("--only", default="", help="files whose path holds this")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("dialogist").setLevel(logging.CRITICAL)
    tiny = flags.model == "tiny"
    summarizer = tiny_summarizer() if tiny else Summarizer.load(flags.model)
    wrong = 0
    print("| file | dialogues | summaries | unread | faults | seconds | statuses |")
    print("|---|---|---|---|---|---|---|")
    for path in sorted(flags.folder.rglob("*")):
        name = path.relative_to(flags.folder).as_posix()
        if path.name.endswith(ENDINGS) and flags.only in name:
            wrong += _told(summarizer, path, name, flags.count)
    return 1 if wrong else 0


def _told(summarizer: Summarizer, path: Path, name: str, count: int) -> int:
    """Print the line of a file; how much is wrong with it."""
    unread: list[str] = []
    found: list[str] = []
    statuses: Counter[str] = Counter()
    start, read, written = time.monotonic(), 0, 0
    try:
        dialogues = read_dialogues(path, None, lambda problem: unread.append(str(problem)))
        for group in _groups(islice(dialogues, count)):
            read += len(group)
            summaries = summarizer.summarize(group)
            written += len(summaries)
            statuses.update(summary.status for summary in summaries)
            both = zip(group, summaries, strict=True)
            found += [fault for pair in both for fault in faults(*pair)]
    except DialogistError as error:
        found.append(str(error))
    shown = ", ".join(f"{number} {status}" for status, number in statuses.most_common())
    seconds = time.monotonic() - start
    cells = (name, read, written, len(unread), len(found), f"{seconds:.0f}", shown)
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    for line in (unread + found)[:5]:
        print(f"  {name}: {line}", file=sys.stderr)
    return read - written + len(unread) + len(found)


def _groups(dialogues: Iterator[Dialogue], size: int = 32) -> Iterator[list[Dialogue]]:
    while group := list(islice(dialogues, size)):
        yield group


if __name__ == "__main__":
    sys.exit(main())
