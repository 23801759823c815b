"""Products of matrices whose backward passes move less memory than autograd's.

Training a small network on a CPU waits for memory more than for arithmetic: adding two gradients of
(4736, 256) takes as long as the product that makes one of them (docs/results.md). The gradients
here are those of autograd but for the order in which a sum is rounded.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor, nn

Activation = Literal["relu", "gelu"]


def linears(x: Tensor, layers: Sequence[nn.Module]) -> list[Tensor]:
    """What each of several linear layers makes of one input (P, D).

    The gradients of the input are added up by the products that make them.
    """
    if not torch.is_grad_enabled() or not all(type(layer) is nn.Linear for layer in layers):
        return [layer(x) for layer in layers]
    parameters = [p for layer in layers for p in (layer.weight, layer.bias)]
    return list(_Linears.apply(x, *parameters))  # type: ignore[no-untyped-call]


class _Linears(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, *parameters):  # type: ignore[no-untyped-def]
        weights, biases = parameters[::2], parameters[1::2]
        ctx.save_for_backward(x, *weights)
        pairs = zip(weights, biases, strict=True)
        return tuple(nn.functional.linear(x, w, b) for w, b in pairs)

    @staticmethod
    def backward(ctx, *gradients):  # type: ignore[no-untyped-def]
        x, *weights = ctx.saved_tensors
        d_x = None
        of_parameters = []
        for i, (gradient, weight) in enumerate(zip(gradients, weights, strict=True)):
            if ctx.needs_input_grad[0]:
                d_x = gradient @ weight if d_x is None else d_x.addmm_(gradient, weight)
            of_parameters += _of_layer(gradient, x, ctx.needs_input_grad[2 * i + 1 : 2 * i + 3])
        return d_x, *of_parameters


def feed_forward(x: Tensor, inner: nn.Linear, outer: nn.Linear, activation: Activation) -> Tensor:
    """outer(activation(inner(x))) for training: (P, D) -> (P, D).

    The widest gradient of a layer, (P, F), is changed where it lies instead of made twice.
    """
    parameters = inner.weight, inner.bias, outer.weight, outer.bias
    made: Tensor = _FeedForward.apply(activation, x, *parameters)  # type: ignore[no-untyped-call]
    return made


class _FeedForward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, activation, x, *parameters):  # type: ignore[no-untyped-def]
        w1, b1, w2, b2 = parameters
        before = nn.functional.linear(x, w1, b1)
        after = before.relu_() if activation == "relu" else nn.functional.gelu(before)
        ctx.save_for_backward(x, before, after, w1, w2)
        ctx.activation = activation
        return nn.functional.linear(after, w2, b2)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        x, before, after, w1, w2 = ctx.saved_tensors
        wanted = ctx.needs_input_grad[1:]
        of_outer = _of_layer(gradient, after, wanted[3:5])
        inside = gradient @ w2
        if ctx.activation == "relu":
            torch.ops.aten.threshold_backward.grad_input(inside, after, 0, grad_input=inside)
        else:
            torch.ops.aten.gelu_backward.grad_input(inside, before, grad_input=inside)
        of_inner = _of_layer(inside, x, wanted[1:3])
        d_x = inside @ w1 if wanted[0] else None
        return None, d_x, *of_inner, *of_outer


def _of_layer(gradient: Tensor, x: Tensor, wanted: Sequence[bool]) -> list[Tensor | None]:
    """The gradients of a linear layer's weight and bias, as far as they are wanted."""
    weight = gradient.t() @ x if wanted[0] else None
    return [weight, gradient.sum(dim=0) if wanted[1] else None]
