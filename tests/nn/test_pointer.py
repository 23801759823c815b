"""The pointer: equations 16-18 with numbers by hand; what the loss takes is what is said."""

import math

import pytest
import torch
from torch import Tensor

from dialogist.batch import Batch
from dialogist.nn.output_layer import (
    Copies,
    LogProbs,
    Pointer,
    PointerLogProbs,
    VocabularyProjection,
)
from dialogist.nn.packing import Packing

WORDS, WIDTH = 6, 4


def mixture(copies: Copies, bias: Tensor | None = None) -> PointerLogProbs:
    """A vocabulary distribution softmax(``bias``) at every position, and ``copies``."""
    projection = VocabularyProjection(WIDTH, WORDS)
    torch.nn.init.zeros_(projection.weight)
    with torch.no_grad():
        projection.bias.copy_(torch.zeros(WORDS) if bias is None else bias)
    return PointerLogProbs(LogProbs(projection, torch.ones(len(copies.gate), WIDTH)), copies)


def test_equation_18_by_hand() -> None:
    """Word 2 stands twice in the source: .5 + .3; p_gen = .25, every word 1/6 in the vocabulary."""
    copies = Copies(
        torch.tensor([math.log(0.25 / 0.75)]),
        torch.tensor([[0.5, 0.2, 0.3]]),
        torch.tensor([[2, 5, 2]]),
    )
    said = mixture(copies).all().exp()[0]
    generated = 0.25 / 6
    expected = [generated] * WORDS
    expected[2] += 0.75 * 0.8
    expected[5] += 0.75 * 0.2
    torch.testing.assert_close(said, torch.tensor(expected))


@pytest.mark.parametrize("with_mean", [False, True])
def test_of_is_all_at_the_targets(with_mean: bool) -> None:
    torch.manual_seed(0)
    copies = Copies(
        torch.randn(20), torch.randn(20, 7).softmax(1), torch.randint(0, WORDS, (20, 7))
    )
    found = mixture(copies, torch.randn(WORDS))
    targets = torch.randint(0, WORDS, (20,))
    expected = found.all().gather(1, targets[:, None]).squeeze(1)
    torch.testing.assert_close(found.of(targets, with_mean).target, expected)
    assert (found.of(targets, with_mean).mean is not None) == with_mean
    torch.testing.assert_close(found.all().exp().sum(1), torch.ones(20))


@pytest.mark.parametrize("gate", [-200.0, 0.0, 200.0])
def test_gradients_are_finite_whatever_is_impossible(gate: float) -> None:
    """The target is nowhere in the source, or the vocabulary never says it."""
    gates = torch.full((2,), gate, requires_grad=True)
    weights = torch.tensor([[0.0, 1.0], [1.0, 0.0]], requires_grad=True)
    copies = Copies(gates, weights, torch.tensor([[1, 2], [1, 2]]))
    bias = torch.tensor([500.0, 0, 0, 0, 0, 0])
    found = mixture(copies, bias).of(torch.tensor([4, 1])).target
    assert torch.isfinite(found).all()
    found.sum().backward()
    assert torch.isfinite(gates.grad).all()
    assert torch.isfinite(weights.grad).all()


def batch_of(ids: torch.Tensor) -> Batch:
    nothing = ids[:, :0]
    return Batch(ids, ids > 0, nothing, nothing, nothing.bool())


def test_equations_16_and_17_by_hand() -> None:
    torch.manual_seed(0)
    pointer = Pointer(WIDTH)
    real = torch.tensor([[True, True, True], [True, False, False]])
    source, target = Packing.of(real), Packing.of(torch.tensor([[True, True], [True, False]]))
    encoded, hidden = torch.randn(4, WIDTH), torch.randn(3, WIDTH)
    ids = torch.tensor([[7, 8, 9], [5, 0, 0]])
    copies = pointer(hidden, target, pointer.memory(encoded, batch_of(ids), source))
    for row, own in enumerate([encoded[:3], encoded[:3], encoded[3:]]):
        query, keys = pointer.query(hidden[row]), pointer.key(own)
        weights = torch.softmax(keys @ query / math.sqrt(WIDTH), dim=0)
        torch.testing.assert_close(copies.weights[row, : len(own)], weights)
        assert (copies.weights[row, len(own) :] == 0).all()
        gate = pointer.gate(torch.cat([hidden[row], weights @ own]))
        torch.testing.assert_close(copies.gate[row : row + 1], gate)
    assert copies.ids[:, :3].tolist() == [[7, 8, 9], [7, 8, 9], [5, 0, 0]]


def test_a_step_is_a_row_of_teacher_forcing() -> None:
    torch.manual_seed(0)
    pointer = Pointer(WIDTH)
    encoded, hidden, ids = torch.randn(6, WIDTH), torch.randn(4, WIDTH), torch.arange(6).view(2, 3)
    every = torch.ones(2, 3, dtype=torch.bool)
    memory = pointer.memory(encoded, batch_of(ids), Packing.of(every))
    whole = pointer(hidden, Packing.of(torch.ones(2, 2, dtype=torch.bool)), memory)
    one = pointer(hidden[[1, 3]], Packing.single(2, hidden.device), memory)
    torch.testing.assert_close(one.weights, whole.weights[[1, 3]])
    torch.testing.assert_close(one.gate, whole.gate[[1, 3]])
    turned = pointer(
        hidden[[3, 1]], Packing.single(2, hidden.device), memory.select(torch.tensor([1, 0]))
    )
    torch.testing.assert_close(turned.weights, one.weights[[1, 0]])
    assert torch.equal(turned.ids, one.ids[[1, 0]])
