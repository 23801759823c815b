"""Resuming: kill -9 leaves no trace in the result; signals; damaged and foreign checkpoints."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist.errors import CheckpointError
from dialogist.training.base import Progress, Validation
from dialogist.training.checkpoints import (
    Checkpoint,
    checkpoint_folders,
    load_checkpoint,
    save_checkpoint,
)
from dialogist.training.runtime import Interrupted

KILLS = 5


def nothing(epoch: int) -> Validation:
    return Validation({})


def names(setup: Any) -> list[str]:
    return [p.name for p in checkpoint_folders(setup.folder / "checkpoints")]


# --- killed in earnest, in another process ---


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """An undisturbed run, two killed five times and terminated once; how each start ended."""
    folder = tmp_path_factory.mktemp("runs")
    script = Path(__file__).with_name("killed_run.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, str(script), str(folder), str(KILLS)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.split("\n")[:-1]


def test_every_start_ended_as_meant(runs: tuple[Path, list[str]]) -> None:
    _, ends = runs
    assert ends == ["exit 0", *[*["signal 9"] * KILLS, "exit 143", "exit 0"] * 2]


@pytest.fixture(params=["killed", "sharded"])
def killed(request: pytest.FixtureRequest, runs: tuple[Path, list[str]]) -> Path:
    """A run that was killed: its pairs in memory, or in shards on disk."""
    return runs[0] / str(request.param)


def test_the_killed_run_did_resume(runs: tuple[Path, list[str]], killed: Path) -> None:
    notes = (killed / "notes.txt").read_text()
    steps = [int(step) for step in re.findall(r"resumed at update (\d+)", notes)]
    assert len(steps) > KILLS / 2
    assert steps == sorted(steps)
    assert not (runs[0] / "straight" / "notes.txt").exists()


def test_the_same_bits(runs: tuple[Path, list[str]], killed: Path) -> None:
    straight = runs[0] / "straight"
    for file in ("final.safetensors", "metrics.jsonl", "samples.jsonl"):
        assert (killed / file).read_bytes() == (straight / file).read_bytes(), file
        assert (straight / file).stat().st_size > 0
    last = "step-*-epoch-0006"
    for one in next((straight / "checkpoints").glob(last)).iterdir():
        other = next((killed / "checkpoints").glob(last)) / one.name
        if one.suffix == ".safetensors":  # weights, moments
            assert one.read_bytes() == other.read_bytes(), one.name


def seen(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "seen.jsonl").read_text().splitlines()]


def test_each_pair_once_an_epoch_across_kills(runs: tuple[Path, list[str]], killed: Path) -> None:
    straight, updates = seen(runs[0] / "straight"), seen(killed)
    counted: dict[int, dict[str, Any]] = {}
    for update in updates:  # what was done again after a kill is the very same
        assert counted.setdefault(update["step"], update) == update
    assert len(updates) > len(straight)  # something was lost, and done again
    assert list(counted.values()) == straight
    for epoch in range(6):
        ids = [i for update in straight if update["epoch"] == epoch for i in update["ids"]]
        assert Counter(ids) == Counter(f"p{i}" for i in range(24))


# --- in this process ---


def send_at(step: int, number: int) -> Callable[[Progress], None]:
    def interfere(progress: Progress) -> None:
        if progress.step == step:
            os.kill(os.getpid(), number)

    return interfere


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("step", [2, 3, 6])
def test_a_signal_saves_and_leaves(
    another: Callable[..., Any], number: signal.Signals, code: int, step: int
) -> None:
    """In an epoch (2), at its end (3), at the end of the run (6)."""
    setup, straight = another("one"), another("straight")
    before = signal.getsignal(number)
    setup.watcher.on_update = send_at(step, number)
    trainer = setup.trainer(dropout=0.1)
    with pytest.raises(Interrupted) as caught:
        trainer.fit(nothing)
    assert caught.value.exit_code == code
    assert signal.getsignal(number) is before
    saved = load_checkpoint(checkpoint_folders(trainer.checkpoints)[-1])
    assert saved.state["step"] == step
    setup.watcher.on_update = lambda progress: None
    resumed, whole = setup.trainer(dropout=0.1), straight.trainer(dropout=0.1)
    assert resumed.fit(nothing).step == whole.fit(nothing).step == 6
    assert any(f"resumed at update {step} " in note for note in setup.watcher.notes)
    for one, other in zip(resumed.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert resumed.logs.metrics.path.read_bytes() == whole.logs.metrics.path.read_bytes()


def spoil(folder: Path) -> None:
    path = folder / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("damaged", [1, 2])
def test_from_damaged_ones_to_the_one_before(another: Callable[..., Any], damaged: int) -> None:
    """The newest are damaged: the one before is used, noted, and the end is the same."""
    setup, straight = another("one"), another("straight")
    options = {"checkpoint_every": 1, "dropout": 0.1, "keep_last": 3}
    setup.watcher.on_update = send_at(5, signal.SIGTERM)
    with pytest.raises(Interrupted):
        setup.trainer(**options).fit(nothing)
    assert names(setup) == ["step-00000003-epoch-0001", "step-00000004", "step-00000005"]
    for name in names(setup)[-damaged:]:
        spoil(setup.folder / "checkpoints" / name)
    setup.watcher.on_update = lambda progress: None
    trainer, whole = setup.trainer(**options), straight.trainer(**options)
    trainer.fit(nothing)
    whole.fit(nothing)
    notes = setup.watcher.notes
    assert sum("is damaged" in note and "the one before" in note for note in notes) == damaged
    assert any(f"resumed at update {5 - damaged} " in note for note in notes)
    for one, other in zip(trainer.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)


def test_what_is_saved_after_going_back_is_not_pruned(setup: Any) -> None:
    """Two damaged checkpoints of later steps must not push out the good one just written."""
    setup.watcher.on_update = send_at(6, signal.SIGTERM)
    options = {
        "checkpoint_every": 1,
        "epochs": 1,
        "sampler": {"kind": "shuffle-buffer", "examples": 1},
    }
    with pytest.raises(Interrupted):
        setup.trainer(**options).fit(nothing)
    kept = setup.folder / "kept"
    shutil.copytree(setup.folder / "checkpoints", kept)
    assert names(setup) == ["step-00000005", "step-00000006"]
    # go back to 2: make it by a run of its own, then put the later ones beside it, damaged
    shutil.rmtree(setup.folder / "checkpoints")
    setup.watcher.on_update = send_at(2, signal.SIGTERM)
    with pytest.raises(Interrupted):
        setup.trainer(**options).fit(nothing)
    for name in ("step-00000005", "step-00000006"):
        shutil.copytree(kept / name, setup.folder / "checkpoints" / name)
        spoil(setup.folder / "checkpoints" / name)
    setup.watcher.on_update = send_at(3, signal.SIGTERM)
    with pytest.raises(Interrupted):
        setup.trainer(**options).fit(nothing)
    assert "step-00000003" in names(setup)
    setup.watcher.on_update = lambda progress: None
    assert setup.trainer(**options).fit(nothing).step == 12
    assert any("resumed at update 3 " in note for note in setup.watcher.notes)


def test_all_damaged(setup: Any) -> None:
    setup.trainer().fit(nothing)
    for folder in checkpoint_folders(setup.folder / "checkpoints"):
        spoil(folder)
    metrics = (setup.folder / "metrics.jsonl").read_bytes()
    with pytest.raises(CheckpointError, match="no checkpoint is left"):
        setup.trainer().fit(nothing)
    assert (setup.folder / "metrics.jsonl").read_bytes() == metrics


def test_other_data_are_refused(setup: Any, data: Callable[..., Any]) -> None:
    setup.trainer().fit(nothing)
    before = names(setup)
    with pytest.raises(CheckpointError) as caught:
        setup.trainer(data(seed=1), epochs=9).fit(nothing)
    assert "\n" not in str(caught.value)
    assert any("other training data" in note for note in setup.watcher.notes)
    assert names(setup) == before


def test_every_id_is_in_the_fingerprint(data: Callable[..., Any]) -> None:
    prints = {data().fingerprint(), data(count=11).fingerprint(), data(seed=1).fingerprint()}
    assert len(prints) == 3
    assert data().fingerprint() == data().fingerprint()


def test_another_thread_count_is_noted(setup: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    setup.trainer(epochs=1).fit(nothing)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 99)
    setup.trainer(epochs=2).fit(nothing)
    assert any("now 99" in note for note in setup.watcher.notes)


def alter(folder: Path, **changes: Any) -> None:
    """Save a checkpoint again, with other optimizer tensors or another state."""
    saved = load_checkpoint(folder)
    tensors = {**saved.tensors, **{k: v for k, v in changes.items() if k in saved.tensors}}
    state = {**saved.state, **{k: v for k, v in changes.items() if k in saved.state}}
    assert changes.keys() <= tensors.keys() | state.keys()
    save_checkpoint(folder, Checkpoint(tensors, state))


def test_another_process_count_is_noted(setup: Any) -> None:
    trainer = setup.trainer(epochs=1)
    trainer.fit(nothing)
    alter(checkpoint_folders(trainer.checkpoints)[-1], processes=2)
    assert setup.trainer(epochs=2).fit(nothing).processes == 1
    assert any("used 2 processes, now 1" in note for note in setup.watcher.notes)
    assert load_checkpoint(checkpoint_folders(trainer.checkpoints)[-1]).state["processes"] == 1


def test_an_optimizer_of_another_release_is_refused(setup: Any) -> None:
    """Moments were saved parameter by parameter once."""
    trainer = setup.trainer(epochs=1)
    trainer.fit(nothing)
    former = {f"{i}.exp_avg": torch.zeros(16, 16) for i in range(5)}
    for folder in checkpoint_folders(trainer.checkpoints):
        alter(folder, optimizer=former)
    with pytest.raises(CheckpointError, match="of another model or release") as caught:
        setup.trainer(epochs=2).fit(nothing)
    assert "\n" not in str(caught.value)


def test_a_finished_run_is_not_trained_again(setup: Any) -> None:
    setup.trainer().fit(nothing)
    updates = len(setup.watcher.losses)
    again = setup.trainer()
    assert again.fit(nothing).step == 6
    assert len(setup.watcher.losses) == updates
    assert again.final_weights(Progress())


def test_progress_survives_as_json() -> None:
    progress = Progress(
        step=3,
        epoch_sums={"loss": 0.1 + 0.2, "tokens": 7.0},
        best=[(0.3, "a"), (-1 / 3, "b")],
        lines={"metrics": 2},
    )
    values = json.loads(json.dumps(progress.to_json()))
    assert Progress.from_json(values) == progress
    with pytest.raises(CheckpointError, match="another release"):
        Progress.from_json({**values, "unheard_of": 1})
