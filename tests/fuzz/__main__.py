"""``python -m tests.fuzz``: many mutated dialogues and files; see `tests.fuzz.running`."""

import argparse
import logging
import sys
from pathlib import Path

import torch
from tests.fuzz.running import run


def main() -> int:
    """Run, and say what was found; 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000, help="dialogues and files")
    parser.add_argument("--seed", type=int, default=0, help="the same seed, the same inputs")
    parser.add_argument("--share", type=float, default=0.005, help="by the bundled model")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="folder")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("dialogist").setLevel(logging.CRITICAL)
    found = run(
        flags.seed, flags.count, flags.share, flags.failures, lambda line: print(line, flush=True)
    )
    for failure in found.failures:
        print(failure)
    print(found)
    return 1 if found.failures else 0


if __name__ == "__main__":
    sys.exit(main())
