"""Weights as they are stored: in a floating-point format, or large matrices as int8 rows.

An int8 matrix ``name`` has its scales, one per row, beside it as ``name.scale`` in fp32; what is
no matrix, or a small one, is fp16. One byte per weight then, and 4 bytes per row.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from dialogist.errors import ModelError
from dialogist.nn.quantization import Rows8

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


def packed(weights: Mapping[str, Tensor], dtype: torch.dtype) -> dict[str, Tensor]:
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


def unpacked(stored: Mapping[str, Tensor], source: str) -> dict[str, Tensor]:
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
