"""Jobs at their limits: a million dialogues through a trivial model, and kills at any moment.

    python bench/jobs.py million --count 1000000 --workers 2
    python bench/jobs.py kills --count 5000 --kills 20
    python bench/jobs.py engines DIALOGUES.jsonl --style free

The model is the first utterance of each dialogue: what is measured is all the rest. ``engines``
runs a real model by local workers and by those of Ray, and compares their time and their bytes.
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dialogist.data.readers import ReadOptions
from dialogist.jobs.run import Watcher, run_job
from dialogist.jobs.sinks import FolderSink, Form
from dialogist.jobs.sources import items_of, origins_of
from dialogist.jobs.workers import WorkPlan
from dialogist.present import Shaped
from dialogist.records import JSON, Dialogue, Summary


@dataclass(frozen=True)
class FirstUtterance:
    """The trivial model; ``seconds`` is what it takes for a dialogue."""

    seconds: float = 0.0

    def open(self) -> "FirstUtterance":
        """It is ready as it is."""
        return self

    @property
    def settings(self) -> dict[str, JSON]:
        """It has a name."""
        return {"model": "first utterance"}

    def shown(self, dialogues: Sequence[Dialogue]) -> Iterator[Shaped]:
        """The first utterance of each."""
        for one in dialogues:
            if self.seconds:
                time.sleep(self.seconds)
            yield Shaped(Summary(one.utterances[0].text, one.id))


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


def run(source: Path, output: Path, workers: int, shard_size: int, seconds: float) -> None:
    """Run one job to its end, or go on with it."""
    origins = origins_of([str(source)])
    items = items_of(origins, ReadOptions(), print)
    plan = WorkPlan(
        FirstUtterance(seconds),
        output,
        FolderSink(output, Form.jsonl),
        workers=workers,
        shard_size=shard_size,
    )
    about: dict[str, JSON] = {"inputs": [[one.name, one.size] for one in origins]}
    run_job(plan, items, about, Watcher(lambda progress: None, print))


def started(source: Path, output: Path, workers: int, shard_size: int, seconds: float) -> int:
    """Start a job as a process of its own; its id."""
    settings = [str(workers), str(shard_size), str(seconds)]
    command = [sys.executable, __file__, "run", str(source), str(output), *settings]
    return subprocess.Popen(command).pid


def million(count: int, workers: int, folder: Path) -> None:
    """Tell how fast ``count`` dialogues go through, and the most memory each process had."""
    source, output = folder / "dialogues.jsonl", folder / "out"
    write_dialogues(source, count)
    begin = time.perf_counter()
    pid = started(source, output, workers, 1_000, 0)
    peaks: dict[int, int] = {}
    while os.waitpid(pid, os.WNOHANG) == (0, 0):
        for process in family(pid):
            peaks[process] = max(peaks.get(process, 0), resident(process))
        time.sleep(0.1)
    seconds = time.perf_counter() - begin
    totals = json.loads((output / "manifest.json").read_text())["totals"]
    main, *others = (peaks.pop(pid, 0), *sorted(peaks.values(), reverse=True))
    print(
        f"{totals['records']:,} records in {seconds:.1f} s: {count / seconds:,.0f}/s, "
        f"{workers} workers, {source.stat().st_size / 1e6:.0f} MB in, "
        f"{totals['bytes'] / 1e6:.0f} MB out; peak memory: main process {main / 1e6:.0f} MB, "
        f"others {', '.join(f'{one / 1e6:.0f}' for one in others)} MB"
    )


def family(pid: int) -> list[int]:
    """A process and all that descend from it."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def kills(count: int, wanted: int, seed: int, folder: Path) -> None:
    """Kill a job again and again at any moment; compare it with one that was left alone."""
    source, whole, output = folder / "dialogues.jsonl", folder / "whole", folder / "out"
    write_dialogues(source, count)
    run(source, whole, 1, 50, 0)
    chance, done = random.Random(seed), 0
    while not (output / "manifest.json").exists():
        pid = started(source, output, 2, 50, 0.004)
        if done < wanted:
            await_progress(output, chance.uniform(0.0, 1.0))
            target = chance.choice(family(pid)) if chance.random() < 0.25 else pid
            os.kill(target, signal.SIGKILL)
            done += 1
            if target != pid:  # a worker: the job goes on, and is killed a moment later
                time.sleep(chance.uniform(0.0, 0.5))
                os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    same = parts_in(whole) == parts_in(output)
    ids = [
        json.loads(line)["id"]
        for part in parts_in(output).values()
        for line in part.split(b"\n")
        if line
    ]
    once = sorted(ids) == sorted(f"d{number}" for number in range(count))
    print(f"{done} kills in a job of {count:,} records: every id once: {once}, equal bytes: {same}")
    if not (same and once):
        sys.exit(1)


def engines(source: Path, style: str, repeats: int, folder: Path) -> None:
    """Time both engines with one and two workers; seconds are those of the work, not the start.

    What it takes to start Python, Ray and the model is measured by a job of one dialogue, and told
    apart.
    """
    first = folder / "first.jsonl"
    first.write_bytes(source.read_bytes().splitlines(keepends=True)[0])
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for number in range(repeats):
        for workers in (1, 2):
            for engine in ("local", "ray"):
                output = folder / f"{engine}-{workers}-{number}"
                start = timed(first, folder / f"start-{output.name}", engine, workers, style)
                whole = timed(source, output, engine, workers, style)
                found.setdefault((engine, workers), []).append((start, whole - start))
    parts = [parts_in(folder / f"{engine}-{workers}-0") for engine, workers in found]
    for (engine, workers), seconds in found.items():
        start, work = (statistics.median(column) for column in zip(*seconds, strict=True))
        local = statistics.median(work for _, work in found["local", workers])
        print(
            f"{engine}, {workers} workers: start {start:.1f} s, work {work:.1f} s "
            f"({work / local:.2f} of local)"
        )
    same = all(one == parts[0] for one in parts)
    print(f"equal bytes: {same}")
    if not same:
        sys.exit(1)


def timed(source: Path, output: Path, engine: str, workers: int, style: str) -> float:
    """Run a job by the command line; its seconds."""
    flags = ["--engine", engine, "--workers", str(workers), "--style", style, "--shard-size", "25"]
    command = [sys.executable, "-m", "dialogist", "batch", str(source), "-o", str(output), *flags]
    begin = time.perf_counter()
    subprocess.run([*command, "--precision", "fp32", "--quiet"], check=True)
    return time.perf_counter() - begin


def await_progress(output: Path, seconds: float) -> None:
    """Wait until a job has begun to work, and then some time."""
    journal = output / "journal.jsonl"
    size, until = journal.stat().st_size if journal.exists() else 0, time.monotonic() + 30
    while time.monotonic() < until and not (journal.exists() and journal.stat().st_size > size):
        time.sleep(0.02)
    time.sleep(seconds)


def parts_in(folder: Path) -> dict[str, bytes]:
    """The parts of a job, by name, in order."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob("part-*"))}


def main() -> None:
    """Do what the command line says, in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run")
    one.add_argument("source", type=Path)
    one.add_argument("output", type=Path)
    one.add_argument("workers", type=int)
    one.add_argument("shard_size", type=int)
    one.add_argument("seconds", type=float)
    much = commands.add_parser("million")
    much.add_argument("--count", type=int, default=1_000_000)
    much.add_argument("--workers", type=int, default=2)
    deadly = commands.add_parser("kills")
    deadly.add_argument("--count", type=int, default=5_000)
    deadly.add_argument("--kills", type=int, default=20)
    deadly.add_argument("--seed", type=int, default=0)
    both = commands.add_parser("engines")
    both.add_argument("source", type=Path)
    both.add_argument("--style", default="free")
    both.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    if given.command == "run":
        run(given.source, given.output, given.workers, given.shard_size, given.seconds)
        return
    folder = Path(tempfile.mkdtemp(prefix="jobs-"))
    try:
        if given.command == "million":
            million(given.count, given.workers, folder)
        elif given.command == "engines":
            engines(given.source, given.style, given.repeats, folder)
        else:
            kills(given.count, given.kills, given.seed, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
