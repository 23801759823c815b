"""One training run in a process of its own: ``python training_process.py RUN [SECONDS]``.

With SECONDS every update takes so much longer, so that the process can be killed within the run.
Several of it, started by torchrun, share each batch.
"""

import sys
import time
from pathlib import Path

import torch
from tests.lab_engine.samples import SMALL, copying_data

from dialogist_lab.models.transformer import TransformerConfig
from dialogist_lab.training.objective import CrossEntropy
from dialogist_lab.training.run_tracking import ProgressLines
from dialogist_lab.training.trainer import (
    Trainer,
    TrainingConfig,
    Validation,
    process_group,
    write_tensors,
)


class Slow(ProgressLines):
    """It takes its time."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def update(self, *_: object) -> None:
        time.sleep(self.seconds)

    def note(self, text: str) -> None:
        print(text, flush=True)


def main() -> None:
    run, seconds = Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    dropout = 0.0 if "WORLD" in run.name else 0.1
    config = TrainingConfig.parse(
        {
            "epochs": 3,
            "seed": 5,
            "precision": "fp32",
            "checkpoint_every": 4,
            "log_every": 3,
            "sampler": {"kind": "token-bucket", "tokens": 120},
            "accumulate": 2,
            "select_by": "dev_loss",
            "optimizer": {"eps": 1e-4},  # biases of keys have no gradient but rounding
        }
    )
    torch.set_num_threads(1)
    with process_group(torch.device("cpu")) as processes:
        torch.manual_seed(5)
        model = TransformerConfig.parse(SMALL | {"dropout": dropout}).build(40)
        trainer = Trainer(model, CrossEntropy(), copying_data(61), config, run, Slow(seconds))
        trainer.fit(lambda epoch: Validation({"dev_loss": 1 / epoch}))
        if processes.first:
            write_tensors(run / "model.safetensors", dict(model.named_parameters()))


if __name__ == "__main__":
    main()
