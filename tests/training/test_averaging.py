"""The moving average of weights: by hand, in validation, in checkpoints, and going on."""

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import torch

from dialogist.data.chance import Chance
from dialogist.data.changes import Epochs, Share
from dialogist.data.collate import EncodedPair
from dialogist.training.base import TrainingData, Validation
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.master_weights import MasterWeights, MovingAverage, decay_at
from dialogist.training.runtime import Interrupted


def nothing(epoch: int) -> Validation:
    return Validation({})


def test_by_hand() -> None:
    assert [round(decay_at(t, 0.9), 4) for t in (1, 8, 80, 1000)] == [0.1818, 0.5, 0.9, 0.9]
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.constant_(model.weight, 1.0)
    weights = MasterWeights(model, torch.float32)
    average = MovingAverage(weights, 0.9)
    weights.named()["weight"].fill_(4.0)
    average.update(8)
    assert weights.named(average.flat)["weight"].item() == pytest.approx(2.5)
    with average.in_place():
        assert model.weight.item() == pytest.approx(2.5)
    assert model.weight.item() == 4.0
    assert average.tensors()["weights"]["weight"].item() == pytest.approx(2.5)
    assert average.tensors()["training"]["weight"].item() == 4.0
    plain = MovingAverage(weights, None)
    plain.update(8)
    assert list(plain.tensors()) == ["weights"]
    assert plain.tensors()["weights"]["weight"].item() == 4.0


def test_in_bf16_the_model_computes_with_the_average() -> None:
    model = torch.nn.Linear(2, 2)
    weights = MasterWeights(model, torch.bfloat16)
    average = MovingAverage(weights, 0.5)
    average.flat.fill_(0.25)
    before = model.weight.clone()
    with average.in_place():
        assert (model.weight == 0.25).all()
    assert torch.equal(model.weight, before)


class Swapped:
    """Any change that lengthens sources: plans of batches differ from epoch to epoch."""

    name = "swapped"
    keeps_lengths = False

    def __call__(self, pair: EncodedPair, chance: Chance) -> EncodedPair:
        more = [3 + chance.below(9) for _ in range(chance.below(4))]
        return EncodedPair((1, *more, *pair.source[1:]), pair.target, pair.id)


def send_at(step: int) -> Callable[[Any], None]:
    def interfere(progress: Any) -> None:
        if progress.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return interfere


OPTIONS = {
    "moving_average": 0.9,
    "dropout": 0.1,
    "epochs": 3,
    "keep_last": 4,
    "sampler": {"kind": "token-bucket", "tokens": 60},
}


def varied(data: Callable[..., TrainingData]) -> TrainingData:
    plain = data()
    return TrainingData(
        plain.pairs, plain.symbols, Epochs(5, (Swapped(),), (Share(8, 1.5), Share(4)))
    )


@pytest.mark.parametrize("step", [2, 5, 9])
def test_a_run_goes_on_to_the_same_bits(
    another: Callable[..., Any], data: Callable[..., TrainingData], step: int
) -> None:
    """Averages and pairs that differ in each epoch, stopped anywhere."""
    cut, straight = another("cut"), another("straight")
    whole = straight.trainer(data=varied(data), **OPTIONS)
    kept = whole.final_weights(whole.fit(nothing))
    cut.watcher.on_update = send_at(step)
    with pytest.raises(Interrupted):
        cut.trainer(data=varied(data), **OPTIONS).fit(nothing)
    cut.watcher.on_update = lambda progress: None
    again = cut.trainer(data=varied(data), **OPTIONS)
    found = again.final_weights(again.fit(nothing))
    assert any(f"resumed at update {step} " in note for note in cut.watcher.notes)
    assert all(torch.equal(found[name], kept[name]) for name in kept)
    assert again.logs.metrics.path.read_bytes() == whole.logs.metrics.path.read_bytes()
    for one, other in zip(again.model.parameters(), whole.model.parameters(), strict=True):
        assert torch.equal(one, other)  # the weights that were trained, not their average


def test_validation_and_the_model_are_the_average(setup: Any) -> None:
    seen: list[dict[str, torch.Tensor]] = []
    trainer = setup.trainer(**{**OPTIONS, "final": "last"})

    def look(epoch: int) -> Validation:
        seen.append({n: p.detach().clone() for n, p in trainer.model.named_parameters()})
        return Validation({})

    kept = trainer.final_weights(trainer.fit(look))
    last = load_checkpoint(checkpoint_folders(trainer.checkpoints)[-1])
    for name, parameter in trainer.model.named_parameters():
        assert torch.equal(kept[name], seen[-1][name])
        assert torch.equal(last.tensors["weights"][name], seen[-1][name])
        assert torch.equal(last.tensors["training"][name], parameter)
    assert any(not torch.equal(kept[n], p) for n, p in trainer.model.named_parameters())
