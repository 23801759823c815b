"""Running benchmark peers one after the other and showing their figures side by side."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def run_peer(command: list[str], threads: int) -> dict[str, Any]:
    """Run one peer in a process of its own and read its JSON line."""
    env = {**os.environ, "OMP_NUM_THREADS": str(threads), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, capture_output=True, env=env, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stderr.decode()[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.decode().strip().splitlines()[-1])
    return result


def show(title: str, unit: str, rows: dict[str, dict[str, Any]], peer: str) -> str:
    """A Markdown table: the median figure of each row, and its ratio to the peer's."""
    base = rows[peer][f"{unit}_median"]
    lines = [f"### {title}", "", f"| system | {unit} (median) | x {peer} |", "|---|---|---|"]
    for name, row in rows.items():
        value = row[f"{unit}_median"]
        lines.append(f"| {name} | {value:.2f} | {value / base:.2f} |")
    return "\n".join(lines) + "\n"


def finish(folder: Path, name: str, title: str, unit: str, rows: dict[str, dict[str, Any]]) -> None:
    """Write the JSON, print the table."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {"title": title, "time": time.strftime("%Y-%m-%d %H:%M:%S"), "rows": rows}
    (folder / f"{name}.json").write_text(json.dumps(record, indent=2) + "\n")
    print(show(title, unit, rows, next(iter(rows))))
