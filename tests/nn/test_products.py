"""Products with their own backward passes: the numbers of plain autograd."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from dialogist.nn.autograd import Activation, fused_feed_forward, fused_linears

ROWS, WIDTH, INNER = 7, 6, 10


def alike(found: Sequence[Tensor | None], expected: Sequence[Tensor | None]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def gradients(made: Tensor, of: Sequence[Tensor]) -> list[Tensor | None]:
    torch.manual_seed(1)
    wanted = [p for p in of if p.requires_grad]
    found = iter(torch.autograd.grad((made * torch.randn_like(made)).sum(), wanted))
    return [next(found) if p.requires_grad else None for p in of]


@pytest.fixture
def x() -> Tensor:
    torch.manual_seed(0)
    return torch.randn(ROWS, WIDTH, requires_grad=True)


@pytest.mark.parametrize("frozen", [False, True])
def test_several_layers_of_one_input(x: Tensor, frozen: bool) -> None:
    layers = [nn.Linear(WIDTH, size) for size in (3, 5, 3)]
    layers[1].weight.requires_grad_(not frozen)
    of = [x, *(p for layer in layers for p in layer.parameters())]
    found, expected = fused_linears(x, layers), [layer(x) for layer in layers]
    alike(found, expected)
    alike(gradients(torch.cat(found, 1), of), gradients(torch.cat(expected, 1), of))


def test_an_input_without_a_gradient(x: Tensor) -> None:
    layer = nn.Linear(WIDTH, 3)
    given = x.detach()
    (found,) = fused_linears(given, [layer])
    of = list(layer.parameters())
    alike(gradients(found, of), gradients(layer(given), of))


def test_other_layers_are_called_as_they_are(x: Tensor) -> None:
    class Doubled(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return 2 * x

    one, two = fused_linears(x, [Doubled(), nn.Linear(WIDTH, 2)])
    torch.testing.assert_close(one, 2 * x)
    assert two.shape == (ROWS, 2)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_feed_forward_network(x: Tensor, activation: Activation) -> None:
    inner, outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
    of = [x, *inner.parameters(), *outer.parameters()]
    found = fused_feed_forward(x, inner, outer, activation)
    between = {"relu": nn.functional.relu, "gelu": nn.functional.gelu}[activation]
    expected = outer(between(inner(x)))
    alike([found], [expected])
    alike(gradients(found, of), gradients(expected, of))


def test_in_bf16_it_is_close(x: Tensor) -> None:
    inner, outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
    expected = gradients(outer(nn.functional.gelu(inner(x))), [x])[0]
    halves = x.detach().bfloat16().requires_grad_()
    made = fused_feed_forward(halves, inner.bfloat16(), outer.bfloat16(), "gelu")
    found = gradients(made.float(), [halves])[0]
    assert found is not None
    assert expected is not None
    assert found.dtype == torch.bfloat16
    assert (found.float() - expected).norm() < 0.03 * expected.norm()
