"""Which number format training computes in, and how the process should hold its memory."""

import ctypes
import sys
from contextlib import AbstractContextManager, nullcontext
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


def computing_in(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Autocast to bf16 (weights and their gradients stay fp32), or nothing for fp32."""
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


_M_TRIM_THRESHOLD, _M_TOP_PAD, _M_MMAP_MAX = -1, -2, -4


def keep_freed_memory() -> None:
    """Tell glibc's allocator to keep freed blocks for the next training step.

    By default every large tensor is mapped and unmapped, and the kernel clears its pages anew each
    time; keeping them trains the report-1 network 1.7 times as fast (docs/results.md). What lies
    free at the end of the heap beyond 1 GB is still given back. Elsewhere than on glibc this does
    nothing.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, 1 << 30)
        mallopt(_M_TOP_PAD, 64 << 20)
