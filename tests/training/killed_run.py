"""A script for test_resume: the same run undisturbed, and killed again and again until it ends.

    python killed_run.py FOLDER KILLS

Torch is imported once; every start of a run is a forked child, which has the module state of a
fresh process. What each run leaves lies in FOLDER/straight, FOLDER/killed, and FOLDER/sharded
(killed as well; its pairs come from disk). The lines printed tell how each child ended.
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import save_file

from dialogist.data.collate import EncodedPair
from dialogist.data.encode import Encoded
from dialogist.data.shard_writer import ShardWriter
from dialogist.data.shards import Manifest, ShardedPairs
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.objectives import Loss
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.records import Coverage
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist.training.base import Progress, TrainingConfig, TrainingData, Validation
from dialogist.training.runtime import Interrupted
from dialogist.training.trainer import Trainer

EPOCHS, PAIRS = 6, 24


class Watcher:
    """Objective and reporter: writes which pairs each update saw, and beats after each."""

    per = "token"

    def __init__(self, folder: Path, beat: int) -> None:
        self.seen = folder / "seen.jsonl"
        self.beat = beat
        self.ids: list[str] = []

    def __call__(self, model: Transformer, batch: Batch) -> Loss:
        self.ids += batch.ids
        return CrossEntropy(0.1)(model, batch)

    def update(self, progress: Progress, batches: int, loss: float) -> None:
        line = {"step": progress.step, "epoch": progress.epoch, "ids": self.ids, "loss": loss}
        with self.seen.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self.ids = []
        if self.beat >= 0:
            os.write(self.beat, b".")

    def epoch(self, record: object) -> None: ...

    def note(self, text: str) -> None:
        with (self.seen.parent / "notes.txt").open("a") as file:
            file.write(text + "\n")


def pairs() -> list[EncodedPair]:
    chance = random.Random(3)

    def ids() -> tuple[int, ...]:
        return (1, *(chance.randrange(3, 12) for _ in range(chance.randrange(1, 7))), 2)

    return [EncodedPair(ids(), ids(), f"p{i}") for i in range(PAIRS)]


def write_shards(folder: Path) -> None:
    """The same pairs on disk, a few to a shard."""
    folder.mkdir()
    with ShardWriter(folder, Manifest(settings={}), shard_tokens=60) as writer:
        for pair in pairs():
            read = Coverage(tokens_read=len(pair.source))
            writer.add(Encoded(pair.source, (), (pair.target,), coverage=read, id=pair.id))
        writer.finish([], None)


def data_for(run: Path) -> TrainingData:
    if run.name != "sharded":
        return TrainingData(pairs(), Symbols(0, 1, 2))
    shards = ShardedPairs(run.parent / "encoded")
    shards.verify()
    assert len(shards.manifest.shards) > 3
    return TrainingData(shards, Symbols(0, 1, 2))


def train(folder: Path, beat: int) -> None:
    """One start of the run, as a fresh process would make it."""
    torch.set_num_threads(1)
    torch.manual_seed(11)
    model = TransformerConfig(
        d_model=16,
        heads=2,
        feed_forward=16,
        encoder_layers=1,
        decoder_layers=1,
        dropout=0.2,
        positions="learned",
    ).build(12)
    config = TrainingConfig.parse(
        {
            "epochs": EPOCHS,
            "precision": "fp32",
            "sampler": {"kind": "token-bucket", "tokens": 30, "chunk": 2},
            "accumulate": 2,
            "schedule": {"kind": "cosine", "peak": 0.01, "warmup": 5},
            "optimizer": {"weight_decay": 0.1},
            "log_every": 2,
            "checkpoint_every": 3,
            "select_by": "dev_loss",
            "final": "average",
        }
    )
    data, watcher = data_for(folder), Watcher(folder, beat)
    trainer = Trainer(model, watcher, data, config, folder, watcher)

    def validate(epoch: int) -> Validation:
        with torch.no_grad():
            loss = CrossEntropy()(model, data.batch(range(8)))
        value = float(loss.value) / loss.count
        return Validation({"dev_loss": value}, [{"text": f"{value}\u2028"}])

    progress = trainer.fit(validate)
    save_file(trainer.final_weights(progress), folder / "final.safetensors")


def start(folder: Path) -> tuple[int, int]:
    """Fork a child that trains; its process id and the pipe it beats on."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return pid, reading
    os.close(reading)
    code = 1
    try:
        train(folder, writing)
        code = 0
    except Interrupted as interruption:
        code = interruption.exit_code
    finally:
        os._exit(code)


def run(folder: Path, beats: int, number: signal.Signals | None, wait: float) -> str:
    """Start once; after some beats and a moment send a signal. How the child ended."""
    pid, reading = start(folder)
    if number is not None:
        for _ in range(beats):
            if not os.read(reading, 1):
                break
        time.sleep(wait)
        os.kill(pid, number)
    _, status = os.waitpid(pid, 0)
    os.close(reading)
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit {os.WEXITSTATUS(status)}"


def warm_up() -> None:
    """An optimizer's first step imports half of torch: once here, not in every child."""
    torch.set_num_threads(1)
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.zeros(1)
    torch.optim.AdamW([weight], fused=True).step()


def main(folder: Path, kills: int) -> None:
    warm_up()
    write_shards(folder / "encoded")
    (folder / "straight").mkdir()
    print(run(folder / "straight", 0, None, 0.0))
    for name in ("killed", "sharded"):
        killed, chance = folder / name, random.Random(5)
        killed.mkdir()
        for _ in range(kills):
            print(run(killed, chance.randint(1, 6), signal.SIGKILL, chance.random() * 0.02))
        print(run(killed, 2, signal.SIGTERM, 0.0))
        print(run(killed, 0, None, 0.0))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
