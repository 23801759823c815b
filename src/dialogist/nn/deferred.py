"""Gradients of what many steps of a pass share, made once, after the last of them.

Left to autograd, each step makes a gradient as large as the shared tensor, to be added to the sum
of the others: for weights of a recurrent layer that is most of the backward pass.
"""

from typing import Protocol

import torch
from torch import Tensor


class Sums(Protocol):
    """What the gradients are made of, as the steps' backward passes leave it here.

    It must not hold the tensors that `deferred` returned: they hold it, by their graph, and such a
    ring waits for Python's garbage collector, which counts objects and not gigabytes.
    """

    def gradients(self) -> tuple[Tensor | None, ...]:
        """Of each shared tensor, once all steps have been backward; None: no step used it."""


def deferred(sums: Sums, *tensors: Tensor) -> tuple[Tensor, ...]:
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
