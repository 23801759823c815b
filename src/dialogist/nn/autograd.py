"""Autograd functions whose backward passes move less memory than the built-in ones."""

from collections.abc import Sequence
from typing import Literal, Protocol

import torch
from torch import Tensor, nn

# `GradientSink`: where the gradient of a large table is added up by those who use the table.
#
# Autograd makes one dense gradient per use of a table, adds them and gives the sum away to be
# copied: for a tied table, which is used three times, a profile shows seven passes over all of it
# for each batch, most of whose rows the batch does not touch. With a sink, whoever uses the table
# adds what it has to one fp32 buffer itself and gives autograd nothing (Megatron-LM's ``main_grad``
# is the same).


class GradientSink:
    """The gradient of one table, (V, D) fp32; while ``empty``, what the buffer holds is void."""

    def __init__(self, buffer: Tensor) -> None:
        self.buffer = buffer
        self.empty = True

    @classmethod
    def of(cls, table: nn.Parameter, buffer: Tensor) -> "GradientSink":
        """From now on, until `end`, those who use ``table`` add to ``buffer``."""
        sink = cls(buffer)
        table.gradient_sink = sink  # type: ignore[attr-defined]
        return sink

    @staticmethod
    def end(table: nn.Parameter) -> None:
        """Autograd gets the gradient of ``table`` again."""
        del table.gradient_sink  # type: ignore[attr-defined]

    def add(self, gradient: Tensor) -> None:
        """A dense gradient (V, D) of any format."""
        if self.empty:
            self.buffer.copy_(gradient)
        else:
            self.buffer.add_(gradient)
        self.empty = False

    def add_rows(self, rows: Tensor, gradient: Tensor) -> None:
        """The gradient (N, D) of the given rows (N,), each of which is there once."""
        if self.empty:
            self.buffer.zero_()
        self.buffer.index_copy_(0, rows, self.buffer.index_select(0, rows) + gradient)
        self.empty = False


def sink_of(table: Tensor) -> GradientSink | None:
    """Where the gradient of ``table`` is to go, if not to autograd."""
    sink: GradientSink | None = getattr(table, "gradient_sink", None)
    return sink


def embedding_lookup(table: Tensor, ids: Tensor) -> Tensor:
    """Rows (..., D) of ``table`` (V, D), whose gradient goes to its sink if it has one."""
    if sink_of(table) is None or not torch.is_grad_enabled():
        return nn.functional.embedding(ids, table)
    found: Tensor = _LookUp.apply(table, ids)  # type: ignore[no-untyped-call]
    return found


class _LookUp(torch.autograd.Function):
    """Rows of a table; their gradients are added up row by row, then to the table's sink."""

    @staticmethod
    def forward(ctx, table, ids):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(ids)
        ctx.sink = sink_of(table)
        return nn.functional.embedding(ids, table)

    @staticmethod
    def backward(ctx, gradient):  # type: ignore[no-untyped-def]
        (ids,) = ctx.saved_tensors
        rows, places = ids.unique(return_inverse=True)
        dense = torch.ops.aten.embedding_dense_backward(gradient, places, len(rows), -1, False)
        ctx.sink.add_rows(rows, dense)
        return None, None


# Gradients of what many steps of a pass share, made once, after the last of them.
#
# Left to autograd, each step makes a gradient as large as the shared tensor, to be added to the sum
# of the others: for weights of a recurrent layer that is most of the backward pass.


class DeferredSums(Protocol):
    """What the gradients are made of, as the steps' backward passes leave it here.

    It must not hold the tensors that `defer_gradients` returned: they hold it by their graph, and a
    ring waits for Python's garbage collector, which counts objects and not gigabytes.
    """

    def gradients(self) -> tuple[Tensor | None, ...]:
        """Of each shared tensor, once all steps have been backward; None: no step used it."""


def defer_gradients(sums: DeferredSums, *tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors as they are; their gradients are those of ``sums``.

    Steps must take them as inputs of an autograd function that gives None for their gradients.
    """
    found: tuple[Tensor, ...] = _Deferred.apply(sums, *tensors)  # type: ignore[no-untyped-call]
    return found


class _Deferred(torch.autograd.Function):
    @staticmethod
    def forward(ctx, sums, *tensors):  # type: ignore[no-untyped-def]
        ctx.set_materialize_grads(False)
        ctx.sums = sums
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx, *_):  # type: ignore[no-untyped-def]
        return None, *ctx.sums.gradients()


# Products of matrices whose backward passes move less memory than autograd's.
#
# Training a small network on a CPU waits for memory more than for arithmetic: adding two gradients
# of (4736, 256) takes as long as the product that makes one of them
# (docs/notes/2026-11-24-training-speed.md). The gradients here are those of autograd but for the
# order in which a sum is rounded.

Activation = Literal["relu", "gelu"]


def fused_linears(x: Tensor, layers: Sequence[nn.Module]) -> list[Tensor]:
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


def fused_feed_forward(
    x: Tensor, inner: nn.Linear, outer: nn.Linear, activation: Activation
) -> Tensor:
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
