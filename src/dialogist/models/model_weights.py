"""Weights as named tensors: into a model, out of it, and as they are stored."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from dialogist.errors import ModelError
from dialogist.nn.layers import Positions
from dialogist.nn.quantization import Rows8

# Weights as named tensors, and back into a model; shared (tied) weights appear once.


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Every distinct parameter under its first name (tied ones are not repeated)."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], source: str) -> None:
    """Copy weights into a model, converting to its number format.

    Raises:
        ModelError: a weight is missing, superfluous, or of another shape; names it.
    """
    copy_weights(weights_of(model), weights, source)


class Undrawn(TorchFunctionMode):
    """While it is entered, what would fill a tensor with random numbers leaves it as it is.

    For models whose weights come from a file. On the meta device drawing does nothing anyway, but
    torch imports its compiler for it, which takes longer than loading the model.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = kwargs or {}
        if func in _DRAWING:
            return given["tensor"] if "tensor" in given else args[0]
        return func(*args, **given)


_DRAWING = {
    nn.init.normal_,
    nn.init.uniform_,
    nn.init.kaiming_uniform_,
    Tensor.normal_,
    Tensor.uniform_,
}


def fill_weights(
    model: nn.Module, weights: Mapping[str, Tensor], device: torch.device, source: str
) -> None:
    """Weights, as fp32 on ``device``, for a model that was built on the meta device.

    Its buffers go there, too. Nothing is drawn at random only to be written over, and nothing is
    held twice.

    Raises:
        ModelError: a weight is missing, superfluous, or of another shape; names it.
    """
    own = dict(model.named_parameters())
    _check_names(own, weights, source)
    places: dict[int, list[tuple[nn.Module, str]]] = {}
    for module in model.modules():
        for name, parameter in module.named_parameters(recurse=False):
            places.setdefault(id(parameter), []).append((module, name))
        if isinstance(module, Positions):
            module.restore(device)
        for name, buffer in list(module.named_buffers(recurse=False)):
            if not buffer.is_meta:  # computed on the CPU when it was made: rotary frequencies
                setattr(module, name, buffer.to(device))
    for name, parameter in own.items():
        values = weights[name].to(device, torch.float32, copy=True)
        given = nn.Parameter(values, requires_grad=parameter.requires_grad)
        for module, attribute in places[id(parameter)]:  # (several where they are tied)
            setattr(module, attribute, given)


def copy_weights(into: Mapping[str, Tensor], weights: Mapping[str, Tensor], source: str) -> None:
    """Copy named weights over others of the same names and shapes.

    Raises:
        ModelError: a weight is missing, superfluous, or of another shape; names it.
    """
    _check_names(into, weights, source)
    for name, place in into.items():
        place.copy_(weights[name])


def _check_names(into: Mapping[str, Tensor], weights: Mapping[str, Tensor], source: str) -> None:
    for name in into.keys() - weights.keys():
        raise ModelError(f"{source}: the weight '{name}' is missing")
    for name in weights.keys() - into.keys():
        raise ModelError(f"{source}: holds a weight '{name}' that this model has no place for")
    for name, place in into.items():
        if place.shape != weights[name].shape:
            raise ModelError(
                f"{source}: the weight '{name}' has shape {tuple(weights[name].shape)}, "
                f"the model's configuration says {tuple(place.shape)}"
            )


@dataclass(frozen=True, slots=True)
class Taken:
    """The names of the weights that a model ``took`` from another one, that are ``new`` in it, and
    that it ``left`` because it has no place for them."""

    took: tuple[str, ...]
    new: tuple[str, ...]
    left: tuple[str, ...]


def take_weights(model: nn.Module, weights: Mapping[str, Tensor], source: str) -> Taken:
    """Copy those weights of another model that this one has by name, into its number format.

    Raises:
        ModelError: a weight of the same name has another shape (named), or no name is the same.
    """
    own = weights_of(model)
    both = tuple(name for name in own if name in weights)
    if not both:
        raise ModelError(f"{source}: has no weight of a name that this model has: another kind")
    copy_weights({n: own[n] for n in both}, {n: weights[n] for n in both}, source)
    return Taken(
        took=both,
        new=tuple(name for name in own if name not in weights),
        left=tuple(name for name in weights if name not in own),
    )


def average_weights(checkpoints: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The arithmetic mean of several checkpoints' weights, in fp32 (at least one).

    Summed in fp64, so that the mean of a weight that never changed is that weight. Of a weight that
    some have, the mean of those.
    """
    held: dict[str, list[Tensor]] = {name: [] for name in checkpoints[0]}
    for weights in checkpoints:
        for name, weight in weights.items():
            held.setdefault(name, []).append(weight.double())
    return {name: torch.stack(found).mean(dim=0).float() for name, found in held.items()}


# Weights as they are stored: in a floating-point format, or large matrices as int8 rows.
#
# An int8 matrix ``name`` has its scales, one per row, beside it as ``name.scale`` in fp32; what is
# no matrix, or a small one, is fp16. One byte per weight then, and 4 bytes per row.

SCALE = ".scale"

_LEAST = 16
"""Rows and columns that a matrix has at least to be worth it."""

STORED = {
    torch.float32: "fp32",
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.int8: "int8",
}
"""What weights can be stored as, and what it is called."""


def pack_weights(weights: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
    """Weights for a file, contiguous; ``dtype``: one of `STORED`."""
    if dtype != torch.int8:
        return {name: weight.to(dtype).contiguous() for name, weight in weights.items()}
    stored: dict[str, Tensor] = {}
    for name, weight in weights.items():
        if weight.ndim == 2 and min(weight.shape) >= _LEAST:
            stored[name], stored[name + SCALE] = Rows8.of(weight)
        else:
            stored[name] = weight.to(torch.float16).contiguous()
    return stored


def unpack_weights(stored: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
    """Back to named weights in floating-point formats, whatever they were stored as.

    Raises:
        ModelError: an int8 matrix has no scales, or not one for each row.
    """
    weights: dict[str, Tensor] = {}
    for name, values in stored.items():
        if values.dtype != torch.int8:
            if not _is_scale(name, stored):
                weights[name] = values
            continue
        scales = stored.get(name + SCALE)
        if scales is None or scales.shape != values.shape[:1]:
            raise ModelError(f"{source}: the int8 weight '{name}' has no scale for each row")
        weights[name] = Rows8(values, scales).float()
    return weights


def _is_scale(name: str, stored: Mapping[str, Tensor]) -> bool:
    matrix = stored.get(name.removesuffix(SCALE)) if name.endswith(SCALE) else None
    return matrix is not None and matrix.dtype == torch.int8
