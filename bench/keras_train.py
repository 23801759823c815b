"""Training speed of the Keras peer (`keras_reports`): one JSON line on standard output.

    python keras_train.py --arrays FILE.npz --steps 30 --warmup 5 --threads 2 --json

FILE.npz holds int32 `source` (N, S) and `target` (N, T), padded with 0; the target keeps [SOS] and
[EOS], the step shifts it. Batches are the rows in order, wrapping round; whole batches only.
The clock covers the steps after the warm-up, each including its two array copies and reading the
loss; it does not cover imports, building the network or tracing the graph.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import keras_reports as reports
import numpy as np
import tensorflow as tf

Batch = tuple[np.ndarray, np.ndarray]
Step = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Training speed of the reports' Keras network.")
    parser.add_argument("--arrays", type=Path, required=True, help="npz with source and target")
    parser.add_argument("--steps", type=int, default=30, help="timed steps")
    parser.add_argument("--warmup", type=int, default=5, help="steps before the clock, at least 1")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--vocab", type=int, default=reports.Size.vocab)
    parser.add_argument("--d-ff", type=int, default=reports.Size.d_ff)
    parser.add_argument("--schedule-warmup", type=int, default=4000, help="of the learning rate")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--xla", action="store_true", help="compile the step (no report does)")
    parser.add_argument("--json", action="store_true", help="one JSON line, nothing else")
    args = parser.parse_args()
    if args.steps < 1 or args.warmup < 1:
        parser.error("--steps and --warmup are at least 1 (the first step traces the graph)")
    return args


def load(path: Path, batch: int, vocab: int) -> Batch:
    """Return the arrays, checked: enough rows for one batch, ids inside the vocabulary."""
    with np.load(path) as arrays:
        source = arrays["source"].astype(np.int32)
        target = arrays["target"].astype(np.int32)
    if len(source) != len(target) or len(source) < batch:
        raise SystemExit(f"{path}: {len(source)} sources, {len(target)} targets, batch {batch}")
    low, high = min(source.min(), target.min()), max(source.max(), target.max())
    if low < 0 or high >= vocab:
        raise SystemExit(f"{path}: ids from {low} to {high} do not fit a vocabulary of {vocab}")
    return source, target


def batches(source: np.ndarray, target: np.ndarray, batch: int) -> Iterator[tuple[int, Batch]]:
    """Yield the first row and the arrays of batches of rows in order, for ever."""
    while True:
        for start in range(0, len(source) - batch + 1, batch):
            yield start, (source[start : start + batch], target[start : start + batch])


def run(
    step: Step, data: Iterator[tuple[int, Batch]], steps: int
) -> tuple[list[float], list[float], list[int]]:
    """Run `steps` steps and return their losses, their seconds and their first rows."""
    losses, seconds, rows = [], [], []
    for _ in range(steps):
        start = time.perf_counter()
        row, (source, target) = next(data)
        losses.append(float(step(tf.constant(source), tf.constant(target))))
        seconds.append(time.perf_counter() - start)
        rows.append(row)
    return losses, seconds, rows


def measure(args: argparse.Namespace) -> dict[str, object]:
    """Train and return the result."""
    source, target = load(args.arrays, args.batch, args.vocab)
    size = reports.Size(vocab=args.vocab, d_ff=args.d_ff)
    model = reports.build_model(size, args.seed)
    shapes = ((args.batch, source.shape[1]), (args.batch, target.shape[1]))
    optimizer = reports.build_optimizer(size, args.schedule_warmup)
    step = reports.build_train_step(model, optimizer, shapes, xla=args.xla)
    data = batches(source, target, args.batch)
    load_before = os.getloadavg()
    warm_losses, warm_seconds, _ = run(step, data, args.warmup)
    losses, seconds, rows = run(step, data, args.steps)
    return {
        "peer": "keras-xla" if args.xla else "keras",
        "examples_per_s": args.batch * args.steps / sum(seconds),
        "examples_per_s_median": args.batch / statistics.median(seconds),
        "steps": args.steps,
        "warmup": args.warmup,
        "seconds": sum(seconds),
        "step_seconds": seconds,
        "rows": [list(range(row, row + args.batch)) for row in rows],
        "warmup_seconds": sum(warm_seconds),
        "loss_first": warm_losses[0],
        "loss_last": losses[-1],
        "parameters": int(model.count_params()),
        "shapes": {"source": list(shapes[0]), "target": list(shapes[1]), "vocab": args.vocab},
        "versions": reports.versions(),
        "threads": args.threads,
        "load": {"before": list(load_before), "after": list(os.getloadavg())},
    }


def main() -> None:
    """Run the measurement and print it."""
    args = parse()
    reports.use_threads(args.threads)
    print(json.dumps(measure(args), indent=None if args.json else 2), flush=True)


if __name__ == "__main__":
    main()
