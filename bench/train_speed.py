"""Training speed of the reports' network: ours beside Keras 3, on the same rows, in one run.

    python bench/train_speed.py --data DATA     (needs .venv-keras: make bench-train)

Every run is a process of its own; the systems take turns, in reverse order every other round. Ours
is the real trainer with the recipe `dialogsum-report-1`, in bf16: on its batches of 64 random rows,
and on batches of like lengths. Keras is `keras_parity`'s network in fp32, in fixed shapes. The
clock covers whole updates after the warm-up, which fills oneDNN's caches. Prints Markdown; a row is
the median of its rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

SYSTEMS = ("Keras 3, fp32", "Dialogist, bf16", "Dialogist, bf16, like lengths")
BATCH = 64


def write_arrays(data: Path, path: Path, rows: int = 4000) -> None:
    """The first rows of DialogSum train as the recipe encodes them, padded with 0."""
    from dialogist_lab.data.batching import encode
    from dialogist_lab.data.preparation import Preparation
    from dialogist_lab.data.vocabulary import Tokenizer
    from dialogist_lab.recipe import read_recipe
    from dialogist_lab.train_run import ProgressLines, read_sets, tokenizer_texts

    recipe = read_recipe("dialogsum-report-1")
    preparation = Preparation(recipe.preparation)
    dialogues = read_sets(recipe.data.train, data, ProgressLines(quiet=True))
    examples = [preparation.prepare(dialogue) for dialogue in dialogues]
    tokenizer: Tokenizer = recipe.tokenizer.build(tokenizer_texts(examples))
    limits = recipe.preparation.limits
    pairs = [pair for e in examples[:rows] for pair in encode(e, tokenizer, limits).pairs]
    source = np.zeros((len(pairs), 150), np.int32)
    target = np.zeros((len(pairs), 50), np.int32)
    for row, pair in enumerate(pairs):
        source[row, : len(pair.source)] = pair.source
        target[row, : len(pair.target)] = pair.target
    np.savez(path, source=source, target=target, vocabulary=len(tokenizer))


def keras(arrays: Any, flags: argparse.Namespace) -> list[tuple[float, int]]:
    """(seconds, examples) of each update."""
    import keras_parity as reports
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(flags.threads)
    tf.config.threading.set_inter_op_parallelism_threads(flags.threads)
    source, target = arrays["source"], arrays["target"]
    model = reports.Transformer(reports.Size(vocab=int(arrays["vocabulary"])))
    shapes = (BATCH, source.shape[1]), (BATCH, target.shape[1])
    step = reports.build_train_step(model, *shapes)
    taken = []
    for update in range(flags.warmup + flags.steps):
        rows = slice(update * BATCH % 3900, update * BATCH % 3900 + BATCH)
        start = time.perf_counter()
        float(step(tf.constant(source[rows]), tf.constant(target[rows])))
        taken.append((time.perf_counter() - start, BATCH))
    return taken


def ours(arrays: Any, flags: argparse.Namespace) -> list[tuple[float, int]]:
    """(seconds, examples) of each update."""
    import torch

    from dialogist_lab.data.batching import EncodedPair, TokenBucketConfig, TrainingData
    from dialogist_lab.decoding import Symbols
    from dialogist_lab.recipe import read_recipe
    from dialogist_lab.training.objective import CrossEntropy
    from dialogist_lab.training.run_tracking import ProgressLines
    from dialogist_lab.training.trainer import Trainer, Validation

    torch.set_num_threads(flags.threads)
    recipe, vocabulary = read_recipe("dialogsum-report-1"), int(arrays["vocabulary"])
    pairs = [
        EncodedPair(tuple(source[source > 0].tolist()), tuple(target[target > 0].tolist()), (1,))
        for source, target in zip(arrays["source"], arrays["target"], strict=True)
    ]
    data = TrainingData(pairs, Symbols(pad=0, unk=1, bos=2, eos=3, size=vocabulary))
    settings: dict[str, Any] = {"precision": "bf16", "seed": flags.seed}
    settings |= {"checkpoint_every": 10**6, "max_steps": flags.warmup + flags.steps}
    if flags.system == 2:  # as many examples a batch on average
        tokens = int(1.05 * BATCH * data.lengths.sum() / len(pairs))
        settings["sampler"] = TokenBucketConfig(tokens=tokens)
    config = recipe.training.model_copy(update=settings)
    times: list[float] = []

    class Clock(ProgressLines):
        def update(self, *_: object) -> None:
            times.append(time.perf_counter())

    model = recipe.model.build(vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, CrossEntropy(), data, config, Path(folder), Clock(quiet=True))
        sizes = [len(batch) for batch in config.sampler.plan(data.lengths, flags.seed, 0)]
        trainer.fit(lambda epoch: Validation({}))
    return [(b - a, size) for a, b, size in zip(times, times[1:], sizes[1:], strict=False)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("data"))
    parser.add_argument("--keras", default=".venv-keras/bin/python", help="Python that has Keras")
    for name, value in {"threads": 2, "steps": 30, "warmup": 30, "rounds": 3, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--system", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--arrays", type=Path, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.system is not None:  # a process of its own
        with np.load(flags.arrays) as arrays:
            taken = (ours if flags.system else keras)(arrays, flags)[flags.warmup :]
        examples, seconds = sum(n for _, n in taken), sum(s for s, _ in taken)
        print(json.dumps(examples / seconds))
        return
    speeds: dict[int, list[float]] = {system: [] for system in range(len(SYSTEMS))}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        write_arrays(flags.data, path)
        for turn in range(flags.rounds):
            for system in list(speeds)[:: 1 if turn % 2 == 0 else -1]:
                python = sys.executable if system else flags.keras
                told = [f"--{n}={getattr(flags, n)}" for n in ("threads", "steps", "warmup")]
                own = [f"--system={system}", f"--arrays={path}", f"--seed={turn + 1}"]
                command = [python, __file__, *told, *own]
                environment = {**os.environ, "OMP_NUM_THREADS": str(flags.threads)}
                done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
                speeds[system].append(json.loads(done.stdout.splitlines()[-1]))
                print(f"{SYSTEMS[system]}: {speeds[system][-1]:.1f} examples/s", file=sys.stderr)
    print(f"{flags.threads} threads, load {os.getloadavg()[0]:.1f}\n")
    print("| system | examples/s | x Keras 3 |\n|---|---|---|")
    for system, name in enumerate(SYSTEMS):
        speed, base = (statistics.median(speeds[s]) for s in (system, 0))
        print(f"| {name} | {speed:.1f} | {speed / base:.2f} |")


if __name__ == "__main__":
    main()
