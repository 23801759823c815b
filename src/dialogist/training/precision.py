"""Which number format training computes in (`dialogist.training.weights` does it)."""

from typing import Literal

import torch

from dialogist.errors import UsageError
from dialogist.nn.quantization import has_bf16

Precision = Literal["auto", "fp32", "bf16"]


def resolve_precision(wanted: Precision, device: torch.device) -> Literal["fp32", "bf16"]:
    """``auto`` takes bf16 where the hardware has it.

    Raises:
        UsageError: bf16 was asked for and the hardware lacks it (it would be slow, not wrong).
    """
    if wanted == "auto":
        return "bf16" if has_bf16(device) else "fp32"
    if wanted == "bf16" and not has_bf16(device):
        raise UsageError(f"precision bf16: this {device.type} has no bf16 units; use fp32 or auto")
    return wanted


def working_dtype(precision: Literal["fp32", "bf16"]) -> torch.dtype:
    """The format the linear layers compute in; master weights and sums stay fp32."""
    return torch.bfloat16 if precision == "bf16" else torch.float32
