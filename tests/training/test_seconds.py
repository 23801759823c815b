"""The time a run took is known, and survives being stopped; nothing else knows the clock."""

import json
from typing import Any

import pytest

from dialogist.training import trainer as module
from dialogist.training.base import Progress, Validation
from dialogist.training.checkpoints import checkpoint_folders
from dialogist.training.runtime import Interrupted


class Clock:
    """A clock that stands still but for what the test lets pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


def state(setup: Any) -> dict[str, Any]:
    folder = checkpoint_folders(setup.folder / "checkpoints")[-1]
    return dict(json.loads((folder / "state.json").read_text()))


def test_training_and_validation_are_told_apart(setup: Any, clock: Clock) -> None:
    def pass_one(progress: Progress) -> None:
        clock.now += 1

    def validate(epoch: int) -> Validation:
        clock.now += 10
        return Validation({})

    setup.watcher.on_update = pass_one
    setup.trainer(log_every=1000).fit(validate)  # 2 epochs of 3 updates
    assert state(setup)["seconds"] == {"training": 6, "validation": 20}


def test_a_stopped_run_adds_up_and_lost_work_counts_once(setup: Any, clock: Clock) -> None:
    class Killed(Exception):
        pass

    def kill_at(step: int) -> None:
        def on_update(progress: Progress) -> None:
            clock.now += 1
            if progress.step == step:
                raise Killed

        setup.watcher.on_update = on_update

    kill_at(3)
    with pytest.raises(Killed):
        setup.trainer(log_every=1000, checkpoint_every=2).fit(lambda epoch: Validation({}))
    assert state(setup)["seconds"]["training"] == 2
    clock.now += 1000  # the machine stands still
    kill_at(0)
    setup.trainer(log_every=1000, checkpoint_every=2).fit(lambda epoch: Validation({}))
    assert state(setup)["seconds"] == {"training": 6, "validation": 0}


def test_a_stop_by_signal_saves_the_time_too(setup: Any, clock: Clock) -> None:
    import os
    import signal

    def stop(progress: Progress) -> None:
        clock.now += 5
        os.kill(os.getpid(), signal.SIGTERM)

    setup.watcher.on_update = stop
    with pytest.raises(Interrupted):
        setup.trainer(log_every=1000).fit(lambda epoch: Validation({}))
    assert state(setup)["seconds"] == {"training": 5}


def test_a_checkpoint_of_before_has_no_time() -> None:
    old = Progress(step=3).to_json()
    del old["seconds"]
    assert Progress.from_json(old).seconds == {}
