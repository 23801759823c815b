"""Which number format a model computes in once it is in use, and bringing it there.

Weights are cast (and those of one input joined) once, at loading. What sums over many numbers
stays fp32 in every format: softmax over the vocabulary, layer norms, scores of hypotheses.

    fp32  as trained, on any machine
    bf16  linear layers and attention, as in training with bf16
    int8  linear layers of the Transformer's stacks and the output layer, the encoder's attention in
          bf16 where the machine has that, all the rest in fp32

How the layers compute in them: `dialogist.nn.quantization`.
"""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from dialogist.errors import UsageError
from dialogist.nn.output_layer import VocabularyProjection
from dialogist.nn.quantization import Bf16Linear, FixedLinear, Int8Linear, has_bf16, has_int8
from dialogist.nn.transformer_layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
)

Precision = Literal["auto", "fp32", "bf16", "int8"]
Format = Literal["fp32", "bf16", "int8"]

_Linear = Callable[[Tensor, Tensor], nn.Module]


def resolve_precision(wanted: str, device: torch.device) -> Format:
    """What ``wanted`` means on this machine; ``auto`` is what was measured to pay (docs/notes).

    Raises:
        UsageError: no such format, or the device has no units for it (it would be slow).
    """
    if wanted == "auto":
        return _best(device)
    if wanted not in get_args(Format):
        raise UsageError(f"precision '{wanted}': use {', '.join(get_args(Precision))}")
    if wanted == "bf16" and not has_bf16(device):
        raise UsageError(f"precision bf16: this {device.type} has no bf16 units; use fp32 or auto")
    if wanted == "int8" and not has_int8(device):
        raise UsageError(f"precision int8: this {device.type} has no int8 units; use fp32 or auto")
    return wanted  # type: ignore[return-value]


def _best(device: torch.device) -> Format:
    """On a GPU fp32: a model this small waits for its kernels to start, whatever their format."""
    if has_int8(device):
        return "int8"
    return "bf16" if device.type == "cpu" and has_bf16(device) else "fp32"


def use_precision(model: nn.Module, format: Format) -> None:
    """Bring a model's weights to the format, in place and for good: it is not to be trained on."""
    halves = format == "int8" and has_bf16(next(model.parameters()).device)
    for module in list(model.modules()):
        if isinstance(module, EncoderLayer):
            module.attention.merge(_LINEAR[format], torch.bfloat16 if halves else None)
        elif isinstance(module, DecoderLayer):
            module.self_attention.merge(_LINEAR[format])
    if format != "fp32":
        _change_linears(model, format)
    model.requires_grad_(False)


def _change_linears(model: nn.Module, format: Format) -> None:
    """All linear layers to bf16, which is what training in bf16 does; or the stacks' to int8."""
    for module in list(model.modules()):
        if isinstance(module, VocabularyProjection):
            module.working = _LINEAR[format](module.weight, module.bias)
        elif format == "bf16" and type(module) is nn.Linear:
            module.to(torch.bfloat16)
        elif format == "bf16" and isinstance(module, FeedForward):
            long = module.outer
            module.register_module("outer", Bf16Linear(long.weight, long.bias))
        elif format == "int8" and getattr(module, "int8_layers", False):
            _replace_linears(module)


def _replace_linears(stack: nn.Module) -> None:
    for parent in list(stack.modules()):
        for name, child in list(parent.named_children()):
            if type(child) is nn.Linear:
                setattr(parent, name, Int8Linear(child.weight, child.bias))


_LINEAR: dict[Format, _Linear] = {"fp32": FixedLinear, "bf16": Bf16Linear, "int8": Int8Linear}
"""What makes the layers of each format."""
