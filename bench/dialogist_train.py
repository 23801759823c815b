"""Our side of the training benchmark: the real trainer on one of the `nets`, one JSON line.

python bench/dialogist_train.py --net small --arrays FILE.npz --steps 30 --precision bf16
"""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from batches import lengths_of, load_arrays, tokens_for
from nets import DROPOUT, NETS, ROWS, Net
from torch.profiler import ProfilerActivity, profile

from dialogist.data.collate import EncodedPair, TokenBucketConfig
from dialogist.models import ModelConfig
from dialogist.models.transformer import TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.recipe.recipe_config import read_recipe
from dialogist.records import JSON
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist.training.base import Progress, TrainingConfig, TrainingData, Validation
from dialogist.training.trainer import Trainer


@dataclass(frozen=True)
class WatchedData(TrainingData):
    """Training data that remember which rows they gave out, batch by batch: nothing else."""

    rows: list[list[int]] = field(default_factory=list)

    def batch(self, indices: Iterable[int]) -> Batch:
        """The batch, as always."""
        given = [int(i) for i in indices]
        self.rows.append(given)
        return super().batch(given)


class Watch:
    """A reporter that looks at the clock, and now and then at the memory."""

    def __init__(self, flags: argparse.Namespace) -> None:
        self.flags = flags
        self.times: list[float] = []
        self.losses: list[float] = []
        self.memory: list[tuple[int, float]] = []
        self.profiler = profile(activities=[ProfilerActivity.CPU]) if flags.profile else None

    def update(self, progress: Progress, batches: int, loss: float) -> None:
        """After every update; a GPU may still be at work on it."""
        if self.flags.device == "cuda":
            torch.cuda.synchronize()
        self.times.append(time.perf_counter())
        self.losses.append(loss)
        done = len(self.times)
        if self.flags.memory_every and done % self.flags.memory_every == 0:
            self.memory.append((done, resident_mb()))
            print(json.dumps(self.memory[-1]), file=sys.stderr, flush=True)
        if self.profiler and done == self.flags.warmup:
            self.profiler.start()

    def epoch(self, record: Mapping[str, JSON]) -> None:
        """Not wanted here."""

    def note(self, text: str) -> None:
        """Not wanted here."""

    def write_profile(self, path: Path) -> None:
        """What took the time of the updates after the warm-up, largest first."""
        assert self.profiler is not None
        self.profiler.stop()
        averages = self.profiler.key_averages()
        path.write_text(averages.table(sort_by="self_cpu_time_total", row_limit=40))


def resident_mb() -> float:
    """Resident memory of this process (Linux; elsewhere 0)."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def model_config(name: str) -> ModelConfig:
    """The net as Dialogist's configuration; the reports' own is a recipe."""
    if name == "report":
        return read_recipe("dialogsum-report-1").model
    net = NETS[name]
    return TransformerConfig.parse(
        {
            "d_model": net.width,
            "heads": net.heads,
            "feed_forward": net.feed_forward,
            "encoder_layers": net.encoder_layers,
            "decoder_layers": net.decoder_layers,
            "dropout": DROPOUT,
            "attention_output_dropout": DROPOUT,
            "norm": net.norm,
            "activation": net.activation,
            "positions": "learned" if net.learned_positions else "sinusoidal",
            "source_positions": net.source_tokens,
            "target_positions": net.target_tokens,
        },
        f"net {name}",
    )


def training_config(flags: argparse.Namespace, batch_tokens: int | None) -> TrainingConfig:
    """The reports' training, or AdamW; without checkpoints in between."""
    config = TrainingConfig()
    if flags.net == "report":
        config = read_recipe("dialogsum-report-1").training
    settings: dict[str, Any] = {
        "precision": flags.precision,
        "seed": flags.seed,
        "epochs": 10**4,
        "max_steps": flags.steps + flags.warmup,
        "checkpoint_every": 10**6,
        "keep_last": 1,
    }
    if batch_tokens is not None:
        settings["sampler"] = TokenBucketConfig(tokens=batch_tokens)
    return config.model_copy(update=settings)


def measure(flags: argparse.Namespace) -> dict[str, Any]:
    """Train and return what happened."""
    net: Net = NETS[flags.net]
    source, target = load_arrays(flags.arrays)
    pairs = [
        EncodedPair(tuple(words[words > 0].tolist()), tuple(summary[summary > 0].tolist()))
        for words, summary in zip(source, target, strict=True)
    ]
    batch_tokens = net.batch_tokens
    if flags.bucketed and batch_tokens is None:
        batch_tokens = tokens_for(lengths_of(source, target), ROWS)
    torch.manual_seed(flags.seed)
    model = model_config(flags.net).build(net.vocabulary).to(flags.device)
    data, watch = WatchedData(pairs, Symbols(pad=0, bos=int(target[0, 0]), eos=0)), Watch(flags)
    config = training_config(flags, batch_tokens)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(model, CrossEntropy(), data, config, Path(folder), watch)
        trainer.fit(lambda epoch: Validation({}))
    if flags.profile:
        watch.write_profile(flags.profile)
    warm, times = flags.warmup, watch.times
    timed = zip(times[warm - 1 : -1], times[warm:], strict=True)
    return {
        "step_seconds": [end - start for start, end in timed],
        "rows": data.rows[warm : len(times)],
        "loss_first": watch.losses[0],
        "loss_last": watch.losses[-1],
        "parameters": sum(p.numel() for p in model.parameters()),
        "memory_mb": watch.memory,
        "gpu_peak_mb": torch.cuda.max_memory_allocated() / 1e6 if flags.device == "cuda" else None,
        "versions": {"torch": torch.__version__},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--net", choices=NETS, required=True)
    parser.add_argument("--arrays", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=30, help="timed updates")
    parser.add_argument("--warmup", type=int, default=5, help="updates before the clock")
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="bf16")
    parser.add_argument("--bucketed", action="store_true", help="batches of like lengths")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory-every", type=int, default=0, help="note memory so often")
    parser.add_argument("--profile", type=Path, help="write a profile here; timings are off then")
    flags = parser.parse_args()
    if flags.warmup < 1 or flags.steps < 1:
        parser.error("--steps and --warmup are at least 1")
    torch.set_num_threads(flags.threads)
    print(json.dumps(measure(flags)))


if __name__ == "__main__":
    main()
