"""What the hardware multiplies itself: which number formats can pay."""

import platform
from pathlib import Path

import torch

_INT8_UNITS = {"avx512_vnni", "avx_vnni", "amx_int8"}
"""How /proc/cpuinfo calls units that multiply int8 and add up in int32, where torch uses them."""


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
