"""Jobs at their limits: a million dialogues through a trivial writer, and kills at any moment.

    python bench/jobs.py million --count 1000000 --workers 2
    python bench/jobs.py kills --count 5000 --kills 20
    python bench/jobs.py kills --count 2000 --kills 6 --engine ray

The writer is the first utterance of each dialogue: what is measured is all the rest. ``kills`` ends
workers and the whole job by kill -9, and compares the parts with those of a job that was left
alone. ``--results FILE`` keeps what was found; other figures in it stay.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogist.batch.job import JobPlan, run_job
from dialogist.batch.places import FolderSink, items_of, origins_of
from dialogist.batch.work import Opened
from dialogist.formats import ReadOptions
from dialogist.records import Dialogue, Summary


@dataclass(frozen=True)
class FirstUtterance:
    """The trivial writer; ``seconds`` is what it takes for a dialogue."""

    seconds: float = 0.0

    def open(self) -> Opened:
        """It is ready as it is."""
        return Opened({"writer": "first utterance"}, self._records)

    def _records(self, dialogues: Iterable[Dialogue]) -> Iterator[dict[str, Any]]:
        """The first utterance of each."""
        for dialogue in dialogues:
            if self.seconds:
                time.sleep(self.seconds)
            yield {**Summary(dialogue.utterances[0].text, dialogue.id).to_json()}


def write_dialogues(path: Path, count: int) -> None:
    """Write ``count`` short dialogues, all different."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            turns = [
                {"speaker": "Ann", "text": f"Can you send me report {number} by Friday?"},
                {"speaker": "Bo", "text": "Yes, I will send it on Thursday evening."},
                {"speaker": "Ann", "text": "Great, thanks."},
            ]
            file.write(json.dumps({"id": f"d{number}", "turns": turns}) + "\n")


def run(source: Path, output: Path, given: argparse.Namespace, seconds: float) -> None:
    """Run one job to its end, or go on with it."""
    origins = origins_of([str(source)])
    plan = JobPlan(
        FirstUtterance(seconds),
        output,
        FolderSink(output),
        workers=given.workers,
        shard_size=given.shard_size,
        engine=given.engine,
    )
    about: dict[str, Any] = {"inputs": [[origin.name, origin.size] for origin in origins]}
    run_job(plan, items_of(origins, ReadOptions(), print), about, lambda progress: None, print)


def started(source: Path, output: Path, given: argparse.Namespace, seconds: float) -> int:
    """Start a job as a process of its own; its id."""
    words = ["run", "--source", source, "--output", output, "--seconds", seconds]
    words += ["--workers", given.workers, "--shard-size", given.shard_size]
    words += ["--engine", given.engine]
    return subprocess.Popen([sys.executable, __file__, *map(str, words)]).pid


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    pids = [pid]
    for parent in pids:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                pids += map(int, children.read_text().split())
            except OSError:
                continue
    return pids


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def million(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """How fast ``count`` dialogues go through, and the most memory each process had."""
    source, output = folder / "dialogues.jsonl", folder / "out"
    write_dialogues(source, given.count)
    begin = time.perf_counter()
    pid = started(source, output, given, 0)
    peaks: dict[int, int] = {}
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        for process in family(pid):
            peaks[process] = max(peaks.get(process, 0), resident(process))
        time.sleep(0.1)
    seconds = time.perf_counter() - begin
    totals = json.loads((output / "manifest.json").read_text())["totals"]
    main, *others = (peaks.pop(pid, 0), *sorted(peaks.values(), reverse=True))
    return {
        "records": totals["records"],
        "workers": given.workers,
        "seconds": round(seconds, 1),
        "per_second": round(given.count / seconds),
        "mb_in": round(source.stat().st_size / 1e6),
        "mb_out": round(totals["bytes"] / 1e6),
        "peak_mb_main": round(main / 1e6),
        "peak_mb_others": [round(peak / 1e6) for peak in others],
    }


def kills(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Kill a job again and again at any moment; compare it with one that was left alone."""
    chance = random.Random(given.seed)
    source, whole, output = folder / "dialogues.jsonl", folder / "whole", folder / "out"
    write_dialogues(source, given.count)
    run(source, whole, argparse.Namespace(**{**vars(given), "engine": "local"}), 0)
    killed = runs = left = 0
    while not (output / "manifest.json").exists():
        pid = started(source, output, given, 0.008)
        runs += 1
        if killed < given.kills:
            journal = output / "journal.jsonl"
            until, parts = time.monotonic() + 120, len(parts_in(output))
            while time.monotonic() < until and len(parts_in(output)) == parts:
                time.sleep(0.02)  # it has begun to work
            time.sleep(chance.uniform(0.0, 1.0))
            others = family(pid)[1:]
            workers = [other for other in others if _is_worker(other)]
            if workers and journal.exists() and chance.random() < 0.5:
                os.kill(chance.choice(workers), signal.SIGKILL)  # the job goes on without it
                killed += 1
                time.sleep(chance.uniform(0.0, 1.0))
            os.kill(pid, signal.SIGKILL)
            killed += 1
            os.waitpid(pid, 0)
            until = time.monotonic() + 120  # agents of Ray take a minute to end
            while (alive := sum(map(_is_there, others))) and time.monotonic() < until:
                time.sleep(0.1)
            left += alive
        else:
            os.waitpid(pid, 0)
    lines = [line for part in parts_in(output).values() for line in part.splitlines()]
    ids = sorted(json.loads(line)["id"] for line in lines)
    return {
        "kills": killed,
        "runs": runs,
        "records": given.count,
        "every_id_once": ids == sorted(f"d{number}" for number in range(given.count)),
        "equal_bytes": parts_in(whole) == parts_in(output),
        "processes_left": left,
    }


def parts_in(folder: Path) -> dict[str, bytes]:
    """The parts of a job."""
    return {path.name: path.read_bytes() for path in folder.glob("part-*")}


def _is_there(pid: int) -> bool:
    return bool(_words(pid))


def _is_worker(pid: int) -> bool:
    words = _words(pid)
    return "ray::make_records" in words or "forkserver" in words


def _words(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("million", "kills", "run"))
    parser.add_argument("--count", type=int, default=5_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shard-size", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--engine", choices=("local", "ray"), default="local")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--results", type=Path, help="JSON file for the figures")
    parser.add_argument("--note", default="", help="of the machine, such as: loaded machine")
    given = parser.parse_args()
    if given.what == "run":
        run(given.source, given.output, given, given.seconds)
        sys.exit()
    with tempfile.TemporaryDirectory(prefix="dialogist-jobs-") as folder:
        figures = (million if given.what == "million" else kills)(given, Path(folder))
    print(json.dumps(figures))
    if given.results:
        known = json.loads(given.results.read_text())
        name = given.what if given.engine == "local" else f"ray_{given.what}"
        known["figures"][name] = {**figures, "note": given.note}
        known["commands"][name] = f"python {' '.join(sys.argv)}"
        given.results.write_text(json.dumps(known, indent=1) + "\n")
