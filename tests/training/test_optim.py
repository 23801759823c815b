"""Adam and AdamW by hand, what is decayed, and the state as tensors and back."""

import pytest
import torch
from torch import nn

from dialogist.nn.positional import Positions
from dialogist.training.optim import OptimizerConfig, load_optimizer_tensors, optimizer_tensors


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.positions = Positions("learned", 4, 3)
        self.linear = nn.Linear(3, 3)
        self.norm = nn.LayerNorm(3)


def update(model: nn.Module, optimizer: torch.optim.Optimizer, scale: float = 1.0) -> None:
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    for i, parameter in enumerate(model.parameters()):
        parameter.grad = torch.full_like(parameter, scale * (i + 1))
    optimizer.step()


def test_adam_by_hand() -> None:
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, 1.0)
    optimizer = OptimizerConfig(kind="adam", betas=(0.9, 0.98), eps=1e-9).build(model)
    weight, first, second = 1.0, 0.0, 0.0
    for t, gradient in enumerate([0.5, -2.0, 1.0], start=1):
        optimizer.param_groups[0]["lr"] = 0.1
        model.weight.grad = torch.full_like(model.weight, gradient)
        optimizer.step()
        first = 0.9 * first + 0.1 * gradient
        second = 0.98 * second + 0.02 * gradient**2
        weight -= 0.1 * (first / (1 - 0.9**t)) / ((second / (1 - 0.98**t)) ** 0.5 + 1e-9)
        assert model.weight.item() == pytest.approx(weight, abs=1e-6)


def test_only_matrices_decay() -> None:
    """Not norms, not biases, not position tables."""
    model = Small()
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    optimizer = OptimizerConfig(kind="adamw", weight_decay=0.5).build(model)
    update(model, optimizer, scale=0.0)  # no gradient: what moves is decayed
    moved = {n for n, p in model.named_parameters() if not torch.equal(p, before[n])}
    assert moved == {"linear.weight"}
    torch.testing.assert_close(model.linear.weight, before["linear.weight"] * (1 - 0.1 * 0.5))


def test_adam_decays_through_the_gradient() -> None:
    model = Small()
    before = model.linear.weight.detach().clone()
    update(model, OptimizerConfig(kind="adam", weight_decay=0.5).build(model), scale=0.0)
    # L2: the gradient is 0.5 w, the first update of Adam is its sign
    torch.testing.assert_close(
        model.linear.weight.detach(), before - 0.1 * before.sign(), atol=1e-5, rtol=0
    )


def test_every_parameter_is_in_one_group() -> None:
    model = Small()
    optimizer = OptimizerConfig().build(model)
    held = [id(p) for group in optimizer.param_groups for p in group["params"]]
    assert sorted(held) == sorted(map(id, model.parameters()))


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_the_state_survives_as_tensors(kind: str) -> None:
    config = OptimizerConfig(kind=kind, weight_decay=0.1)
    straight, other = Small(), Small()
    optimizer = config.build(straight)
    for scale in (1.0, -0.5):
        update(straight, optimizer, scale)
    tensors = {name: t.clone() for name, t in optimizer_tensors(optimizer).items()}
    other.load_state_dict(straight.state_dict())
    resumed = config.build(other)
    load_optimizer_tensors(resumed, tensors)
    for scale in (0.3, 2.0):
        update(straight, optimizer, scale)
        update(other, resumed, scale)
    for one, two in zip(straight.parameters(), other.parameters(), strict=True):
        assert torch.equal(one, two)
    assert len(tensors) == 3 * len(list(straight.parameters()))
