"""Our side of the training benchmark: the real trainer on the report-1 network, one JSON line."""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from statistics import median

import numpy as np
import torch

from dialogist.data.collate import Pair
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.recipe.config import read_recipe
from dialogist.records import JSON
from dialogist.training.interfaces import TrainingData, Validation
from dialogist.training.progress import Progress
from dialogist.training.trainer import Trainer


class Clock:
    """A reporter that only looks at the time."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self.losses: list[float] = []

    def update(self, progress: Progress, batches: int, loss: float) -> None:
        self.times.append(time.perf_counter())
        self.losses.append(loss)

    def epoch(self, record: Mapping[str, JSON]) -> None: ...

    def note(self, text: str) -> None: ...


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrays", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--vocab", type=int, default=22_901)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="bf16")
    flags = parser.parse_args()
    torch.set_num_threads(flags.threads)
    load = os.getloadavg()[0]
    arrays = np.load(flags.arrays)
    pairs = [
        Pair(tuple(source[source > 0].tolist()), tuple(target[target > 0].tolist()))
        for source, target in zip(arrays["source"], arrays["target"], strict=True)
    ]
    recipe = read_recipe("dialogsum-report-1")
    steps = flags.steps + flags.warmup
    settings = {"precision": flags.precision, "max_steps": steps, "checkpoint_every": 10**6}
    config = recipe.training.model_copy(update=settings)
    model = recipe.model.build(flags.vocab)
    clock = Clock()
    with tempfile.TemporaryDirectory() as folder:
        data = TrainingData(pairs, pad_id=0)
        trainer = Trainer(model, CrossEntropy(), data, config, Path(folder), clock)
        trainer.fit(lambda epoch: Validation({}))
    gaps = np.diff(clock.times[flags.warmup - 1 :])
    batch = config.sampler.model_dump()["examples"]
    result = {
        "examples_per_s": batch * len(gaps) / float(gaps.sum()),
        "examples_per_s_median": batch / median(gaps.tolist()),
        "steps": len(gaps),
        "precision": flags.precision,
        "threads": flags.threads,
        "parameters": sum(p.numel() for p in model.parameters()),
        "loss_first": clock.losses[0],
        "loss_last": clock.losses[-1],
        "load_before": load,
        "torch": torch.__version__,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
