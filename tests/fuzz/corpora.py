"""Summarise every file of a folder of corpora with `dialogist summarize`; nothing may get lost.

    python -m tests.fuzz.corpora FOLDER                  # faithful style, whole files
    python -m tests.fuzz.corpora FOLDER --style free --model default --count 50
    python -m tests.fuzz.corpora FOLDER --style free --model tiny --only csds
    python -m tests.fuzz.corpora FOLDER --only sgd_annotated --column speaker=s --column text=t

``tiny`` has random weights: it is fast, and everything else of the pipeline is as in use. With
``--results`` a file that was done already is left out.
"""

import argparse
import gzip
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

import torch
from tests.conftest import tiny_bundle
from tests.fuzz.checking import faults

from dialogist import Summary
from dialogist.formats import ReadOptions, ReadProblem, read_dialogues
from dialogist.files import write_text_atomically
from dialogist.model_folder.bundle import save_bundle

ENDINGS = (".jsonl", ".jsonl.gz")
SHOWN = 5


@dataclass(slots=True)
class Row:
    """What came of one file: ids in that did not come out are ``lost``, ``unread`` was refused."""

    file: str
    model: str
    style: str
    columns: list[str] = field(default_factory=list)
    dialogues: int = 0
    lost: int = 0
    exit_code: int = 0
    seconds: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, str]:
        """What was run."""
        return self.file, self.model, self.style


def main() -> int:
    """Print a line per file; 1 where a dialogue has no summary, or one at fault, or is unread."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--style", default="faithful", choices=("faithful", "free"))
    parser.add_argument("--model", default="default", help="tiny, or a model's name or folder")
    parser.add_argument("--count", type=int, help="records of a file (all)")
    parser.add_argument("--column", default=[], action="append", help="as dialogist summarize's")
    parser.add_argument("--only", default="", help="files whose path holds this")
    parser.add_argument("--results", type=Path, help="JSON file with what came of each file")
    flags = parser.parse_args()
    rows = _stored(flags.results)
    done = {row.key for row in rows}
    new: list[Row] = []
    for path in sorted(flags.folder.rglob("*")):
        row = Row(path.relative_to(flags.folder).as_posix(), flags.model, flags.style, flags.column)
        if not path.name.endswith(ENDINGS) or flags.only not in row.file or row.key in done:
            continue
        with TemporaryDirectory() as folder:
            _fill(row, path, flags.count, Path(folder))
        new.append(row)
        print(
            f"{row.file}: {row.dialogues} in, {row.lost} lost, {row.seconds:.0f} s, "
            f"{row.statuses}, {len(row.faults)} faults, {len(row.unread)} unread",
            flush=True,
        )
        for line in (*row.faults[:SHOWN], *row.unread[:SHOWN]):
            print(line, file=sys.stderr)
        if flags.results is not None:
            _store(flags.results, [*rows, *new])
    return 1 if any(row.lost or row.faults or row.unread for row in new) else 0


def _fill(row: Row, path: Path, count: int | None, folder: Path) -> None:
    """Run the command on a file, or on its first records, and compare."""
    if count is not None:
        path = _first(path, count, folder)
    model = row.model
    if model == "tiny":
        model = str(folder / "tiny")
        save_bundle(Path(model), tiny_bundle(), "# tiny\n", torch.float32)
    output = folder / "summaries.jsonl"
    command = ["summarize", str(path), "--model", model, "--style", row.style, "--quiet"]
    command += [word for column in row.columns for word in ("--column", column)]
    start = time.monotonic()
    ran = subprocess.run(
        [sys.executable, "-m", "dialogist", *command, "--output", str(output)],
        capture_output=True,
        text=True,
        check=False,
    )
    row.seconds = round(time.monotonic() - start, 1)
    row.exit_code = ran.returncode
    if ran.returncode not in (0, 3) or "Traceback" in ran.stderr:
        row.faults.append(f"exit {ran.returncode}: {ran.stderr[-500:]}")
    _compare(row, path, output)


def _first(path: Path, count: int, folder: Path) -> Path:
    """A file with the first records of another."""
    found = folder / f"first-{path.name.removesuffix('.gz')}"
    with _opened(path) as lines:
        found.write_text("".join(islice(lines, count)), encoding="utf-8")
    return found


def _opened(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    return path.open(encoding="utf-8")


def _compare(row: Row, path: Path, output: Path) -> None:
    """Whether each dialogue has its summary, in order, and each is in order itself."""
    statuses: Counter[str] = Counter()
    summaries = _summaries(output)
    options = ReadOptions(columns=dict(column.split("=", 1) for column in row.columns))

    def refuse(problem: ReadProblem) -> None:
        row.unread.append(f"line {problem.line}: {problem.reason}")

    for dialogue in read_dialogues(path, options, refuse):
        row.dialogues += 1
        summary = next(summaries, None)
        if summary is None or summary.id != dialogue.id:
            row.lost += 1
            continue
        statuses[summary.status] += 1
        row.faults += [f"{dialogue.id}: {fault}" for fault in faults(dialogue, summary)]
    row.faults += [f"summary {more.id!r} too many" for more in summaries]
    row.statuses = dict(statuses.most_common())


def _summaries(path: Path) -> Iterator[Summary]:
    if path.exists():
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield Summary.from_json(json.loads(line))


def _stored(path: Path | None) -> list[Row]:
    if path is None or not path.exists():
        return []
    return [Row(**values) for values in json.loads(path.read_text(encoding="utf-8"))["files"]]


def _store(path: Path, rows: list[Row]) -> None:
    values = {
        "command": "python -m tests.fuzz.corpora FOLDER --style STYLE --model MODEL --results FILE",
        "dialogues": sum(row.dialogues for row in rows),
        "lost": sum(row.lost for row in rows),
        "faults": sum(len(row.faults) for row in rows),
        "unread": sum(len(row.unread) for row in rows),
        "files": [asdict(row) for row in sorted(rows, key=lambda row: row.key)],
    }
    write_text_atomically(path, json.dumps(values, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.exit(main())
