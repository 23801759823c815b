"""Summarize each day's folder of conversations once; for cron.

    15 2 * * *  python nightly_batch.py /data/calls /data/summaries

``/data/calls`` has a folder for each day (2026-11-24, 2026-11-25 ...). Each becomes a job of
``dialogist batch`` of its own. A day that is complete is not touched again, and one that was
interrupted continues. One line is printed for each day that was worked on.
"""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

FAILED, SOME_FAILED = (1, 2), 3
"""Exit codes of ``dialogist batch``: not complete; complete, with records that are errors."""


def main(calls: Path, summaries: Path) -> int:
    """Work off all finished days; the exit code is 1 if one is not complete."""
    summaries.mkdir(parents=True, exist_ok=True)
    worst = 0
    for day in sorted(folder for folder in calls.iterdir() if folder.is_dir()):
        output = summaries / day.name
        is_over = day.name < date.today().isoformat()
        if not is_over or (output / "manifest.json").exists():
            continue
        command = ["batch", str(day), "--output", str(output), "--form", "call", "--quiet"]
        done = subprocess.run([sys.executable, "-m", "dialogist", *command], check=False)
        print(f"{day.name}: {_outcome(output, done.returncode)}")
        worst = max(worst, 1 if done.returncode in FAILED else 0)
    return worst


def _outcome(output: Path, code: int) -> str:
    if code not in (0, SOME_FAILED):
        return f"not complete (exit code {code}); the next run continues"
    totals = json.loads((output / "manifest.json").read_text(encoding="utf-8"))["totals"]
    counts = ", ".join(f"{count} {status}" for status, count in totals["statuses"].items())
    return f"{totals['records']} summaries ({counts})"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: nightly_batch.py CALLS SUMMARIES")
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
