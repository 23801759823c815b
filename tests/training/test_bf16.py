"""Training in bf16 beside fp32: losses, gradients, what is saved, what is left."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from dialogist.models.model_weights import copy_weights, load_weights, weights_of
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.tensors import Batch
from dialogist.training import master_weights
from dialogist.training.base import Validation
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.master_weights import MasterWeights

STEPS = 100


@pytest.fixture(autouse=True)
def _anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without units for it bf16 is slow, not wrong."""
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: True)


def nothing(epoch: int) -> Validation:
    return Validation({})


def model_of(seed: int = 0, dropout: float = 0.0) -> Transformer:
    """Wide enough for sums in which rounding could add up."""
    torch.manual_seed(seed)
    return TransformerConfig(
        d_model=64,
        heads=4,
        feed_forward=128,
        encoder_layers=2,
        decoder_layers=2,
        dropout=dropout,
        attention_dropout=dropout,
        attention_output_dropout=dropout,
        source_positions=16,
        target_positions=16,
    ).build(50)


class BothFormats:
    """Trains in one format and computes every loss in the other from the same weights as well."""

    per = "token"

    def __init__(self, weights: Callable[[], dict[str, Tensor]], other: torch.dtype) -> None:
        self.weights = weights
        self.twin = model_of()
        self.master = MasterWeights(self.twin, other)
        self.losses: list[tuple[float, float]] = []

    def __call__(self, model: Transformer, batch: Batch) -> Any:
        copy_weights(self.master.named(), self.weights(), "the trained one")
        self.master.refresh()
        with torch.no_grad():
            other = CrossEntropy(0.1)(self.twin, batch)
        loss = CrossEntropy(0.1)(model, batch)
        self.losses.append((loss.value.item() / loss.count, other.value.item() / loss.count))
        return loss


def options(precision: str, **more: Any) -> dict[str, Any]:
    return {
        "precision": precision,
        "epochs": 100,
        "max_steps": STEPS,
        "schedule": {"kind": "constant", "peak": 1e-3, "warmup": 10},
        "sampler": {"kind": "shuffle-buffer", "examples": 6},
        "optimizer": {"weight_decay": 0.01},
        **more,
    }


@pytest.mark.parametrize("trained_in", ["bf16", "fp32"])
def test_losses_from_the_same_weights_and_batches(
    setup: Any, data: Callable[..., Any], trained_in: str
) -> None:
    """Every one of 100 updates, beginning to end of learning 24 pairs."""
    other = {"bf16": torch.float32, "fp32": torch.bfloat16}[trained_in]
    both = BothFormats(lambda: trainer.weights.named(), other)
    trainer = setup.trainer(data(24), both, model=model_of(), **options(trained_in))
    trainer.fit(nothing)
    assert len(both.losses) == STEPS
    apart = [abs(one - two) for one, two in both.losses]
    assert max(apart) < 0.05
    assert max(apart) > 0  # the two did compute in different formats
    losses = setup.watcher.losses
    assert sum(losses[-4:]) / 4 < 0.5 * losses[0]


def test_two_runs_stay_together(another: Callable[..., Any], data: Callable[..., Any]) -> None:
    """From the same start on the same batches, each with its own updates.

    At a rate at which fp32 itself does not drift apart: here 2e-5 after a millionth of noise.
    """
    calm = {"kind": "constant", "peak": 3e-4, "warmup": 10}
    losses = []
    for form in ("fp32", "bf16"):
        made = another(form)
        made.trainer(data(24), model=model_of(), **options(form, schedule=calm)).fit(nothing)
        losses.append(made.watcher.losses)
    apart = [abs(one - two) for one, two in zip(*losses, strict=True)]
    assert max(apart) < 0.05
    assert sum(apart) / STEPS < 0.005
    assert losses[0] != losses[1]
    assert losses[1][-1] < 0.4 * losses[1][0]


@pytest.mark.parametrize("steps", [0, 30])
def test_gradients_point_the_same_way(setup: Any, data: Callable[..., Any], steps: int) -> None:
    """Matrix by matrix, at the start and after some training."""
    one, other = model_of(), model_of()
    if steps:
        setup.trainer(data(24), model=other, **options("fp32", max_steps=steps)).fit(nothing)
    load_weights(one, weights_of(other), "the other")
    weights = MasterWeights(one, torch.bfloat16)
    batch = data(24).batch(range(24))
    for model in (one, other):
        model.zero_grad()
        loss = CrossEntropy(0.1)(model, batch)
        (loss.value / loss.count).backward()
    assert all(p.grad is None or p.grad.dtype == p.dtype for p in one.parameters())
    weights.collect(add=False)
    gradients, found = weights.named(weights.gradient), 0
    for name, q in other.named_parameters():
        if q.numel() >= 1000:
            gradient = gradients[name]
            alike = torch.cosine_similarity(gradient.flatten(), q.grad.flatten(), dim=0)
            assert alike > 0.99, name
            assert 0.95 < gradient.norm() / q.grad.norm() < 1.05, name
            found += 1
    assert found == 1 + 2 * 6 + 2 * 10  # embedding; layers of 4 + 2 and 8 + 2 matrices


@pytest.mark.parametrize("form", ["fp32", "bf16"])
def test_what_is_saved_and_left_is_fp32(setup: Any, data: Callable[..., Any], form: str) -> None:
    trainer = setup.trainer(data(24), model=model_of(), **options(form, max_steps=10))
    formats: set[torch.dtype] = set()

    def validate(epoch: int) -> Validation:
        formats.update(p.dtype for p in trainer.model.parameters())
        return Validation({})

    progress = trainer.fit(validate)
    assert formats == ({torch.float32, torch.bfloat16} if form == "bf16" else {torch.float32})
    folder = checkpoint_folders(trainer.checkpoints)[-1]
    tensors = load_checkpoint(folder).tensors
    for name, parameter in trainer.model.named_parameters():
        assert parameter.dtype == tensors["weights"][name].dtype == torch.float32
        assert torch.equal(parameter, tensors["weights"][name])
    assert {t.dtype for t in tensors["optimizer"].values()} == {torch.float32}
    rounded = {n: w.bfloat16().float() for n, w in trainer.final_weights(progress).items()}
    assert any(not torch.equal(w, trainer.final_weights(progress)[n]) for n, w in rounded.items())
