"""What a dialogue costs in a batch job, and what many workers would do: measured, then simulated.

    python bench/scaling.py corpus/w*.jsonl [--style free] [--count 1600] [--save FILE]
    python bench/scaling.py --train [--rounds 2] [--save FILE]

Measured with one worker: seconds of a core for a dialogue in the worker and in the main process,
memory, bytes read and written. Core seconds, not wall seconds, so other work on the machine counts
little. Simulated: 1 to 64 workers that wait for one main process, which hands out shards and puts
parts in their place; times of shards vary as dialogues do. Network and disk are not simulated.

``--train`` trains a network of the bundled one's shape by one process and by two, of one thread
each, which share each batch; in turns, after some updates for warmth.
"""

import argparse
import heapq
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hosts import end, environment, made, train, wait_for
from jobs import family, resident

BUNDLED = {
    "tokenizer.size": "2000",
    "model.d_model": "384",
    "model.heads": "6",
    "model.encoder_layers": "6",
    "model.decoder_layers": "4",
    "model.feed_forward": "1536",
    "training.log_every": "1",
    "training.checkpoint_every": "1000",
    "training.sampler": "{kind: token-bucket, tokens: 5000}",
}
WARM, TIMED = 3, 12  # updates
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


def planned(files: Sequence[Path], count: int, style: str, folder: Path) -> dict[str, object]:
    """The cost of the dialogues of some files, and what many workers would do."""
    lines = [line for path in files for line in path.read_text().splitlines()]
    dialogues = [
        json.dumps({"id": f"d{number}", "turns": json.loads(line)["turns"]}) + "\n"
        for number, line in enumerate(lines[:count])
    ]
    cost = cost_of(dialogues, style, folder)
    rates = {n: simulated(cost, n, 40 * n) for n in (1, 2, 4, 8, 16, 32, 64)}
    return {
        "measured": {name: round(value, 6) for name, value in cost.items()},
        "per_core_hour": round(3_600 / cost["worker_core_seconds"]),
        "main_process_at_most_per_second": round(1 / cost["main_core_seconds"]),
        "simulated": {
            str(n): {"per_second": round(rate, 1), "efficiency": round(rate / n / rates[1], 3)}
            for n, rate in rates.items()
        },
    }


def trained(processes: int, command: Sequence[str], output: Path) -> tuple[float, float]:
    """Updates a second, and the core seconds of one over all processes."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    launch += ["--nproc-per-node", str(processes), *command]
    patient = environment() | {"DIALOGIST_PROCESS_TIMEOUT": "300"}
    agent = subprocess.Popen(launch, env=patient, start_new_session=True)
    try:
        marks = []
        for step in (WARM, WARM + TIMED):
            wait_for(output, step, [agent])
            marks.append((time.perf_counter(), sum(map(core_seconds, family(agent.pid)))))
    finally:
        end(agent)
    (begin, before), (now, after) = marks
    return TIMED / (now - begin), (after - before) / TIMED


def efficiency(rounds: int, folder: Path) -> dict[str, object]:
    """What two processes train beside one."""
    data, recipe = made(2_000, folder)
    found: dict[int, list[tuple[float, float]]] = {1: [], 2: []}
    for number in range(rounds):
        for processes, rows in found.items():
            output = folder / f"run-{processes}-{number}"
            command = train(data, output, recipe, BUNDLED)
            rows.append(trained(processes, command, output))
    one, alone = map(statistics.median, zip(*found[1], strict=True))
    two, both = map(statistics.median, zip(*found[2], strict=True))
    return {
        "updates": TIMED,
        "rounds": rounds,
        "updates_per_second": {"1": round(one, 3), "2": round(two, 3)},
        "core_seconds_of_an_update": {"1": round(alone, 2), "2": round(both, 2)},
        "speedup": round(two / one, 2),
        "efficiency": round(two / one / 2, 2),
        "efficiency_by_core_seconds": round(alone / both, 2),
    }


def main() -> None:
    """Print what was found, and save it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--style", default="faithful", choices=("faithful", "free"))
    parser.add_argument("--count", type=int, default=1_600)
    parser.add_argument("--train", action="store_true", help="measure training instead")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--note", default="", help="of the machine: loaded machine")
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="scaling-"))
    try:
        if given.train:
            name, found = "training", efficiency(given.rounds, folder)
        else:
            name, found = given.style, planned(given.files, given.count, given.style, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if given.note:
        found["note"] = given.note
    print(json.dumps(found, indent=1))
    if given.save:
        before = json.loads(given.save.read_text()) if given.save.exists() else {}
        given.save.write_text(json.dumps({**before, name: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
