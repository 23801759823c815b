"""Gradients of tables that go to a buffer: the sum that autograd makes."""

import pytest
import torch
from torch import Tensor, nn

from dialogist.nn.autograd import GradientSink, embedding_lookup, sink_of
from dialogist.nn.output_layer import VocabularyProjection

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
