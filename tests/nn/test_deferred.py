"""Shared tensors whose gradients are made at the end: nothing of a pass may outlive it."""

import weakref
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from dialogist.nn.recurrent_decoder import AdditiveAttention
from dialogist.nn.recurrent_layers import LstmSteps


def pass_of_lstm(x: Tensor) -> tuple[object, Tensor]:
    steps = LstmSteps(nn.LSTM(4, 4))
    hidden = x.new_zeros(2, 4), x.new_zeros(2, 4)
    for _ in range(3):
        hidden = steps(x, hidden)
    return steps, hidden[0].sum()


def pass_of_attention(x: Tensor) -> tuple[object, Tensor]:
    attention = AdditiveAttention(4, 4, 4, coverage=False)
    states = x[:, None].expand(2, 3, 4)
    memory = attention.remember(states, torch.ones(2, 3, dtype=torch.bool))
    context, _ = attention(attention(x, memory, None)[0], memory, None)
    assert memory.training is not None
    return memory.training, context.sum()


@pytest.mark.parametrize("backward", [True, False])
@pytest.mark.parametrize("run", [pass_of_lstm, pass_of_attention])
def test_a_pass_is_freed(run: Callable[[Tensor], tuple[object, Tensor]], backward: bool) -> None:
    """At once: the garbage collector comes too late for what a pass holds."""
    x = torch.randn(2, 4, requires_grad=True)
    held, loss = run(x)
    freed = weakref.ref(held)
    if backward:
        loss.backward()
    del held, loss
    assert freed() is None
