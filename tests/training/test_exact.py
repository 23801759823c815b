"""Dropout without a saved generator: what is drawn depends on seed, update, batch and process."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dialogist.nn.layers import Dropout
from dialogist.objectives import Loss
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.tensors import Batch
from dialogist.training import master_weights
from dialogist.training.base import Progress, Validation, seed_batch
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.distributed import Processes
from dialogist.training.runtime import Interrupted

UPDATES = 9  # 3 epochs of 12 pairs, 2 at a time, 2 batches to an update
STORMY: dict[str, Any] = {
    "dropout": 0.3,
    "epochs": 3,
    "accumulate": 2,
    "sampler": {"kind": "shuffle-buffer", "examples": 2},
    "optimizer": {"weight_decay": 0.1},
    "log_every": 2,
}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: True)


def draws(seed: int, step: int, batch: int, rank: int) -> tuple[float, ...]:
    seed_batch(seed, step, batch, rank)
    return tuple(torch.rand(4).tolist())


# --- the seeds ---


def test_every_batch_draws_its_own() -> None:
    places = [
        (seed, step, batch, rank)
        for seed in (0, 1, 12)
        for step in (0, 1, 2, 21, 1000)
        for batch in (0, 1, 2, 12)
        for rank in (0, 1, 2)
    ]
    assert len({draws(*place) for place in places}) == len(places)
    for place in places[::20]:
        assert draws(*place) == draws(*place)


def test_the_seeds_are_the_same_in_every_release() -> None:
    """A run that is resumed by a later release goes on as it would have."""
    seed_batch(1, 2, 3, 4)
    assert torch.initial_seed() == 0x289142E8A70E608C  # sha256("dialogist batch 1 2 3 4")


def test_the_mask_of_a_batch_does_not_depend_on_what_was_drawn_before() -> None:
    module, x = Dropout(0.5), torch.ones(1000)
    seed_batch(1, 5, 0, 0)
    expected = module(x)
    torch.rand(77)
    seed_batch(1, 4, 0, 0)
    module(x)
    seed_batch(1, 5, 0, 0)
    assert torch.equal(module(x), expected)


class Seeds:
    """Cross-entropy that notes under which seed it was called, and what it drew by it."""

    per = "token"

    def __init__(self) -> None:
        self.seen: list[int] = []

    def __call__(self, model: nn.Module, batch: Batch) -> Loss:
        self.seen.append(torch.initial_seed())
        return CrossEntropy()(model, batch)


def test_the_trainer_seeds_every_batch_of_every_update(setup: Any) -> None:
    seeds = Seeds()
    setup.trainer(objective=seeds, **STORMY).fit(lambda epoch: Validation({}))
    expected = []
    for step in range(UPDATES):
        for batch in range(2):
            seed_batch(1, step, batch, 0)
            expected.append(torch.initial_seed())
    assert seeds.seen == expected


def test_another_process_draws_other_masks(setup: Any) -> None:
    seeds = Seeds()
    trainer = setup.trainer(objective=seeds, **{**STORMY, "epochs": 1})
    trainer.processes = Processes()
    trainer.processes.rank = 1  # alone all the same
    trainer.processes.share = lambda indices: indices
    with pytest.raises(IndexError):  # it validates nothing and saves nothing
        trainer.final_weights(trainer.fit(lambda epoch: Validation({})))
    seed_batch(1, 0, 0, 1)
    assert seeds.seen[0] == torch.initial_seed()


# --- interrupted and resumed ---


def noisy(epoch: int) -> Validation:
    """A validation that draws random numbers, as sampling does."""
    torch.rand(100 * epoch + os.getpid() % 7)
    return Validation({"dev_loss": 1.0 / epoch})


def stop_at(step: int) -> Callable[[Progress], None]:
    def interfere(progress: Progress) -> None:
        if progress.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return interfere


def last(folder: Path) -> Path:
    return checkpoint_folders(folder / "checkpoints")[-1]


@pytest.mark.parametrize("form", ["fp32", "bf16"])
@pytest.mark.parametrize("step", [1, 4, 8])
def test_with_dropout_a_resumed_run_ends_with_the_same_bits(
    another: Callable[..., Any], step: int, form: str
) -> None:
    """Interrupted within an epoch, resumed in a process whose generator stands elsewhere."""
    straight, broken = another("straight"), another("broken")
    whole = straight.trainer(precision=form, **STORMY)
    assert whole.fit(noisy).step == UPDATES

    broken.watcher.on_update = stop_at(step)
    with pytest.raises(Interrupted):
        broken.trainer(precision=form, **STORMY).fit(noisy)
    assert load_checkpoint(last(broken.folder)).state["step"] == step
    broken.watcher.on_update = lambda progress: None
    resumed = broken.trainer(precision=form, **STORMY)
    torch.manual_seed(987)
    torch.rand(123)
    assert resumed.fit(noisy).step == UPDATES

    for name in ("weights.safetensors", "optimizer.safetensors"):
        one, other = (last(made.folder) / name for made in (straight, broken))
        assert one.read_bytes() == other.read_bytes(), name
    one, other = (made.folder / "metrics.jsonl" for made in (straight, broken))
    assert one.read_bytes() == other.read_bytes()
    assert straight.watcher.losses == broken.watcher.losses
    for a, b in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_dropout_does_take_part(another: Callable[..., Any]) -> None:
    """Else the test above would prove nothing."""
    calm, stormy = another("calm"), another("stormy")
    for made, options in ((calm, {**STORMY, "dropout": 0.0}), (stormy, STORMY)):
        made.trainer(**options).fit(noisy)
    assert calm.watcher.losses[0] != stormy.watcher.losses[0]


def test_a_checkpoint_holds_weights_and_moments_and_no_generator(setup: Any) -> None:
    trainer = setup.trainer(**STORMY)
    trainer.fit(noisy)
    folder = last(setup.folder)
    files = {path.name for path in folder.iterdir()}
    assert files == {
        "weights.safetensors",
        "optimizer.safetensors",
        "state.json",
        "manifest.json",
    }
    saved = load_checkpoint(folder)
    assert saved.tensors["weights"].keys() == dict(trainer.model.named_parameters()).keys()
    size = trainer.weights.master.numel()
    moments = {n: t.numel() for n, t in saved.tensors["optimizer"].items() if "avg" in n}
    assert sum(moments.values()) == 2 * size
    assert not any("random" in key or "generator" in key for key in saved.state)
