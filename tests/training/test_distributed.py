"""Several processes make the updates that one makes; they die, are stopped, and go on."""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from tests import torchrun
from tests.torchrun import OURS, end_of
from torch import Tensor

from dialogist.errors import DialogistError
from dialogist.training import distributed
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.distributed import (
    Processes,
    device_of_process,
    launched_by_torchrun,
    process_group,
)

CPU = torch.device("cpu")
SCRIPT = Path(__file__).with_name("process_run.py")
EXACT = ["even", "odd", "single", "accumulated", "stopped", "varied"]


# --- one process ---


@pytest.fixture(autouse=True)
def _nobody_launched_us(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*OURS, "TORCHELASTIC_RESTART_COUNT"):
        monkeypatch.delenv(name, raising=False)


def test_alone_nothing_is_exchanged() -> None:
    one = Processes.joined()
    assert (one.rank, one.count, one.first) == (0, 1, True)
    flat = torch.arange(3.0)
    one.all_reduce_sum_(flat)
    one.broadcast_(flat)
    one.barrier()
    assert flat.tolist() == [0, 1, 2]
    assert one.all_reduce_named({"loss": 0.1}, CPU) == {"loss": 0.1}
    assert one.broadcast_object({"a": [1, None]}) == {"a": [1, None]}
    assert one.all_reduce_max(None, CPU) is None
    assert one.all_reduce_max(15, CPU) == 15
    assert one.broadcast_tensors({"x": flat}, CPU)["x"] is flat
    with process_group(CPU) as met:
        assert (met.rank, met.count) == (0, 1)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("rows", [0, 1, 2, 3, 4, 7, 10])
def test_every_row_is_dealt_to_one_process(count: int, rows: int) -> None:
    batch = np.arange(rows) * 3
    shares = [Processes(rank, count).share(batch) for rank in range(count)]
    assert sorted(np.concatenate(shares).tolist()) == batch.tolist()
    sizes = [len(share) for share in shares]
    assert max(sizes) - min(sizes) <= 1


def test_what_the_launcher_says(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not launched_by_torchrun()
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert not launched_by_torchrun()  # a group of one is none
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert launched_by_torchrun()
    assert device_of_process(CPU) == CPU
    assert not distributed.restarted()
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "1")
    assert distributed.restarted()


def test_a_lost_process_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost(*arguments: object) -> None:
        raise RuntimeError("[gloo/pair.cc:538] Connection closed by peer\nbacktrace\nof 40 lines")

    for name in ("all_reduce", "broadcast", "broadcast_object_list", "barrier"):
        monkeypatch.setattr(distributed.dist, name, lost)
    two = Processes(1, 2)
    for call in (
        lambda: two.all_reduce_sum_(torch.zeros(1)),
        lambda: two.all_reduce_named({"a": 1.0}, CPU),
        lambda: two.all_reduce_max(None, CPU),
        lambda: two.broadcast_object(1),
        lambda: two.broadcast_tensors({}, CPU),
        lambda: two.broadcast_(torch.zeros(1)),
        two.barrier,
    ):
        with pytest.raises(DialogistError, match="another process of this run is gone") as caught:
            call()
        assert "\n" not in str(caught.value)
        assert "--max-restarts" in str(caught.value)


# --- two processes ---


def launch(folder: Path, mode: str, *flags: str) -> subprocess.Popen[str]:
    folder.mkdir(exist_ok=True)
    return torchrun.launch(*flags, SCRIPT, folder, mode)


def complete(folder: Path, mode: str, *flags: str) -> None:
    folder.mkdir(exist_ok=True)
    torchrun.complete(*flags, SCRIPT, folder, mode)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All cases by one process and by two, and stormy undisturbed; once for all test workers."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    folder = shared / "processes"
    with (shared / "processes.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "stormy" / "together-1.safetensors").exists():
            complete(folder, "cases")
    return folder


def found(folder: Path, case: str, who: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
    name = folder / case / who
    return json.loads(name.with_suffix(".json").read_text()), load_file(f"{name}.safetensors")


def together(folder: Path, case: str) -> Path:
    """The run folder of the processes."""
    return folder / case / "together-0"


def last(folder: Path, case: str) -> Path:
    return checkpoint_folders(together(folder, case) / "checkpoints")[-1]


@pytest.mark.parametrize("case", EXACT)
def test_two_processes_make_the_updates_of_one(runs: Path, case: str) -> None:
    alone, weights = found(runs, case, "alone-0")
    both, shared = found(runs, case, "together-0")
    updates = {"even": 50, "odd": 27, "single": 25, "stopped": 12}
    assert len(alone["losses"]) == len(both["losses"]) == updates.get(case, len(alone["losses"]))
    assert len(both["losses"]) > 10
    assert both["losses"] == pytest.approx(alone["losses"], abs=1e-5)
    assert both["losses"][-1] < both["losses"][0]
    for name, value in weights.items():
        torch.testing.assert_close(
            shared[name], value, atol=2e-5, rtol=0, msg=lambda text, name=name: f"{name}: {text}"
        )
    rows = [(runs / case / who / "metrics.jsonl").read_text() for who in ("alone-0", "together-0")]
    for one, other in zip(*(map(json.loads, text.splitlines()) for text in rows), strict=True):
        assert one.keys() == other.keys()
        assert other == pytest.approx(one, abs=1e-4)


@pytest.mark.parametrize("case", EXACT)
def test_each_row_of_a_batch_is_computed_once(runs: Path, case: str) -> None:
    alone, _ = found(runs, case, "alone-0")
    first, second = (found(runs, case, f"together-{rank}")[0]["rows"] for rank in (0, 1))
    assert len(first) == len(second) == len(alone["rows"])
    for whole, one, other in zip(alone["rows"], first, second, strict=True):
        if len(whole) == 1:  # the second has none and takes one, at no weight
            assert one == other == whole
        else:
            assert sorted(one + other) == sorted(whole)
            assert 0 <= len(one) - len(other) <= 1


@pytest.mark.parametrize("case", [*EXACT, "bf16", "stormy"])
def test_both_end_with_the_same_bits_and_know_the_same(runs: Path, case: str) -> None:
    """They began with different weights; bf16 and stormy have dropout, each its own masks."""
    (one, weights), (other, others) = (found(runs, case, f"together-{rank}") for rank in (0, 1))
    assert one["losses"] == other["losses"]
    assert all(torch.equal(value, others[name]) for name, value in weights.items())
    for progress in (one["progress"], other["progress"]):
        assert progress["processes"] == 2
        del progress["lines"]  # only the first one counts them
    assert one["progress"] == other["progress"]
    assert len({*one["seeds"], *other["seeds"]}) == 2 * len(one["seeds"])
    assert one["progress"]["stopped"] == (case == "stopped")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_no_thread_of_the_group_outlives_it(runs: Path) -> None:
    """One that ends after Python does aborts the process, once in some hundred runs."""
    for rank in (0, 1):
        threads = json.loads((runs / f"threads-{rank}.json").read_text())
        assert threads
        assert not [name for name in threads if "gloo" in name]


def test_the_first_process_alone_validates_and_writes(runs: Path) -> None:
    for case in (*EXACT, "bf16", "stormy"):
        one, other = (found(runs, case, f"together-{rank}")[0] for rank in (0, 1))
        assert one["validated"] == list(range(1, one["progress"]["epoch"] + 1))
        assert other["validated"] == []
        assert other["notes"] == []
        assert not (runs / case / "together-1").exists()
        names = {path.name for path in together(runs, case).iterdir()}
        assert names == {"checkpoints", "metrics.jsonl", "speed.jsonl"}
        saved = load_checkpoint(last(runs, case))
        assert saved.state["processes"] == 2
        _, weights = found(runs, case, "together-0")
        trained = saved.tensors.get("training", saved.tensors["weights"])
        for name, value in trained.items():
            assert torch.equal(value, weights[name])


# --- killed, stopped ---


def assert_same_end(one: Path, other: Path) -> None:
    """Of the stormy run in two folders, to the bit, whatever happened on the way."""
    for name in ("weights.safetensors", "optimizer.safetensors"):
        files = [last(folder, "stormy") / name for folder in (one, other)]
        assert files[0].read_bytes() == files[1].read_bytes(), name
    logs = [together(folder, "stormy") / "metrics.jsonl" for folder in (one, other)]
    assert logs[0].read_bytes() == logs[1].read_bytes()
    ends = [found(folder, "stormy", "together-1")[1] for folder in (one, other)]
    assert all(torch.equal(value, ends[1][name]) for name, value in ends[0].items())


def killed(folder: Path, number: signal.Signals, *moments: str) -> Path:
    """A folder in which these processes send themselves a signal after these updates."""
    (folder / "kill").mkdir(parents=True)
    for moment in moments:
        (folder / "kill" / moment).write_text(str(int(number)))
    return folder


@pytest.mark.parametrize(
    "moments", [["0-11"], pytest.param(["1-5", "0-11", "1-17"], marks=pytest.mark.slow)], ids=len
)
def test_killed_processes_are_replaced_and_leave_no_trace(
    runs: Path, tmp_path: Path, moments: list[str]
) -> None:
    """The one that saves, and the one that only helps; `torchrun` starts both anew."""
    folder = killed(tmp_path / "killed", signal.SIGKILL, *moments)
    complete(folder, "stormy", "--max-restarts", str(len(moments)))
    assert not any((folder / "kill").iterdir())
    end, _ = found(folder, "stormy", "together-0")
    assert end["restarts"] == len(moments)
    resumed = {1: "resumed at update 10", 3: "resumed at update 15"}[len(moments)]
    assert [note.split(" (")[0] for note in end["notes"]] == [resumed]
    assert end["progress"]["step"] == 20
    assert_same_end(runs, folder)


@pytest.mark.parametrize(
    ("number", "step"), [(signal.SIGKILL, 3), (signal.SIGTERM, 4)], ids=["killed", "terminated"]
)
def test_when_one_process_ends_all_do(tmp_path: Path, number: signal.Signals, step: int) -> None:
    """Killed after update 4, nothing is saved after update 3; terminated, all save and leave."""
    folder = killed(tmp_path / "ended", number, "1-4")
    launcher = launch(folder, "stormy")
    said = end_of(launcher, timeout=60)
    assert launcher.returncode != 0
    # The other process may end of the broken connection before the launcher sees the killed one.
    causes = {signal.SIGKILL: ("SIGKILL", "remote worker"), signal.SIGTERM: ("exitcode  : 143",)}
    assert any(cause in said for cause in causes[number])
    assert load_checkpoint(last(folder, "stormy")).state["step"] == step
    assert not (folder / "stormy" / "together-0.json").exists()


def test_a_signal_to_the_launcher_saves_and_leaves(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "stopped"
    folder.mkdir()
    (folder / "slow").touch()
    launcher = launch(folder, "stormy")
    begun = time.monotonic()
    while not (folder / "step").exists() or int((folder / "step").read_text() or 0) < 4:
        assert launcher.poll() is None, end_of(launcher)
        assert time.monotonic() < begun + 60
        time.sleep(0.02)
    launcher.send_signal(signal.SIGTERM)
    end_of(launcher, timeout=60)
    assert launcher.returncode != 0
    step = int((folder / "step").read_text())
    assert 4 <= step < 20
    assert load_checkpoint(last(folder, "stormy")).state["step"] == step

    (folder / "slow").unlink()
    complete(folder, "stormy")
    end, _ = found(folder, "stormy", "together-0")
    assert any(f"resumed at update {step} " in note for note in end["notes"])
    assert_same_end(runs, folder)
