"""A script for test_processes: the same runs by one process and by several.

    python -m torch.distributed.run --standalone --nproc-per-node 2 process_run.py FOLDER MODE

MODE ``cases``: the first process alone makes every run of `CASES`, then all make it together, and
then the run that ``stormy`` makes. ``stormy``: that run alone; a file FOLDER/kill/R-STEP tells
process R which signal to send itself after that update, FOLDER/slow lets every update take long.
The threads that process R has left when the group is gone are FOLDER/threads-R.json.
What process R finds is FOLDER/CASE/WHO-R.json and .safetensors, WHO being ``alone`` or
``together``; its run folder is FOLDER/CASE/WHO-R.
"""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import torch
from safetensors.torch import save_file

from dialogist.data.chance import Chance
from dialogist.data.changes import Epochs, Share
from dialogist.data.collate import EncodedPair
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.objectives import Loss
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist.training import master_weights
from dialogist.training.base import Progress, TrainingConfig, TrainingData, Validation
from dialogist.training.distributed import process_group
from dialogist.training.runtime import Interrupted
from dialogist.training.trainer import Trainer

CPU = torch.device("cpu")
PAIRS = 25
# Adam without a floor turns rounding errors of a zero gradient into whole steps.
CALM = {"optimizer": {"kind": "adam", "eps": 1e-3}, "schedule": {"kind": "constant", "peak": 0.01}}


def examples(count: int) -> dict[str, Any]:
    return {"sampler": {"kind": "shuffle-buffer", "examples": count}}


CASES: dict[str, dict[str, Any]] = {
    "even": {**CALM, **examples(4), "epochs": 8, "max_steps": 50},
    "odd": {**CALM, **examples(3), "epochs": 3},  # the last of an epoch's batches has one row
    "single": {**CALM, **examples(1), "epochs": 1},
    "accumulated": {
        **CALM,
        "sampler": {"kind": "token-bucket", "tokens": 40},
        "accumulate": 3,
        "clip_norm": 0.1,
        "epochs": 4,
    },
    "stopped": {**CALM, **examples(8), "epochs": 9, "patience": 2},
    "varied": {**CALM, **examples(4), "epochs": 3, "moving_average": 0.9},
    "bf16": {**examples(4), "epochs": 2, "precision": "bf16"},
}
STORMY: dict[str, Any] = {
    **examples(3),
    "epochs": 4,
    "accumulate": 2,
    "checkpoint_every": 3,
    "keep_last": 2,
    "optimizer": {"weight_decay": 0.1},
    "schedule": {"kind": "cosine", "peak": 0.01, "warmup": 5},
}


@dataclass
class Watcher:
    """Objective and reporter of one process; dies and dawdles as the folder says."""

    per = "token"

    folder: Path
    rank: int
    smoothing: float = 0.1
    losses: list[float] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)
    seeds: list[int] = field(default_factory=list)
    validated: list[int] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __call__(self, model: Transformer, batch: Batch) -> Loss:
        self.rows.append(batch.ids)
        self.seeds.append(torch.initial_seed())
        return CrossEntropy(self.smoothing)(model, batch)

    def update(self, progress: Progress, batches: int, loss: float) -> None:
        self.losses.append(loss)
        if self.rank == 0:
            (self.folder / "step").write_text(str(progress.step))
        fatal = self.folder / "kill" / f"{self.rank}-{progress.step}"
        if fatal.exists():
            number = int(fatal.read_text())
            fatal.unlink()
            os.kill(os.getpid(), number)
        if (self.folder / "slow").exists():
            time.sleep(0.1)

    def epoch(self, record: object) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)

    def validate(self, epoch: int) -> Validation:
        self.validated.append(epoch)
        torch.rand(epoch)  # only one process draws this
        return Validation({"dev_rougeL": 1.0})


class Lengthened:
    """Each epoch puts other words before the sources."""

    name: ClassVar[str] = "lengthened"
    keeps_lengths: ClassVar[bool] = False

    def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
        more = [3 + chance.below(9) for _ in range(chance.below(4))]
        return EncodedPair((1, *more, *pair.source[1:]), pair.target, pair.id)


def data(varied: bool) -> TrainingData:
    chance = torch.Generator().manual_seed(3)

    def ids() -> tuple[int, ...]:
        length = int(torch.randint(1, 7, (1,), generator=chance))
        return (1, *torch.randint(3, 12, (length,), generator=chance).tolist(), 2)

    pairs = [EncodedPair(ids(), ids(), f"p{i}") for i in range(PAIRS)]
    epochs = Epochs(7, (Lengthened(),), (Share(20), Share(5, 1.5))) if varied else None
    return TrainingData(pairs, Symbols(0, 1, 2), epochs)


def model_of(seed: int, dropout: float) -> Transformer:
    torch.manual_seed(seed)
    return TransformerConfig(
        d_model=16,
        heads=2,
        feed_forward=16,
        encoder_layers=1,
        decoder_layers=1,
        dropout=dropout,
        attention_output_dropout=dropout,
        positions="learned",
    ).build(12)


def train(folder: Path, who: str, case: str, rank: int) -> None:
    """One run; the processes begin with different weights, and only the first one's count."""
    (folder / case).mkdir(parents=True, exist_ok=True)
    options = {"precision": "fp32", "log_every": 1, **(CASES | {"stormy": STORMY})[case]}
    model = model_of(11 + rank, dropout=0.2 if case in ("stormy", "bf16") else 0.0)
    watcher = Watcher(folder, rank)
    name = folder / case / f"{who}-{rank}"
    pairs = data(varied=case == "varied")
    trainer = Trainer(model, watcher, pairs, TrainingConfig.parse(options), name, watcher)
    if rank == 0:
        name.mkdir(exist_ok=True)
    progress = trainer.fit(watcher.validate)
    found = {
        "losses": watcher.losses,
        "rows": watcher.rows,
        "seeds": watcher.seeds,
        "validated": watcher.validated,
        "notes": watcher.notes,
        "progress": progress.to_json(),
        "restarts": int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")),
    }
    name.with_suffix(".json").write_text(json.dumps(found))
    weights = {n: p.detach().clone() for n, p in model.named_parameters()}
    save_file(weights, name.with_suffix(".safetensors"))


def main(folder: Path, mode: str) -> None:
    signal.alarm(150)  # torchrun's children outlive it where it is killed
    master_weights.has_bf16 = lambda device: True  # without units for it bf16 is slow, not wrong
    torch.set_num_threads(1)
    rank = int(os.environ["RANK"])
    if mode == "cases" and rank == 0:
        for case in CASES:
            train(folder, "alone", case, rank)
    with process_group(CPU) as processes:
        assert (processes.rank, processes.count) == (rank, 2)
        for case in [*(CASES if mode == "cases" else ()), "stormy"]:
            train(folder, "together", case, rank)
            processes.barrier()
    threads = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]
    (folder / f"threads-{rank}.json").write_text(json.dumps(threads))


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2])
    except Interrupted as interruption:
        sys.exit(interruption.exit_code)
