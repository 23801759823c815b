"""The loop: accumulation, order of the data, selection, stopping, warnings, broken losses."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dialogist.errors import DataError, DialogistError
from dialogist.objectives import Loss
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.tensors import Batch
from dialogist.training.base import Validation
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint

# Adam without a floor turns rounding errors of a zero gradient into whole steps.
CALM = {"kind": "adam", "eps": 1e-3}


def nothing(epoch: int) -> Validation:
    return Validation({})


def scores(values: Sequence[float], name: str = "dev_rougeL") -> Any:
    return lambda epoch: Validation({name: values[epoch - 1]})


def names(setup: Any) -> list[str]:
    return [p.name for p in checkpoint_folders(setup.folder / "checkpoints")]


def epochs(setup: Any) -> list[int]:
    return [int(name[-4:]) for name in names(setup) if "-epoch-" in name]


class Recording:
    """Cross-entropy that remembers which pairs it saw."""

    per = "token"

    def __init__(self) -> None:
        self.seen: list[tuple[str, ...]] = []

    def __call__(self, model: Any, batch: Batch) -> Loss:
        self.seen.append(batch.ids)
        return CrossEntropy()(model, batch)


# --- updates ---


@pytest.mark.parametrize("clip", [None, 0.1])
def test_accumulating_is_a_larger_batch(another: Callable[..., Any], clip: float | None) -> None:
    one, two = another("one"), another("two")
    common = {"optimizer": CALM, "clip_norm": clip}
    large = one.trainer(sampler={"kind": "shuffle-buffer", "examples": 8}, **common)
    small = two.trainer(sampler={"kind": "shuffle-buffer", "examples": 4}, accumulate=2, **common)
    assert large.fit(nothing).step == small.fit(nothing).step == 4
    assert one.watcher.losses == pytest.approx(two.watcher.losses, abs=1e-6)
    for a, b in zip(large.model.parameters(), small.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=0)


def test_an_update_by_hand(setup: Any) -> None:
    """The gradient is that of the mean over all tokens of the update; then Adam."""
    reference = setup.trainer()
    reference.weights.release()  # to plain autograd
    trainer = setup.trainer(epochs=1, max_steps=1, optimizer=CALM, clip_norm=None)
    (indices, *_) = trainer.config.sampler.plan(trainer.data.lengths, trainer.config.seed, 0)
    loss = CrossEntropy()(reference.model, trainer.data.batch(indices))
    (loss.value / loss.count).backward()
    optimizer = torch.optim.Adam(reference.model.parameters(), lr=0.01, betas=(0.9, 0.98), eps=1e-3)
    optimizer.step()
    trainer.fit(nothing)
    assert setup.watcher.losses == [pytest.approx(loss.value.item() / loss.count)]
    for a, b in zip(trainer.model.parameters(), reference.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-6, rtol=0)


def test_it_learns(setup: Any) -> None:
    setup.trainer(epochs=30).fit(nothing)
    assert setup.watcher.losses[-1] < 0.5 * setup.watcher.losses[0]


def test_each_pair_once_an_epoch_in_another_order(setup: Any) -> None:
    recording = Recording()
    setup.trainer(epochs=3, objective=recording).fit(nothing)
    found = [recording.seen[3 * i : 3 * i + 3] for i in range(3)]
    orders = [[i for batch in epoch for i in batch] for epoch in found]
    assert all(Counter(order) == Counter(f"p{i}" for i in range(12)) for order in orders)
    assert len({tuple(order) for order in orders}) == 3


def test_the_log(setup: Any) -> None:
    validation = Validation({"dev_loss": 2.5}, [{"text": "日本\u2028"}])
    trainer = setup.trainer(
        epochs=2, log_every=2, schedule={"kind": "linear", "peak": 0.01, "warmup": 2}
    )
    trainer.fit(lambda epoch: validation)
    losses = setup.watcher.losses
    rows = trainer.logs.metrics.read()
    train = [row for row in rows if row["kind"] == "train"]
    assert [(row["step"], row["epoch"]) for row in train] == [(2, 0), (4, 1), (6, 1)]
    assert [row["learning_rate"] for row in train] == pytest.approx([0.01, 0.005, 0.0])
    assert min(losses[:2]) < train[0]["loss"] < max(losses[:2])
    ends = [row for row in rows if row["kind"] == "epoch"]
    assert [(row["step"], row["epoch"], row["dev_loss"]) for row in ends] == [
        (3, 1, 2.5),
        (6, 2, 2.5),
    ]
    assert min(losses[:3]) < ends[0]["train_loss"] < max(losses[:3])
    assert setup.watcher.records == ends
    assert [row["step"] for row in trainer.logs.samples.read()] == [3, 6]
    assert [row["step"] for row in trainer.logs.speed.read()] == [2, 4, 6]


def test_validation_is_in_evaluation_mode_training_is_not(setup: Any) -> None:
    modes: list[bool] = []

    class Watching(Recording):
        per = "token"

        def __call__(self, model: nn.Module, batch: Batch) -> Loss:
            modes.append(model.training)
            return super().__call__(model, batch)

    trainer = setup.trainer(objective=Watching())

    def validate(epoch: int) -> Validation:
        modes.append(trainer.model.training)
        return Validation({})

    trainer.fit(validate)
    assert modes == [True, True, True, False] * 2


def test_max_steps(setup: Any) -> None:
    progress = setup.trainer(epochs=9, max_steps=4).fit(nothing)
    assert progress.step == 4
    assert names(setup)[-1].startswith("step-00000004")


def test_no_pairs(setup: Any, data: Callable[..., Any]) -> None:
    with pytest.raises(DataError, match="no training pairs"):
        setup.trainer(data(0)).fit(nothing)


# --- selection ---


def test_early_stopping(setup: Any) -> None:
    values = [1.0, 3.0, 3.0, 2.0, 9.0]
    progress = setup.trainer(epochs=5, patience=2).fit(scores(values))
    assert progress.stopped  # 3.0 again is no improvement
    assert progress.epoch == 4
    assert any("stopping early" in note for note in setup.watcher.notes)


def test_a_stopped_run_stays_stopped(setup: Any) -> None:
    setup.trainer(epochs=5, patience=1).fit(scores([2.0, 1.0, 5.0]))
    trainer = setup.trainer(epochs=5, patience=1)
    assert trainer.fit(scores([9.0] * 5)).epoch == 2


def test_without_patience_it_goes_on(setup: Any) -> None:
    progress = setup.trainer(epochs=4).fit(scores([3.0, 2.0, 1.0, 0.0]))
    assert (progress.epoch, progress.stale, progress.stopped) == (4, 3, False)


def test_a_loss_is_better_when_smaller(setup: Any) -> None:
    trainer = setup.trainer(epochs=3, select_by="dev_loss", keep_last=1)
    progress = trainer.fit(scores([2.0, 1.0, 3.0], "dev_loss"))
    assert progress.best == [(-1.0, "step-00000006-epoch-0002")]


def test_the_best_and_the_last_are_kept(setup: Any) -> None:
    values = [5.0, 9.0, 1.0, 7.0, 2.0, 3.0]
    setup.trainer(epochs=6, keep_last=2, keep_best=2).fit(scores(values))
    assert epochs(setup) == [2, 4, 5, 6]


def test_checkpoints_between_epochs_do_not_pile_up(setup: Any) -> None:
    setup.trainer(epochs=4, keep_last=1, checkpoint_every=1).fit(scores([4.0, 3.0, 2.0, 1.0]))
    assert epochs(setup) == [1, 4]
    assert len(names(setup)) <= 4


@pytest.mark.parametrize(
    ("final", "chosen"), [("best", [2]), ("last", [4]), ("average", [2, 3, 4])]
)
def test_the_final_model(setup: Any, final: str, chosen: list[int]) -> None:
    trainer = setup.trainer(epochs=4, final=final, keep_last=3)
    held: dict[int, dict[str, torch.Tensor]] = {}

    def validate(epoch: int) -> Validation:
        held[epoch] = {n: p.detach().clone() for n, p in trainer.model.named_parameters()}
        return Validation({"dev_rougeL": [1.0, 4.0, 2.0, 3.0][epoch - 1]})

    weights = trainer.final_weights(trainer.fit(validate))
    for name, value in weights.items():
        mean = (sum(held[epoch][name].double() for epoch in chosen) / len(chosen)).float()
        torch.testing.assert_close(value, mean, atol=1e-6, rtol=0)
    assert weights.keys() == held[1].keys()


def test_best_without_any_score_is_the_last(setup: Any) -> None:
    trainer = setup.trainer(epochs=2, final="best")
    weights = trainer.final_weights(trainer.fit(nothing))
    for name, parameter in trainer.model.named_parameters():
        assert torch.equal(weights[name], parameter)


def test_overfitting_is_noted_while_it_grows(setup: Any) -> None:
    pairs = [(50, 45), (60, 45), (58, 45), (70, 45), (40, 45)]  # gaps 5, 15, 13, 25, -5

    def validate(epoch: int) -> Validation:
        train, dev = pairs[epoch - 1]
        return Validation({"train_rougeL": train, "dev_rougeL": dev})

    setup.trainer(epochs=5, gap_warning=10).fit(validate)
    notes = [note for note in setup.watcher.notes if "overfitting" in note]
    assert ["15.0" in note for note in notes] == [True, False]
    assert "25.0" in notes[1]


# --- when the numbers break ---


class Breaking:
    """Cross-entropy whose value or gradient is no number from a given call on."""

    per = "token"

    def __init__(self, call: int, value: float = 1.0, gradient: float = 1.0) -> None:
        self.left = call
        self.value, self.gradient = value, gradient

    def __call__(self, model: Any, batch: Batch) -> Loss:
        loss = CrossEntropy()(model, batch)
        self.left -= 1
        if self.left > 0:
            return loss
        value = loss.value * self.value
        value.register_hook(lambda gradient: gradient * self.gradient)
        return Loss(value, loss.count)


@pytest.mark.parametrize("clip", [None, 1.0])
@pytest.mark.parametrize(
    "broken",
    [
        {"value": float("nan")},
        {"value": float("inf")},
        {"gradient": float("nan")},
        {"gradient": float("inf")},
    ],
)
def test_a_broken_loss_stops_the_run_and_spares_the_checkpoints(
    setup: Any, broken: dict[str, float], clip: float | None
) -> None:
    trainer = setup.trainer(objective=Breaking(4, **broken), checkpoint_every=1, clip_norm=clip)
    with pytest.raises(DialogistError, match="update 4") as caught:
        trainer.fit(nothing)
    assert "\n" not in str(caught.value)
    assert names(setup)[-1] == "step-00000003-epoch-0001"
    for folder in checkpoint_folders(setup.folder / "checkpoints"):
        for group in load_checkpoint(folder).tensors.values():
            assert all(torch.isfinite(t.float()).all() for t in group.values())
    assert setup.trainer().fit(nothing).step == 6  # mended, it goes on


def test_exact_same_run_twice(another: Callable[..., Any]) -> None:
    ends = []
    for name in ("one", "two"):
        trainer = another(name).trainer(dropout=0.2)
        trainer.fit(nothing)
        ends.append([p.detach().clone() for p in trainer.model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))
    other = another("three").trainer(dropout=0.2, seed=2)
    other.fit(nothing)
    assert not torch.equal(ends[0][0], next(other.model.parameters()))


def test_where_things_lie(setup: Any) -> None:
    setup.trainer().fit(nothing)
    assert {p.name for p in Path(setup.folder).iterdir()} == {
        "checkpoints",
        "metrics.jsonl",
        "speed.jsonl",
    }
