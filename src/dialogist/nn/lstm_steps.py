"""An LSTM layer (Hochreiter and Schmidhuber 1997) step by step in training, on a CPU.

For decoders whose next input depends on this step's attention. torch's cell leaves a dozen tensors
and as many autograd nodes per step, and a gradient of all weights to be added up; here a step is
one node, and the weights' gradient one product over all steps.
"""

import torch
from torch import Tensor, nn

from dialogist.nn.deferred import deferred


class LstmSteps:
    """The steps of one pass through a layer; called as (N, E), ((N, D), (N, D)) -> state after."""

    def __init__(self, layer: nn.LSTM) -> None:
        self._sums = _WeightSums()
        self._weights = deferred(self._sums, *layer.all_weights[0])

    def __call__(self, x: Tensor, before: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """One step."""
        after: tuple[Tensor, ...] = _Step.apply(self._sums, x, *before, *self._weights)  # type: ignore[no-untyped-call]
        return after


class _WeightSums:
    """Of each step, (N, 4D), (N, E), (N, D): what the weights' gradients are made of."""

    def __init__(self) -> None:
        self._steps: list[tuple[Tensor, Tensor, Tensor]] = []

    def keep(self, d_gates: Tensor, x: Tensor, hidden: Tensor) -> None:
        """A step's."""
        self._steps.append((d_gates, x, hidden))

    def gradients(self) -> tuple[Tensor | None, ...]:
        """Of torch's ``weight_ih``, ``weight_hh``, ``bias_ih``, ``bias_hh``."""
        steps, self._steps = self._steps, []
        if not steps:
            return (None,) * 4
        d_gates, x, hidden = (torch.cat(parts) for parts in zip(*steps, strict=True))
        d_bias = d_gates.sum(dim=0)
        return d_gates.T @ x, d_gates.T @ hidden, d_bias, d_bias


class _Step(torch.autograd.Function):
    """One step of all rows; torch orders the gates: input, forget, cell, output."""

    @staticmethod
    def forward(ctx, sums, x, before, cell, *weights):  # type: ignore[no-untyped-def]
        w, u, b, c = weights
        gates = torch.addmm(b + c, x, w.T).addmm_(before, u.T)
        i, f, g, o = gates.chunk(4, dim=1)
        gates[:, : 2 * i.shape[1]].sigmoid_()
        g.tanh_()
        o.sigmoid_()
        after = (f * cell).addcmul_(i, g)
        shown = after.tanh()
        ctx.sums = sums
        ctx.save_for_backward(x, before, cell, w, u, gates, shown)
        return o * shown, after

    @staticmethod
    def backward(ctx, d_hidden, d_after):  # type: ignore[no-untyped-def]
        x, before, cell, w, u, gates, shown = ctx.saved_tensors
        i, f, g, o = gates.chunk(4, dim=1)
        d_gates = torch.empty_like(gates)
        d_i, d_f, d_g, d_o = d_gates.chunk(4, dim=1)
        aten = torch.ops.aten
        d_cell = aten.tanh_backward(d_hidden * o, shown).add_(d_after)
        aten.sigmoid_backward.grad_input(d_cell * g, i, grad_input=d_i)
        aten.sigmoid_backward.grad_input(d_cell * cell, f, grad_input=d_f)
        aten.tanh_backward.grad_input(d_cell * i, g, grad_input=d_g)
        aten.sigmoid_backward.grad_input(d_hidden * shown, o, grad_input=d_o)
        ctx.sums.keep(d_gates, x, before)
        return None, d_gates @ w, d_gates @ u, d_cell * f, None, None, None, None
