"""Jobs at their limits: a million dialogues through a trivial model, and kills at any moment.

    python bench/jobs.py million --count 1000000 --workers 2
    python bench/jobs.py kills --count 5000 --kills 20
    python bench/jobs.py kills --count 2000 --kills 6 --engine ray
    python bench/jobs.py engines DIALOGUES.jsonl --style free
    python bench/jobs.py rate DIALOGUES.jsonl --count 100000

The model is the first utterance of each dialogue: what is measured is all the rest. ``kills`` with
``--engine ray`` kills an actor and then the driver of each run; the bytes are compared with those
of local workers. ``engines`` runs a real model by both, and compares their time and their bytes.
``rate`` repeats the dialogues up to a count, and compares a job of one worker with the pipeline
alone in the same process. ``--results FILE`` keeps what was found; other figures in it stay.
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
from typing import NamedTuple, get_args

from dialogist import Summarizer, read_dialogues
from dialogist.formats import ReadOptions
from dialogist.batch.run import Watcher, run_job
from dialogist.batch.sinks import FolderSink, Form
from dialogist.batch.sources import items_of, origins_of
from dialogist.batch.workers import Engine, WorkPlan
from dialogist.present import PresentedSummary
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

    def shown(self, dialogues: Sequence[Dialogue]) -> Iterator[PresentedSummary]:
        """The first utterance of each."""
        for one in dialogues:
            if self.seconds:
                time.sleep(self.seconds)
            yield PresentedSummary(Summary(one.utterances[0].text, one.id))


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


class Cut(NamedTuple):
    """How a job is run: its workers, the size of its shards, and the seconds of a dialogue."""

    workers: int
    shard_size: int
    seconds: float = 0.0
    engine: Engine = "local"


def run(source: Path, output: Path, cut: Cut) -> None:
    """Run one job to its end, or go on with it."""
    origins = origins_of([str(source)])
    items = items_of(origins, ReadOptions(), print)
    plan = WorkPlan(
        FirstUtterance(cut.seconds),
        output,
        FolderSink(output, Form.jsonl),
        workers=cut.workers,
        shard_size=cut.shard_size,
        engine=cut.engine,
    )
    about: dict[str, JSON] = {"inputs": [[one.name, one.size] for one in origins]}
    run_job(plan, items, about, Watcher(lambda progress: None, print))


def started(source: Path, output: Path, cut: Cut) -> int:
    """Start a job as a process of its own; its id."""
    command = [sys.executable, __file__, "run", str(source), str(output), *map(str, cut)]
    return subprocess.Popen(command).pid


def million(count: int, workers: int, folder: Path) -> dict[str, JSON]:
    """How fast ``count`` dialogues go through, and the most memory each process had."""
    source, output = folder / "dialogues.jsonl", folder / "out"
    write_dialogues(source, count)
    begin = time.perf_counter()
    pid = started(source, output, Cut(workers, 1_000))
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
        "workers": workers,
        "seconds": round(seconds, 1),
        "per_second": round(count / seconds),
        "mb_in": round(source.stat().st_size / 1e6),
        "mb_out": round(totals["bytes"] / 1e6),
        "peak_mb_main": round(main / 1e6),
        "peak_mb_others": [round(one / 1e6) for one in others],
    }


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


def kills(
    count: int, wanted: int, chance: random.Random, engine: Engine, folder: Path
) -> dict[str, JSON]:
    """Kill a job again and again at any moment; compare it with one that was left alone."""
    source, whole, output = folder / "dialogues.jsonl", folder / "whole", folder / "out"
    write_dialogues(source, count)
    run(source, whole, Cut(1, 50))
    kill = kill_local if engine == "local" else kill_ray
    done, runs, family_left = 0, 0, 0
    while not (output / "manifest.json").exists():
        pid = started(source, output, Cut(2, 50, 0.008, engine))
        runs += 1
        if done < wanted:
            await_progress(output, chance.uniform(0.0, 1.0))
            others = family(pid)[1:]
            done += kill(pid, output, chance)
            os.waitpid(pid, 0)
            family_left += left_of(others)
        else:
            os.waitpid(pid, 0)
    same = parts_in(whole) == parts_in(output)
    ids = [
        json.loads(line)["id"]
        for part in parts_in(output).values()
        for line in part.split(b"\n")
        if line
    ]
    once = sorted(ids) == sorted(f"d{number}" for number in range(count))
    return {
        "kills": done,
        "runs": runs,
        "records": count,
        "every_id_once": once,
        "equal_bytes": same,
        "processes_left": family_left,
    }


def kill_local(pid: int, output: Path, chance: random.Random) -> int:
    """Kill a job, or first a worker of it; how many kills that counts as."""
    target = chance.choice(family(pid)) if chance.random() < 0.25 else pid
    os.kill(target, signal.SIGKILL)
    if target != pid:  # a worker: the job goes on, and is killed a moment later
        time.sleep(chance.uniform(0.0, 0.5))
        os.kill(pid, signal.SIGKILL)
    return 1


def kill_ray(pid: int, output: Path, chance: random.Random) -> int:
    """Kill an actor, and once the job went on its driver; how many kills that is."""
    actors = [one for one in family(pid) if "ray::_Model" in command_of(one)]
    os.kill(chance.choice(actors), signal.SIGKILL)
    await_progress(output, chance.uniform(0.0, 1.0))
    os.kill(pid, signal.SIGKILL)
    return 2


def command_of(pid: int) -> str:
    """How a process calls itself; empty for one that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def left_of(pids: Sequence[int]) -> int:
    """How many processes of a job that was killed live on; agents of Ray take a minute to end."""
    until = time.monotonic() + 120
    while (left := sum(bool(command_of(one)) for one in pids)) and time.monotonic() < until:
        time.sleep(0.1)
    return left


def engines(source: Path, style: str, repeats: int, folder: Path) -> dict[str, JSON]:
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
    figures: dict[str, JSON] = {"equal_bytes": all(one == parts[0] for one in parts)}
    for (engine, workers), seconds in found.items():
        start, work = (statistics.median(column) for column in zip(*seconds, strict=True))
        local = statistics.median(work for _, work in found["local", workers])
        figures[f"{engine}-{workers}"] = {
            "start_seconds": round(start, 1),
            "work_seconds": round(work, 1),
            "work_of_local": round(work / local, 2),
        }
    return figures


def rate(source: Path, count: int, style: str, folder: Path) -> dict[str, JSON]:
    """A job of ``count`` dialogues by one worker beside the pipeline alone before and after."""
    lines = source.read_text(encoding="utf-8").splitlines()
    large = folder / "dialogues.jsonl"
    with large.open("w", encoding="utf-8") as file:
        for number in range(count):
            row = {**json.loads(lines[number % len(lines)]), "id": f"d{number}"}
            file.write(json.dumps(row) + "\n")
    sample = folder / "sample.jsonl"
    sample.write_bytes(b"".join(large.open("rb").readlines(count // 20 * 400)[: count // 20]))
    bare = [pipeline_rate(sample, style)]
    begin, samples, output = time.perf_counter(), [], folder / "out"
    flags = ["--style", style, "--workers", "1", "--quiet", "-o", str(output)]
    job = subprocess.Popen([sys.executable, "-m", "dialogist", "batch", str(large), *flags])
    while job.poll() is None:
        samples.append([resident(one) / 1e6 for one in family(job.pid)])
        time.sleep(1)
    seconds = time.perf_counter() - begin
    bare.append(pipeline_rate(sample, style))
    totals = json.loads((output / "manifest.json").read_text())["totals"]
    sums = [sum(one) for one in samples]
    return {
        "records": totals["records"],
        "seconds": round(seconds, 1),
        "per_second": round(count / seconds, 1),
        "pipeline_per_second": [round(one, 1) for one in bare],
        "of_pipeline": round(count / seconds / statistics.mean(bare), 3),
        "mb_after_a_fifth": round(sums[len(sums) // 5]),
        "mb_at_the_end": round(sums[-2]),
        "peak_mb": round(max(sums)),
    }


def pipeline_rate(source: Path, style: str) -> float:
    """Dialogues a second of the pipeline alone, in this process, by one thread."""
    summarizer = Summarizer.load()
    dialogues = list(read_dialogues(source))
    begin = time.perf_counter()
    for _ in summarizer.stream(dialogues, style=style):
        pass
    return len(dialogues) / (time.perf_counter() - begin)


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
    size, until = journal.stat().st_size if journal.exists() else 0, time.monotonic() + 90
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
    one.add_argument("engine", choices=get_args(Engine))
    much = commands.add_parser("million")
    much.add_argument("--count", type=int, default=1_000_000)
    much.add_argument("--workers", type=int, default=2)
    deadly = commands.add_parser("kills")
    deadly.add_argument("--count", type=int, default=5_000)
    deadly.add_argument("--kills", type=int, default=20)
    deadly.add_argument("--seed", type=int, default=0)
    deadly.add_argument("--engine", choices=get_args(Engine), default="local")
    both = commands.add_parser("engines")
    both.add_argument("source", type=Path)
    both.add_argument("--style", default="free")
    both.add_argument("--repeats", type=int, default=3)
    alone = commands.add_parser("rate")
    alone.add_argument("source", type=Path)
    alone.add_argument("--count", type=int, default=100_000)
    alone.add_argument("--style", default="faithful")
    for measuring in (much, deadly, both, alone):
        measuring.add_argument("--results", type=Path, help="JSON file; other figures in it stay")
        measuring.add_argument("--note", default="", help="of the machine: loaded machine")
    given = parser.parse_args()
    if given.command == "run":
        cut = Cut(given.workers, given.shard_size, given.seconds, given.engine)
        run(given.source, given.output, cut)
        return
    folder, name = Path(tempfile.mkdtemp(prefix="jobs-")), given.command
    try:
        if given.command == "million":
            found = million(given.count, given.workers, folder)
        elif given.command == "engines":
            found = engines(given.source, given.style, given.repeats, folder)
        elif given.command == "rate":
            found = rate(given.source, given.count, given.style, folder)
            name = "rate" if given.style == "faithful" else f"{given.style}_rate"
        else:
            chance = random.Random(given.seed)
            found = kills(given.count, given.kills, chance, given.engine, folder)
            name = "kills" if given.engine == "local" else "ray_kills"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(found))
    if given.results:
        keep(given.results, name, found | {"note": given.note})
    if any(value is False for value in found.values()):
        sys.exit(1)


def keep(path: Path, name: str, found: dict[str, JSON]) -> None:
    """Put the figures of one measurement into a file of results; the others in it stay."""
    known = json.loads(path.read_text()) if path.exists() else {}
    whole = {
        "schema": 1,
        "name": "jobs",
        "what": "Batch jobs: a million records, kills, engines, the rate beside the pipeline",
        "figures": known.get("figures", {}) | {name: found},
        "commands": known.get("commands", {}) | {name: f"python {' '.join(sys.argv)}"},
    }
    path.write_text(json.dumps(whole, indent=1) + "\n")


if __name__ == "__main__":
    main()
