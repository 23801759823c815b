"""Additive attention: by hand, its gradients, what padding and coverage do."""

import pytest
import torch
from torch import Tensor

from dialogist_lab.papers import recurrent_decoder
from dialogist_lab.papers.recurrent_decoder import AdditiveAttention, AttentionMemory

REAL = torch.arange(5) < torch.tensor([5, 2, 1])[:, None]


def attention_of(coverage: bool, width: int = 4) -> AdditiveAttention:
    torch.manual_seed(0)
    return AdditiveAttention(memory=3, query=2, width=width, coverage=coverage)


def written_out(
    of: AdditiveAttention, states: Tensor, query: Tensor, covered: Tensor | None
) -> tuple[Tensor, Tensor]:
    """See et al. 2017, equations 1 (or 11), 2 and 3, plainly."""
    inner = states @ of.memory.weight.T + of.memory.bias + (query @ of.query.weight.T)[:, None]
    if of.coverage is not None and covered is not None:
        inner = inner + covered[:, :, None] * of.coverage.weight[:, 0]
    energies = torch.tanh(inner) @ of.energy.weight[0]
    weights = energies.masked_fill(~REAL, float("-inf")).softmax(dim=1)
    return (weights[:, :, None] * states).sum(dim=1), weights


@pytest.mark.parametrize("kept", [0, 1 << 21, None], ids=["computed anew", "kept", "by rows"])
@pytest.mark.parametrize("coverage", [False, True])
def test_values_and_gradients(
    coverage: bool, kept: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of everything that can have one, in all forms of the backward pass."""
    attention = attention_of(coverage)
    states = torch.randn(3, 5, 3, requires_grad=True)
    query = torch.randn(3, 2, requires_grad=True)
    covered = torch.rand(3, 5, requires_grad=True) if coverage else None
    memory = attention.remember(states, REAL)
    if kept is not None:
        monkeypatch.setattr(recurrent_decoder, "_KEPT", kept)
        features = attention.memory(states)
        memory = AttentionMemory(states, features, memory.mask)
    found = attention(query, memory, covered)
    expected = written_out(attention, states, query, covered)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)
    goals = torch.randn(3, 3), torch.randn(3, 5)
    wanted = [states, query, *([] if covered is None else [covered]), *attention.parameters()]

    def gradients(results: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
        total = sum((r * goal).sum() for r, goal in zip(results, goals, strict=True))
        return torch.autograd.grad(total, wanted)

    torch.testing.assert_close(gradients(found), gradients(expected), atol=1e-6, rtol=1e-4)


def test_by_hand() -> None:
    """One column everywhere: e = 2 tanh(h + 0.5 s - c), computed on paper."""
    attention = AdditiveAttention(memory=1, query=1, width=1, coverage=True)
    values = {"memory": 1.0, "query": 0.5, "coverage": -1.0, "energy": 2.0}
    for name, value in values.items():
        getattr(attention, name).weight.data.fill_(value)
    attention.memory.bias.data.zero_()
    states = torch.tensor([[[0.0], [1.0], [9.0]]])
    memory = attention.remember(states, torch.tensor([[True, True, False]]))
    # s = 2, c = 0: e = 2 tanh(1), 2 tanh(2) = 1.52319, 1.92806; difference 0.40487
    context, weights = attention(torch.tensor([[2.0]]), memory, torch.zeros(1, 3))
    assert weights.tolist() == [pytest.approx([0.400143, 0.599857, 0.0], abs=1e-5)]
    assert context.tolist() == [pytest.approx([0.599857], abs=1e-5)]
    # c = (0, 2): e = 2 tanh(1), 2 tanh(0) = 1.52319, 0: what was seen is left alone
    _, weights = attention(torch.tensor([[2.0]]), memory, torch.tensor([[0.0, 2.0, 0.0]]))
    assert weights.tolist() == [pytest.approx([0.821007, 0.178993, 0.0], abs=1e-5)]


@pytest.mark.parametrize("format", [torch.float32, torch.bfloat16])
def test_weights_sum_to_one_and_are_zero_at_padding(format: torch.dtype) -> None:
    attention = attention_of(coverage=True).to(format)
    states = torch.randn(3, 5, 3)
    states[~REAL] = 1e4
    memory = attention.remember(states, REAL)
    context, weights = attention(torch.randn(3, 2), memory, torch.zeros(3, 5))
    assert weights.dtype == torch.float32
    assert context.dtype == memory.values.dtype == format
    chosen = memory.select(torch.tensor([2, 0]))  # as search does, with gradients or without
    again, _ = attention(torch.randn(2, 2), chosen, torch.zeros(2, 5))
    assert again.dtype == format
    torch.testing.assert_close(weights.sum(dim=1), torch.ones(3))
    assert (weights[~REAL] == 0).all()
    assert weights[2].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]
    torch.testing.assert_close(context[2], states[2, 0].to(format))


def test_memory_rows() -> None:
    memory = AttentionMemory(torch.rand(3, 5, 3), torch.rand(3, 5, 4), torch.rand(3, 5))
    rows = torch.tensor([2, 0, 0, 1])
    for part, chosen in zip(memory[:3], memory.select(rows)[:3], strict=True):
        assert torch.equal(chosen, part[rows])


@pytest.mark.parametrize("coverage", [False, True])
def test_many_steps_share_their_gradients(coverage: bool) -> None:
    """Three queries of one memory, of which fewer and fewer rows are wanted."""
    attention = attention_of(coverage)
    states = torch.randn(3, 5, 3, requires_grad=True)
    queries = torch.randn(3, 3, 2)

    def total(by_rows: bool) -> Tensor:
        memory = attention.remember(states, REAL)
        if not by_rows:
            memory = AttentionMemory(states, attention.memory(states), memory.mask)
        covered, found = torch.zeros(3, 5) if coverage else None, torch.zeros(())
        for step, rows in enumerate(([0, 1, 2], [0, 2], [2])):
            context, weights = attention(queries[step], memory, covered, rows)
            found = found + (context[rows] * (step + 1)).sum() + weights[rows].square().sum()
            covered = None if covered is None else covered + weights
        return found

    wanted = [states, *attention.parameters()]
    ours, plain = total(by_rows=True), total(by_rows=False)
    torch.testing.assert_close(ours, plain)
    torch.testing.assert_close(
        torch.autograd.grad(ours, wanted), torch.autograd.grad(plain, wanted), atol=1e-6, rtol=1e-4
    )
