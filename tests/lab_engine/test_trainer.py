"""The trainer: exact resume, several processes, accumulation, early stopping, what is kept."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.lab_engine.samples import SYMBOLS, copying_data, small_model

from dialogist.errors import CheckpointError, DataError, DialogistError
from dialogist_lab.data.batching import TrainingData
from dialogist_lab.decoding import Symbols
from dialogist_lab.models.generator import Batch, Generator
from dialogist_lab.training.objective import CrossEntropy, Loss
from dialogist_lab.training.run_tracking import ProgressLines
from dialogist_lab.training.trainer import (
    BEST,
    CHECKPOINT,
    LOG,
    Interrupted,
    OptimizerConfig,
    Progress,
    Trainer,
    TrainingConfig,
    Validation,
    WarmedSchedule,
)

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "lab_engine" / "training_process.py"


class Quiet(ProgressLines):
    """It remembers what it is told."""

    def __init__(self, each: Callable[[Progress], None] = lambda progress: None) -> None:
        super().__init__(quiet=True)
        self.each = each
        self.notes: list[str] = []
        self.losses: list[float] = []

    def update(
        self, progress: Progress, updates: int, total: int, loss: float, tokens: int
    ) -> None:
        self.losses.append(loss)
        self.each(progress)

    def note(self, text: str) -> None:
        self.notes.append(text)


def config(**options: Any) -> TrainingConfig:
    usual = {
        "epochs": 2,
        "precision": "fp32",
        "seed": 4,
        "clip_norm": None,
        "log_every": 1,
        "sampler": {"kind": "shuffle-buffer", "examples": 8},
        "select_by": "dev_loss",
        "schedule": {"kind": "constant", "peak": 3e-3},
        "optimizer": {"eps": 1e-4},  # biases of keys have no gradient but rounding
    }
    return TrainingConfig.parse(usual | options)


def train(
    run: Path,
    scores: Callable[[int], dict[str, float]] = lambda epoch: {},
    reporter: Quiet | None = None,
    model: Generator | None = None,
    **options: Any,
) -> tuple[Trainer, dict[str, torch.Tensor]]:
    """Train in ``run``; the trainer, and the weights that are kept."""
    run.mkdir(exist_ok=True)
    model = model or small_model(seed=2)
    settings, data = config(**options), copying_data(32)
    trainer = Trainer(model, CrossEntropy(), data, settings, run, reporter or Quiet())
    trainer.fit(lambda epoch: Validation(scores(epoch)))
    return trainer, {name: p.detach().clone() for name, p in model.named_parameters()}


def start(run: Path, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
    """A training of its own in ``run``; it goes on where another one stopped."""
    run.mkdir(exist_ok=True)
    paths = os.pathsep.join((str(ROOT), str(ROOT / "src")))
    own = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, str(SCRIPT), str(run), *arguments]
    return subprocess.Popen(command, env=own, text=True, stdout=subprocess.PIPE)


def finished(process: "subprocess.Popen[str]") -> str:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    return output


def test_a_killed_run_ends_with_the_same_bits(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert "resumed" not in finished(start(whole))
    process = start(killed, "0.05")
    while not (killed / CHECKPOINT).exists():
        time.sleep(0.02)
    time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (killed / "model.safetensors").exists()
    assert "resumed at update" in finished(start(killed))
    for name in ("model.safetensors", LOG):
        assert (whole / name).read_bytes() == (killed / name).read_bytes(), name


def test_two_processes_train_as_one_does(tmp_path: Path) -> None:
    one, two = tmp_path / "WORLD-one", tmp_path / "WORLD-two"
    finished(start(one))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    group = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    for process in [start(two, RANK=str(rank), **group) for rank in range(2)]:  # as torchrun does
        finished(process)
    own, theirs = (load_file(run / "model.safetensors") for run in (one, two))
    for name, weight in own.items():
        torch.testing.assert_close(theirs[name], weight, rtol=0, atol=1e-6, msg=name)
    lines = [(run / LOG).read_text().splitlines() for run in (one, two)]
    assert len(lines[0]) == len(lines[1])


def test_accumulated_batches_equal_one_large_batch(tmp_path: Path) -> None:
    large, in_parts = Quiet(), Quiet()
    sampler = {"kind": "shuffle-buffer", "examples": 32, "buffer": 1}  # file order
    _, wanted = train(tmp_path / "large", reporter=large, sampler=sampler)
    parts = {"sampler": sampler | {"examples": 5}, "accumulate": 7}
    _, found = train(tmp_path / "parts", reporter=in_parts, **parts)
    assert in_parts.losses == pytest.approx(large.losses, rel=1e-5)
    for name, weight in wanted.items():
        torch.testing.assert_close(found[name], weight, rtol=0, atol=2e-5, msg=name)


def test_the_loss_falls_in_both_formats(tmp_path: Path) -> None:
    ends = []
    for precision in ("fp32", "auto"):
        reporter = Quiet()
        train(tmp_path / precision, reporter=reporter, precision=precision, epochs=20)
        ends.append(reporter.losses[-1])
        assert reporter.losses[0] > 3.3
    assert max(ends) < 2.5
    assert ends[0] == pytest.approx(ends[1], abs=0.1)


class Scored:
    """What is measured after each epoch, and the weights that the model had then."""

    def __init__(self, model: Generator, losses: Sequence[float]) -> None:
        self.model, self.losses = model, losses
        self.weights: dict[int, dict[str, torch.Tensor]] = {}

    def __call__(self, epoch: int) -> dict[str, float]:
        named = self.model.named_parameters()
        self.weights[epoch] = {name: p.detach().clone() for name, p in named}
        return {"dev_loss": self.losses[epoch - 1]}


def test_early_stopping_keeps_the_best_epoch(tmp_path: Path) -> None:
    model, reporter = small_model(seed=2), Quiet()
    score = Scored(model, (3.0, 1.0, 2.0, 2.0, 0.5))
    trainer, kept = train(tmp_path / "run", score, reporter, model, epochs=5, patience=2)
    assert trainer.progress.epoch == 4
    assert any("stopping early" in note for note in reporter.notes)
    assert all(torch.equal(kept[name], weight) for name, weight in score.weights[2].items())
    again, same = train(tmp_path / "run", score, model=small_model(seed=9), epochs=5, patience=2)
    assert again.progress.epoch == 4, "a run that has ended stays so"
    assert all(torch.equal(kept[name], weight) for name, weight in same.items())


@pytest.mark.parametrize(("final", "epochs"), [("last", [3]), ("average", [2, 3])])
def test_what_is_kept_at_the_end(tmp_path: Path, final: str, epochs: list[int]) -> None:
    model = small_model(seed=2)
    score = Scored(model, (1.0, 2.0, 3.0))
    _, kept = train(tmp_path / "run", score, None, model, epochs=3, final=final, keep_last=2)
    for name, weight in kept.items():
        held = torch.stack([score.weights[epoch][name].double() for epoch in epochs])
        torch.testing.assert_close(weight, held.mean(dim=0).float(), rtol=0, atol=1e-7)
    assert not (tmp_path / "run" / BEST).exists()


def test_a_signal_saves_and_leaves_and_the_run_goes_on(tmp_path: Path) -> None:
    def stop(progress: Progress) -> None:
        if progress.step == 5:
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(Interrupted) as error:
        train(tmp_path / "run", reporter=Quiet(stop), epochs=3)
    assert error.value.exit_code == 143
    reporter = Quiet()
    _, found = train(tmp_path / "run", reporter=reporter, model=small_model(seed=9), epochs=3)
    assert "resumed at update 5" in reporter.notes
    _, wanted = train(tmp_path / "whole", epochs=3)
    assert all(torch.equal(found[name], weight) for name, weight in wanted.items())
    logs = [(tmp_path / name / LOG).read_text() for name in ("run", "whole")]
    assert logs[0] == logs[1]


def test_the_log_has_no_clock_and_says_what_was_measured(tmp_path: Path) -> None:
    train(tmp_path / "run", lambda epoch: {"dev_loss": 2.0}, max_steps=6)
    lines = [json.loads(line) for line in (tmp_path / "run" / LOG).read_text().splitlines()]
    assert [line["step"] for line in lines if line["kind"] == "train"] == [1, 2, 3, 4, 5, 6]
    assert set(lines[0]) == {"kind", "step", "epoch", "loss", "nll", "learning_rate"}
    assert [line["epoch"] for line in lines if line["kind"] == "epoch"] == [1, 2]
    assert lines[-1]["dev_loss"] == 2.0
    mean = sum(line["loss"] for line in lines[:4]) / 4
    assert lines[4]["train_loss"] == pytest.approx(mean, rel=1e-3)


def test_checkpoints_of_other_data_models_and_damaged_ones_are_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    train(run, epochs=1)
    objective = CrossEntropy()
    with pytest.raises(CheckpointError, match="other training data"):
        Trainer(small_model(), objective, copying_data(33), config(), run, Quiet())
    with pytest.raises(CheckpointError, match="another model"):
        Trainer(small_model(d_model=8), objective, copying_data(32), config(), run, Quiet())
    whole = (run / CHECKPOINT).read_bytes()
    (run / CHECKPOINT).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(CheckpointError, match="is damaged"):
        Trainer(small_model(), objective, copying_data(32), config(), run, Quiet())
    with pytest.raises(DataError, match="hold no summaries"):
        Trainer(small_model(), objective, TrainingData([], SYMBOLS), config(), run, Quiet())


def test_a_loss_that_is_no_number_ends_the_run(tmp_path: Path) -> None:
    class Broken(CrossEntropy):
        def __call__(self, model: Generator, batch: Batch, symbols: Symbols) -> Loss:
            loss = super().__call__(model, batch, symbols)
            return Loss(loss.value * float("nan"), loss.count, loss.terms)

    trainer = Trainer(small_model(), Broken(), copying_data(8), config(), tmp_path, Quiet())
    with pytest.raises(DialogistError, match="the loss became nan at update 1"):
        trainer.fit(lambda epoch: Validation({}))


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        ({"kind": "constant", "peak": 2e-4}, {1: 2e-4, 100: 2e-4}),
        ({"kind": "constant", "peak": 1.0, "warmup": 10}, {1: 0.1, 10: 1.0, 60: 1.0}),
        ({"kind": "linear", "peak": 1.0, "warmup": 20}, {10: 0.5, 20: 1.0, 60: 0.5, 100: 0.0}),
        ({"kind": "cosine", "peak": 1.0, "floor": 0.2}, {50: 0.6, 100: 0.2}),
        (
            {"kind": "inverse-sqrt", "d_model": 128, "warmup": 4000},
            {1: 128**-0.5 * 4000**-1.5, 4000: 128**-0.5 * 4000**-0.5, 16000: 128**-0.5 / 126.4911},
        ),
    ],
)
def test_schedules(schedule: dict[str, Any], rates: dict[int, float]) -> None:
    parsed = TrainingConfig.parse({"schedule": schedule}).schedule
    for step, rate in rates.items():
        assert parsed.rate(step, 100) == pytest.approx(rate, rel=1e-5, abs=1e-12)


def test_rates_fall_to_zero_at_the_last_update(tmp_path: Path) -> None:
    schedule = WarmedSchedule(kind="linear", peak=1e-3).model_dump()
    trainer, _ = train(tmp_path / "run", schedule=schedule)
    assert trainer.optimizer.param_groups[0]["lr"] == 0


def test_shares_of_the_rate_and_what_is_not_decayed() -> None:
    model = small_model()
    optimizer = OptimizerConfig(weight_decay=0.1, shares={"encoder": 0.2}).build(model)
    found = {
        id(parameter): (group["share"], group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    by_name = {name: found[id(parameter)] for name, parameter in model.named_parameters()}
    assert by_name["encoder.layers.0.feed_forward.inner.weight"] == (0.2, 0.1)
    assert by_name["encoder.layers.0.norm1.weight"] == (0.2, 0.0)
    assert by_name["decoder.layers.0.feed_forward.inner.weight"] == (1.0, 0.1)
