"""Weights as named tensors, and back into a model; shared (tied) weights appear once."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from dialogist.errors import ModelError


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Every distinct parameter under its first name (tied ones are not repeated)."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def load_weights(model: nn.Module, weights: Mapping[str, Tensor], source: str) -> None:
    """Copy weights into a model, converting to its number format.

    Raises:
        ModelError: a weight is missing, superfluous, or of another shape; names it.
    """
    copy_weights(weights_of(model), weights, source)


def copy_weights(into: Mapping[str, Tensor], weights: Mapping[str, Tensor], source: str) -> None:
    """Copy named weights over others of the same names and shapes.

    Raises:
        ModelError: a weight is missing, superfluous, or of another shape; names it.
    """
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
        place.copy_(weights[name])


def average_weights(checkpoints: list[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """The arithmetic mean of several checkpoints' weights, in fp32 (at least one)."""
    names = checkpoints[0].keys()
    return {
        name: torch.stack([weights[name].float() for weights in checkpoints]).mean(dim=0)
        for name in names
    }
