"""See et al. 2017, equations 8 and 9, with numbers by hand."""

import math

import pytest
import torch

from dialogist.nn.output_layer import (
    Copies,
    GeneratorGate,
    LogProbs,
    PointerLogProbs,
    VocabularyProjection,
)


def gate_of(weights: list[float], bias: float) -> GeneratorGate:
    """Context of 2, state of 1, embedding of 1."""
    gate = GeneratorGate(2, 1, 1)
    with torch.no_grad():
        gate.gate.weight.copy_(torch.tensor([weights]))
        gate.gate.bias.fill_(bias)
    return gate


def test_equation_8_by_hand() -> None:
    """0.5 x 2 - 1 x 1 + 3 x 0.2 + 2 x 0.1 - 1 = -0.2; and, all inputs being 0, the bias."""
    gate = gate_of([0.5, -1.0, 3.0, 2.0], -1.0)
    context, state = torch.tensor([[2.0, 1.0], [0.0, 0.0]]), torch.tensor([[0.2], [0.0]])
    odds = gate(context, state, torch.tensor([[0.1], [0.0]]))
    torch.testing.assert_close(odds, torch.tensor([-0.2, -1.0]))
    p_gen = [1 / (1 + math.exp(0.2)), 1 / (1 + math.e)]
    torch.testing.assert_close(torch.sigmoid(odds), torch.tensor(p_gen))


def test_inputs_of_other_formats_give_fp32() -> None:
    gate = gate_of([0.5, -1.0, 3.0, 2.0], -1.0).to(torch.bfloat16)
    odds = gate(torch.tensor([[2.0, 1.0]]).bfloat16(), torch.tensor([[0.2]]), torch.tensor([[0.1]]))
    assert odds.dtype == torch.float32
    torch.testing.assert_close(odds, torch.tensor([-0.2]), atol=0.02, rtol=0)


def test_equation_9_by_hand_with_a_word_beyond_the_vocabulary() -> None:
    """Three words of probability 1/2, 1/4, 1/4, p_gen 0.6; the source says 1, 3, 3: 3 is unknown.

    p(0) = .3, p(1) = .15 + .4 x .2, p(2) = .15, p(3) = .4 x .8; the other unknown word, 4, is not
    in this dialogue.
    """
    projection = VocabularyProjection(1, 3)
    with torch.no_grad():
        projection.weight.zero_()
        projection.bias.copy_(torch.tensor([0.5, 0.25, 0.25]).log())
    odds = torch.tensor([math.log(0.6 / 0.4)], requires_grad=True)
    weights = torch.tensor([[0.2, 0.5, 0.3]], requires_grad=True)
    copies = Copies(odds, weights, torch.tensor([[1, 3, 3]]), extra=2)
    found = PointerLogProbs(LogProbs(projection, torch.zeros(1, 1)), copies)
    said = found.all().exp()[0]
    torch.testing.assert_close(said, torch.tensor([0.3, 0.23, 0.15, 0.32, 0.0]))
    for target, probability in enumerate([0.3, 0.23, 0.15, 0.32]):
        of = found.of(torch.tensor([target])).target
        torch.testing.assert_close(of.exp(), torch.tensor([probability]))
    # d log p(3) / d odds = -p_gen; d / d a = 0.4 / p(3) where the word stands
    found.of(torch.tensor([3])).target.sum().backward()
    torch.testing.assert_close(odds.grad, torch.tensor([-0.6]))
    torch.testing.assert_close(weights.grad, torch.tensor([[0.0, 1.25, 1.25]]))


@pytest.mark.parametrize("odds", [-300.0, 300.0])
def test_a_copied_word_at_either_end_of_the_gate(odds: float) -> None:
    """What is impossible costs a finite loss."""
    projection = VocabularyProjection(1, 3)
    gates = torch.tensor([odds], requires_grad=True)
    copies = Copies(gates, torch.tensor([[0.0, 1.0]]), torch.tensor([[0, 3]]), extra=1)
    found = PointerLogProbs(LogProbs(projection, torch.zeros(1, 1)), copies)
    for target in (3, 2):
        loss = -found.of(torch.tensor([target])).target.sum()
        assert torch.isfinite(loss)
        (gradient,) = torch.autograd.grad(loss, gates)
        assert torch.isfinite(gradient).all()
