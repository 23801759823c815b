"""Running benchmark peers one after the other and showing their figures side by side."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def arguments(description: str) -> argparse.ArgumentParser:
    """The flags both benchmarks share."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="data folder with dialogsum/train.jsonl")
    parser.add_argument("--threads", type=int, default=usable_cores(), help="of every peer")
    parser.add_argument("--keras", type=Path, default=Path(".venv-keras/bin/python"))
    parser.add_argument("--output", type=Path, default=Path("bench/results"))
    return parser


def usable_cores() -> int:
    """How many cores this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_peer(command: list[str], threads: int, log: Path | None = None) -> Record:
    """Run one peer in a process of its own and read its JSON; ``log`` keeps what it says meanwhile.

    Added to it: ``load_before``, the machine's load when the peer started, and ``peak_mb``, the
    most memory it held. Linux starts a child's peak at its parent's size, so this process stays
    small: it imports neither torch nor TensorFlow.
    """
    env = {**os.environ, "OMP_NUM_THREADS": str(threads), "TF_CPP_MIN_LOG_LEVEL": "3"}
    load = os.getloadavg()[0]
    with (
        tempfile.TemporaryFile() as output,
        log.open("w+b") if log else tempfile.TemporaryFile() as messages,
    ):
        try:
            peer = subprocess.Popen(command, stdout=output, stderr=messages, env=env)
        except FileNotFoundError:
            sys.exit(f"{command[0]}: no such program; `make bench` sets the peers up")
        _, status, usage = os.wait4(peer.pid, 0)
        peer.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        messages.seek(0)
        if peer.returncode:
            end = messages.read().decode(errors="replace")[-2000:]
            sys.exit(f"{' '.join(command)}\nended with {peer.returncode}\n{end}")
        result: Record = json.loads(output.read())
    # kilobytes, but bytes on macOS
    peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return result | {"load_before": round(load, 2), "peak_mb": round(peak / 1e6)}


def markdown(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table under a heading."""
    lines = [list(columns), ["---"] * len(columns), *map(list, rows)]
    return "\n".join([f"### {title}", "", *(f"| {' | '.join(line)} |" for line in lines), ""])


def save(folder: Path, name: str, record: Record) -> None:
    """Write a record and the time into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {"time": time.strftime("%Y-%m-%d %H:%M:%S"), **record}
    (folder / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
