"""What a dialogue costs in a batch job, and what many workers would do: measured, then simulated.

    python bench/scaling.py corpus/w*.jsonl [--style free] [--count 1600] [--save FILE]

Measured with one worker: seconds of a core for a dialogue in the worker and in the main process,
memory, bytes read and written. Core seconds, not wall seconds, so other work on the machine counts
little. Simulated: 1 to 64 workers that wait for one main process, which hands out shards and puts
parts in their place; times of shards vary as dialogues do. Network and disk are not simulated.
"""

import argparse
import heapq
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jobs import family, resident

SHARD = 1_000  # dialogues, the default of `dialogist batch`
TICKS = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Core seconds and largest memory (MB) of the main process and of its worker."""

    main: float
    worker: float
    main_memory: float
    worker_memory: float


def core_seconds(pid: int) -> float:
    """Seconds of a core that a process has had; 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
    except (OSError, IndexError):
        return 0.0


def measured(source: Path, output: Path, style: str) -> Cost:
    """Run a job with one worker and watch its processes."""
    command = [sys.executable, "-m", "dialogist", "batch", str(source), "-o", str(output)]
    process = subprocess.Popen([*command, "--style", style, "--quiet"])
    seconds: dict[int, float] = {}
    memory: dict[int, float] = {}
    while process.poll() is None:
        for pid in family(process.pid):
            seconds[pid] = max(seconds.get(pid, 0.0), core_seconds(pid))
            memory[pid] = max(memory.get(pid, 0.0), resident(pid) / 1e6)
        time.sleep(0.02)
    if process.returncode:
        raise SystemExit(f"dialogist batch ended with {process.returncode}")
    main, main_memory = seconds.pop(process.pid, 0.0), memory.pop(process.pid, 0.0)
    return Cost(main, sum(seconds.values()), main_memory, max(memory.values()))


def cost_of(dialogues: Sequence[str], style: str, folder: Path) -> dict[str, float]:
    """Of one dialogue, without what it takes to start."""
    one, every = folder / "one.jsonl", folder / "every.jsonl"
    one.write_text(dialogues[0])
    every.write_text("".join(dialogues))
    start = measured(one, folder / "out-one", style)
    whole = measured(every, folder / "out", style)
    more = len(dialogues) - 1
    written = sum(path.stat().st_size for path in (folder / "out").glob("part-*"))
    return {
        "dialogues": len(dialogues),
        "worker_core_seconds": (whole.worker - start.worker) / more,
        "main_core_seconds": (whole.main - start.main) / more,
        "start_core_seconds": start.main + start.worker,
        "main_memory_mb": whole.main_memory,
        "worker_memory_mb": whole.worker_memory,
        "bytes_read": every.stat().st_size / len(dialogues),
        "bytes_written": written / len(dialogues),
    }


def simulated(cost: dict[str, float], workers: int, shards: int, seed: int = 0) -> float:
    """Dialogues a second: shards one by one through the main process, then through a worker."""
    chance = random.Random(seed)
    free = [0.0] * workers
    main = end = 0.0
    for _ in range(shards):
        ready = heapq.heappop(free)
        main = max(main, ready) + SHARD * cost["main_core_seconds"]
        # The mean of a thousand dialogues varies little; machines of a cluster do more.
        done = main + SHARD * cost["worker_core_seconds"] * chance.lognormvariate(0.0, 0.1)
        heapq.heappush(free, done)
        end = max(end, done)
    return shards * SHARD / end


def main() -> None:
    """Print what was found, and save it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--style", default="faithful", choices=("faithful", "free"))
    parser.add_argument("--count", type=int, default=1_600)
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    lines = [line for path in given.files for line in path.read_text().splitlines()]
    dialogues = [
        json.dumps({"id": f"d{number}", "turns": json.loads(line)["turns"]}) + "\n"
        for number, line in enumerate(lines[: given.count])
    ]
    folder = Path(tempfile.mkdtemp(prefix="scaling-"))
    try:
        cost = cost_of(dialogues, given.style, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rates = {n: simulated(cost, n, 40 * n) for n in (1, 2, 4, 8, 16, 32, 64)}
    found = {
        "measured": {name: round(value, 6) for name, value in cost.items()},
        "per_core_hour": round(3_600 / cost["worker_core_seconds"]),
        "main_process_at_most_per_second": round(1 / cost["main_core_seconds"]),
        "simulated": {
            str(n): {"per_second": round(rate, 1), "efficiency": round(rate / n / rates[1], 3)}
            for n, rate in rates.items()
        },
    }
    print(json.dumps(found, indent=1))
    if given.save:
        before = json.loads(given.save.read_text()) if given.save.exists() else {}
        given.save.write_text(json.dumps({**before, given.style: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
