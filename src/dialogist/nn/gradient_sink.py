"""`GradientSink`: where the gradient of a large table is added up by those who use the table.

Autograd makes one dense gradient per use of a table, adds them and gives the sum away to be copied:
for a tied table, which is used three times, a profile shows seven passes over all of it for each
batch, most of whose rows the batch does not touch. With a sink, whoever uses the table adds what it
has to one fp32 buffer itself and gives autograd nothing (Megatron-LM's ``main_grad`` is the same).
"""

import torch
from torch import Tensor, nn


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


def look_up(table: Tensor, ids: Tensor) -> Tensor:
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
