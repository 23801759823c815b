"""Adam and AdamW by hand and against torch's own, what is decayed, and the state and back."""

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from dialogist.errors import CheckpointError
from dialogist.nn.layers import Positions
from dialogist.training.master_weights import MasterWeights
from dialogist.training.optimizer import OptimizerConfig, load_optimizer_tensors, optimizer_tensors

RATES = [0.1, 0.03, 0.07, 0.0, 0.05, 0.02]  # a schedule goes up and down


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.positions = Positions("learned", 4, 3)
        self.linear = nn.Linear(3, 3)
        self.norm = nn.LayerNorm(3)
        self.table = nn.Embedding(5, 3)


class Flat:
    """A model whose weights an optimizer of ours updates."""

    def __init__(self, config: OptimizerConfig, model: nn.Module | None = None) -> None:
        self.model = Small() if model is None else model
        self.weights = MasterWeights(self.model, torch.float32)
        self.optimizer = config.build(self.weights)

    def update(self, gradients: Iterator[torch.Tensor], rate: float = 0.1) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        for parameter, gradient in zip(self.model.parameters(), gradients, strict=True):
            parameter.grad = gradient.clone()
        self.weights.collect(add=False)
        self.optimizer.step()


def gradients_of(model: nn.Module, seed: int, scale: float = 1.0) -> Iterator[torch.Tensor]:
    chance = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        yield scale * torch.randn(parameter.shape, generator=chance)


def test_adam_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 1.0)
    flat = Flat(OptimizerConfig(kind="adam", betas=(0.9, 0.98), eps=1e-9), model)
    weight, first, second = 1.0, 0.0, 0.0
    for t, gradient in enumerate([0.5, -2.0, 1.0], start=1):
        flat.update(iter([torch.full((1, 1), gradient)]))
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient**2
        weight -= 0.1 * (first / (1 - 0.9**t)) / ((second / (1 - 0.98**t)) ** 0.5 + 1e-9)
        assert model.weight.item() == pytest.approx(weight, abs=1e-6)


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_the_flat_optimizer_is_torchs_over_separate_parameters(kind: str, decay: float) -> None:
    flat, plain = Flat(OptimizerConfig(kind=kind, weight_decay=decay)), Small()
    matrices = [plain.linear.weight, plain.table.weight]
    others = [p for p in plain.parameters() if not any(p is m for m in matrices)]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    theirs = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](
        groups, betas=(0.9, 0.98), eps=1e-9
    )
    for seed, rate in enumerate(RATES):
        scale = 10.0 ** (seed % 3 - 1)
        flat.update(gradients_of(plain, seed, scale), rate)
        for group in theirs.param_groups:
            group["lr"] = rate
        for parameter, gradient in zip(
            plain.parameters(), gradients_of(plain, seed, scale), strict=True
        ):
            parameter.grad = gradient
        theirs.step()
        for (name, one), other in zip(
            flat.model.named_parameters(), plain.parameters(), strict=True
        ):
            torch.testing.assert_close(
                one, other, atol=1e-6, rtol=1e-6, msg=lambda t, name=name: f"{name}: {t}"
            )


def test_only_matrices_decay() -> None:
    """Not norms, not biases, not position tables."""
    flat = Flat(OptimizerConfig(kind="adamw", weight_decay=0.5))
    before = {name: p.detach().clone() for name, p in flat.model.named_parameters()}
    flat.update(gradients_of(flat.model, 0, scale=0.0))  # no gradient: what moves is decayed
    moved = {n for n, p in flat.model.named_parameters() if not torch.equal(p, before[n])}
    assert moved == {"linear.weight", "table.weight"}
    for name in moved:
        after = dict(flat.model.named_parameters())[name]
        torch.testing.assert_close(after.detach(), before[name] * (1 - 0.1 * 0.5))


def test_adam_decays_through_the_gradient() -> None:
    flat = Flat(OptimizerConfig(kind="adam", weight_decay=0.5))
    before = flat.model.linear.weight.detach().clone()
    flat.update(gradients_of(flat.model, 0, scale=0.0))
    # L2: the gradient is 0.5 w, the first update of Adam is its sign
    torch.testing.assert_close(
        flat.model.linear.weight.detach(), before - 0.1 * before.sign(), atol=1e-5, rtol=0
    )


def test_every_weight_is_in_one_group() -> None:
    flat = Flat(OptimizerConfig(weight_decay=0.3))
    decayed, others = (group["params"] for group in flat.optimizer.param_groups)
    assert [g["weight_decay"] for g in flat.optimizer.param_groups] == [0.3, 0.0]
    held = [element for p in (*decayed, *others) for element in range(p.numel())]
    assert len(held) == flat.weights.master.numel()
    (one,), (other,) = decayed, others
    assert one.data_ptr() == flat.weights.master.data_ptr()
    assert other.data_ptr() == flat.weights.master.data_ptr() + 4 * one.numel()
    for p in (one, other):  # the gradient is never copied
        place = p.data_ptr() - flat.weights.master.data_ptr()
        assert p.grad.data_ptr() == flat.weights.gradient.data_ptr() + place


@pytest.mark.parametrize("model", [nn.Linear(3, 2, bias=False), nn.LayerNorm(4)])
def test_one_of_the_groups_may_be_empty(model: nn.Module) -> None:
    flat = Flat(OptimizerConfig(weight_decay=0.1), model)
    before = model.weight.detach().clone()
    flat.update(gradients_of(model, 1))
    assert not torch.equal(before, model.weight)
    state = {name: t.clone() for name, t in optimizer_tensors(flat.optimizer).items()}
    load_optimizer_tensors(flat.optimizer, state)
    flat.update(gradients_of(model, 2))
    assert torch.isfinite(model.weight).all()


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_the_state_survives_as_tensors(kind: str) -> None:
    config = OptimizerConfig(kind=kind, weight_decay=0.1)
    straight, resumed = Flat(config), Flat(config)
    for seed in (1, 2):
        straight.update(gradients_of(straight.model, seed))
    tensors = {name: t.clone() for name, t in optimizer_tensors(straight.optimizer).items()}
    resumed.weights.master.copy_(straight.weights.master)
    load_optimizer_tensors(resumed.optimizer, tensors)
    for seed in (3, 4):
        straight.update(gradients_of(straight.model, seed))
        resumed.update(gradients_of(straight.model, seed))
    for one, two in zip(straight.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, two)
    assert set(tensors) == {f"{i}.{n}" for i in (0, 1) for n in ("step", "exp_avg", "exp_avg_sq")}


def test_a_fresh_state_has_no_tensors() -> None:
    flat = Flat(OptimizerConfig())
    assert optimizer_tensors(flat.optimizer) == {}
    load_optimizer_tensors(flat.optimizer, {})
    flat.update(gradients_of(flat.model, 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("0.exp_avg", torch.zeros(3)),  # another model's
        ("1.exp_avg_sq", torch.zeros(2, 3)),  # one parameter's, as before release 0.3
        ("7.exp_avg", torch.zeros(3)),
    ],
)
def test_a_state_of_another_model_is_refused(name: str, value: torch.Tensor) -> None:
    flat = Flat(OptimizerConfig())
    flat.update(gradients_of(flat.model, 1))
    tensors = {key: t.clone() for key, t in optimizer_tensors(flat.optimizer).items()}
    with pytest.raises(CheckpointError, match="another model or release") as caught:
        load_optimizer_tensors(flat.optimizer, {**tensors, name: value})
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
