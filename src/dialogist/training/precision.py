"""Which number format training computes in (`dialogist.training.weights` does it)."""

from typing import Literal

import torch

from dialogist.errors import UsageError

Precision = Literal["auto", "fp32", "bf16"]


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware multiplies bf16 matrices itself (AMX, AVX512-BF16, or a GPU)."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    cpu = torch.cpu
    return bool(cpu._is_avx512_bf16_supported() or cpu._is_amx_tile_supported())


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
