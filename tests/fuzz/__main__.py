"""``python -m tests.fuzz``: many mutated dialogues and files; see `tests.fuzz.running`."""

import argparse
import json
import logging
import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from tests.fuzz.running import Found, Fuzz, run

from dialogist.files import write_text_atomically

_SYSTEMS = ("faithful", "network", "bundled")


def main() -> int:
    """Run, and say what was found; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="dialogues and files")
    parser.add_argument("--seed", type=int, default=0, help="the same seed, the same inputs")
    parser.add_argument("--share", type=float, default=0.004, help="by the bundled model")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="folder")
    parser.add_argument(
        "--results", type=Path, help="JSON with what each seed found; a seed goes on from there"
    )
    flags = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("dialogist").setLevel(logging.CRITICAL)
    found, save = Found(commit=_commit()), _nothing
    if flags.results is not None:
        found, save = _stored(flags.results, flags.seed)

    def tell(found: Found) -> None:
        save(found)
        print(f"{found.cases}/{flags.count}: {found}", flush=True)

    run(Fuzz(flags.seed, flags.failures, found), flags.count, flags.share, tell)
    for failure in found.failures:
        print(failure)
    return 1 if found.failures else 0


def _stored(path: Path, seed: int) -> tuple[Found, Callable[[Found], None]]:
    """What a seed has found before, and how to store what it finds next."""

    def save(found: Found) -> None:
        seeds = {**_seeds(path), str(seed): asdict(found)}
        every = [Found(**values) for values in seeds.values()]
        values = {
            "command": "make fuzz N=COUNT SEED=SEED ARGS='--results FILE'",
            "python": platform.python_version(),
            "torch": torch.__version__,
            "dialogues": sum(one.dialogues for one in every),
            **{name: sum(getattr(one, name) for one in every) for name in _SYSTEMS},
            "files": sum(one.files for one in every),
            "failures": sum(len(one.failures) for one in every),
            "seeds": dict(sorted(seeds.items())),
        }
        write_text_atomically(path, json.dumps(values, indent=1) + "\n")

    return Found(**{"commit": _commit(), **_seeds(path).get(str(seed), {})}), save


def _commit() -> str:
    """The state of the repository; empty in a copy without git."""
    command = ["git", "describe", "--always", "--dirty"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def _seeds(path: Path) -> dict[str, dict[str, object]]:
    return json.loads(path.read_text("utf-8"))["seeds"] if path.exists() else {}


def _nothing(found: Found) -> None:
    """Where nothing is to be stored."""


if __name__ == "__main__":
    sys.exit(main())
