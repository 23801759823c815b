"""Tests of nn.autograd."""

import weakref
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor, nn

from dialogist.nn.autograd import (
    Activation,
    GradientSink,
    embedding_lookup,
    fused_feed_forward,
    fused_linears,
    sink_of,
)
from dialogist.nn.output_layer import VocabularyProjection
from dialogist_lab.papers.recurrent_decoder import AdditiveAttention

# Gradients of tables that go to a buffer: the sum that autograd makes.

WORDS, WIDTH = 9, 4


def loss_of(output: VocabularyProjection, ids: Tensor, weights: Tensor) -> Tensor:
    """The table is used three times: two look-ups and the output layer."""
    one, two = (
        embedding_lookup(output.weight, ids),
        embedding_lookup(output.weight, ids.flip(0)[:3]),
    )
    hidden = one + two.mean(dim=0)
    return (output.token_log_probs(hidden, ids, True).target * weights).sum()


@pytest.fixture
def output() -> VocabularyProjection:
    torch.manual_seed(0)
    return VocabularyProjection(WIDTH, WORDS)


def test_the_sum_over_all_uses(output: VocabularyProjection) -> None:
    ids, weights = torch.tensor([3, 1, 3, 8, 1, 3]), torch.randn(6)
    loss_of(output, ids, weights).backward()
    expected, of_bias = output.weight.grad, output.bias.grad
    output.zero_grad()
    buffer = torch.full((WORDS, WIDTH), 7.0)  # of the update before: no longer wanted
    sink = GradientSink.of(output.weight, buffer)
    assert sink_of(output.weight) is sink
    loss_of(output, ids, weights).backward()
    assert output.weight.grad is None
    torch.testing.assert_close(buffer, expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(output.bias.grad, of_bias)
    loss_of(output, ids, weights).backward()  # the next batch of the same update
    torch.testing.assert_close(buffer, 2 * expected, atol=1e-6, rtol=1e-6)
    sink.empty = True
    loss_of(output, ids, weights).backward()
    torch.testing.assert_close(buffer, expected, atol=1e-6, rtol=1e-6)
    GradientSink.end(output.weight)
    loss_of(output, ids, weights).backward()
    torch.testing.assert_close(output.weight.grad, expected)


def test_rows_alone_leave_the_others_zero() -> None:
    table = nn.Parameter(torch.randn(WORDS, WIDTH))
    buffer = torch.full((WORDS, WIDTH), 7.0)
    GradientSink.of(table, buffer)
    found = embedding_lookup(table, torch.tensor([[2, 5], [2, 2]]))
    assert found.shape == (2, 2, WIDTH)
    found.sum().backward()
    expected = torch.zeros(WORDS, WIDTH)
    expected[2], expected[5] = 3, 1
    assert torch.equal(buffer, expected)


def test_bf16_output_adds_to_fp32(output: VocabularyProjection) -> None:
    hidden = torch.randn(6, WIDTH).bfloat16().requires_grad_()
    ids = torch.tensor([3, 1, 3, 8, 1, 3])
    output.token_log_probs(hidden, ids, False).target.sum().backward()
    expected = output.weight.grad
    buffer = torch.zeros(WORDS, WIDTH)
    GradientSink.of(output.weight, buffer)
    output.token_log_probs(hidden, ids, False).target.sum().backward()
    torch.testing.assert_close(buffer, expected)


def test_without_gradients_nothing_is_added() -> None:
    table = nn.Parameter(torch.randn(WORDS, WIDTH))
    sink = GradientSink.of(table, torch.zeros(WORDS, WIDTH))
    with torch.no_grad():
        assert not embedding_lookup(table, torch.tensor([2])).requires_grad
    assert sink.empty


# Shared tensors whose gradients are made at the end: nothing of a pass may outlive it.


def pass_of_attention(x: Tensor) -> tuple[object, Tensor]:
    attention = AdditiveAttention(4, 4, 4, coverage=False)
    states = x[:, None].expand(2, 3, 4)
    memory = attention.remember(states, torch.ones(2, 3, dtype=torch.bool))
    context, _ = attention(attention(x, memory, None)[0], memory, None)
    assert memory.training is not None
    return memory.training, context.sum()


@pytest.mark.parametrize("backward", [True, False])
def test_a_pass_is_freed(backward: bool) -> None:
    """At once: the garbage collector comes too late for what a pass holds."""
    x = torch.randn(2, 4, requires_grad=True)
    held, loss = pass_of_attention(x)
    freed = weakref.ref(held)
    if backward:
        loss.backward()
    del held, loss
    assert freed() is None


# Products with their own backward passes: the numbers of plain autograd.

ROWS, INPUT_WIDTH, INNER = 7, 6, 10


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
    return torch.randn(ROWS, INPUT_WIDTH, requires_grad=True)


@pytest.mark.parametrize("frozen", [False, True])
def test_several_layers_of_one_input(x: Tensor, frozen: bool) -> None:
    layers = [nn.Linear(INPUT_WIDTH, size) for size in (3, 5, 3)]
    layers[1].weight.requires_grad_(not frozen)
    of = [x, *(p for layer in layers for p in layer.parameters())]
    found, expected = fused_linears(x, layers), [layer(x) for layer in layers]
    alike(found, expected)
    alike(gradients(torch.cat(found, 1), of), gradients(torch.cat(expected, 1), of))


def test_an_input_without_a_gradient(x: Tensor) -> None:
    layer = nn.Linear(INPUT_WIDTH, 3)
    given = x.detach()
    (found,) = fused_linears(given, [layer])
    of = list(layer.parameters())
    alike(gradients(found, of), gradients(layer(given), of))


def test_other_layers_are_called_as_they_are(x: Tensor) -> None:
    class Doubled(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return 2 * x

    one, two = fused_linears(x, [Doubled(), nn.Linear(INPUT_WIDTH, 2)])
    torch.testing.assert_close(one, 2 * x)
    assert two.shape == (ROWS, 2)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_feed_forward_network(x: Tensor, activation: Activation) -> None:
    inner, outer = nn.Linear(INPUT_WIDTH, INNER), nn.Linear(INNER, INPUT_WIDTH)
    of = [x, *inner.parameters(), *outer.parameters()]
    found = fused_feed_forward(x, inner, outer, activation)
    between = {"relu": nn.functional.relu, "gelu": nn.functional.gelu}[activation]
    expected = outer(between(inner(x)))
    alike([found], [expected])
    alike(gradients(found, of), gradients(expected, of))


def test_in_bf16_it_is_close(x: Tensor) -> None:
    inner, outer = nn.Linear(INPUT_WIDTH, INNER), nn.Linear(INNER, INPUT_WIDTH)
    expected = gradients(outer(nn.functional.gelu(inner(x))), [x])[0]
    halves = x.detach().bfloat16().requires_grad_()
    made = fused_feed_forward(halves, inner.bfloat16(), outer.bfloat16(), "gelu")
    found = gradients(made.float(), [halves])[0]
    assert found is not None
    assert expected is not None
    assert found.dtype == torch.bfloat16
    assert (found.float() - expected).norm() < 0.03 * expected.norm()
