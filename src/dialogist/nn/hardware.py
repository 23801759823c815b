"""Which device there is, and what it multiplies itself: which number formats can pay."""

import platform
from pathlib import Path

import torch

from dialogist.errors import UsageError

_INT8_UNITS = {"avx512_vnni", "avx_vnni", "amx_int8"}
"""How /proc/cpuinfo calls units that multiply int8 and add up in int32, where torch uses them."""


def pick_device(wanted: str) -> torch.device:
    """``auto`` is the GPU where there is one.

    Raises:
        UsageError: no such device here.
    """
    if wanted == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(wanted)
    except RuntimeError:
        raise UsageError(f"device '{wanted}': use auto, cpu or cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("device cuda: torch sees no GPU here; use --device cpu")
    if device.type not in ("cpu", "cuda"):
        raise UsageError(f"device '{wanted}': use auto, cpu or cuda")
    return device


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware multiplies bf16 matrices itself (AMX, AVX512-BF16, or a GPU)."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported())
    cpu = torch.cpu
    return bool(cpu._is_avx512_bf16_supported() or cpu._is_amx_tile_supported())


def has_int8(device: torch.device, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether torch has the CPU multiply int8 with int32 sums; False where that is not known."""
    return _has_unit(_INT8_UNITS, device, cpuinfo)


def has_int8_tiles(device: torch.device, cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether these units are AMX, which multiplies signed numbers with signed ones itself."""
    return _has_unit({"amx_int8"}, device, cpuinfo)


def _has_unit(units: set[str], device: torch.device, cpuinfo: Path) -> bool:
    if device.type != "cpu" or platform.system() != "Linux":
        return False
    try:
        with cpuinfo.open(encoding="utf-8") as lines:
            named = (line for line in lines if line.startswith(("flags", "Features")))
            return not units.isdisjoint(next(named, "").split())
    except OSError:
        return False
