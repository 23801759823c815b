"""Number formats: what the device multiplies fast, and linear layers in bf16 and int8."""

import platform
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.errors import UsageError
from dialogist.nn.packing import ROWS_AT_ONCE, by_rows

# Which device there is, and what it multiplies itself: which number formats can pay.

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


# Linear layers in use alone: as they are, in bf16, or as int8 matrices with a scale per row.
#
# A weight row w is stored as round(w / s), s = max |w| / 127 (symmetric, per output channel). For a
# product the rows of the input are brought to int8 in the same way, each by its own scale, and the
# sums are exact in int32 (Jacob et al. 2018, section 2.2, with a scale per row on both sides). So
# no row of a batch has a say in another's result.

LARGEST = 127
_TINY = 1e-30  # stands for the largest of a row of zeros
_LARGE = 1 << 18
"""Elements of a matrix that is packed: the call of oneDNN's kernel costs what small ones save."""

_LONG_SUM = 512
"""Products in a sum of bf16 that oneDNN adds up in one order (seen to: 384; not to: 768)."""

_ROWS_ALIKE = 32
"""Rows up to which longer sums, too, have one order."""


class Rows8(NamedTuple):
    """A matrix (O, I) as int8 ``values`` and fp32 ``scales`` (O,)."""

    values: Tensor
    scales: Tensor

    @classmethod
    def of(cls, matrix: Tensor) -> "Rows8":
        """Round a matrix of any number format; each element is off by at most half its scale."""
        matrix = matrix.float()
        scales = (matrix.abs().amax(dim=1) / LARGEST).clamp_(min=_TINY)
        return cls((matrix / scales[:, None]).round_().to(torch.int8), scales)

    def float(self) -> Tensor:
        """(O, I) fp32."""
        return self.values.float().mul_(self.scales.float()[:, None])


class FixedLinear(nn.Module):
    """x W^T + b with weights that are neither trained nor saved, in the number format they have."""

    weight: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", weight.detach(), persistent=False)
        self.register_buffer("bias", bias.detach(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(M, I) -> (M, O)."""
        return nn.functional.linear(x, self.weight, self.bias)


class Bf16Linear(FixedLinear):
    """x W^T + b in bf16, every row the same to the last bit whatever is beside it.

    oneDNN adds up sums of more than about 512 products in an order that depends on the number of
    rows: with AMX beyond `_ROWS_ALIKE` of them, with AVX512-BF16 alone where there is one row only.
    (One element in ten thousand came out otherwise, and one summary of twenty.)
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__(weight.to(torch.bfloat16), bias.to(torch.bfloat16))
        self._rows = _ROWS_ALIKE if weight.shape[1] > _LONG_SUM else ROWS_AT_ONCE

    def forward(self, x: Tensor) -> Tensor:
        """(M, I) -> (M, O)."""
        return by_rows(self._product, x, self._rows)

    def _product(self, x: Tensor) -> Tensor:
        return super().forward(x) if len(x) > 1 else super().forward(x.repeat(2, 1))[:1]


class Int8Linear(nn.Module):
    """x W^T + b in int8; takes the place of linear layers, (..., I) -> (..., O), fp32.

    With AMX a large matrix is held as oneDNN wants it (``packed``, opaque): its kernel scales the
    sums as it writes them, where torch's ``_int_mm`` leaves that to two more passes (384 x 1,536
    over 256 rows: 0.84 ms to 0.40; over 4: 61 us to 57;
    docs/notes/2026-11-24-summary-speed.md). Units that only multiply unsigned with signed numbers
    (VNNI) oneDNN does not use for this, and falls back to plain loops that take a thousand times as
    long: there it is ``_int_mm``.
    """

    values: Tensor | None
    scales: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        rows = Rows8.of(weight.detach())
        self.packed: Tensor | None = None
        self._most = torch.tensor(float(LARGEST))
        self._zeros = torch.zeros(len(rows.values), dtype=torch.int32)  # symmetric: no offsets
        if rows.values.numel() >= _LARGE and _can_pack(rows.values.device):
            self.packed = torch.ops.onednn.qlinear_prepack(rows.values, None)
        self.register_buffer("values", None if self.packed is not None else rows.values, False)
        self.register_buffer("scales", rows.scales, persistent=False)
        zeros = torch.zeros(len(rows.values), device=rows.values.device)
        own = zeros if bias is None else bias.detach().float()
        self.register_buffer("bias", own, persistent=False)

    @property
    def weight(self) -> Tensor | None:
        """The matrix, for code that asks for its number format; None where it is packed."""
        return self.values

    def forward(self, x: Tensor) -> Tensor:
        """(..., I) of any number format -> (..., O)."""
        return by_rows(self._product, x.reshape(-1, x.shape[-1])).view(*x.shape[:-1], -1)

    def _product(self, x: Tensor) -> Tensor:
        room = x.float().abs()
        largest = room.amax(dim=1, keepdim=True).clamp_(min=_TINY)
        # What is made is written over what is no longer needed: fresh memory costs more than sums.
        # And `_most` is a tensor because a plain number would be made into one at every call.
        rows = torch.mul(x, self._most / largest, out=room).round_().to(torch.int8)
        scales = largest.div_(self._most)
        if self.packed is None:
            assert self.values is not None
            product = torch._int_mm(rows, self.values.t()).float().mul_(scales)
            return torch.addcmul(self.bias, product, self.scales, out=product)
        product = torch.ops.onednn.qlinear_pointwise(
            rows,
            1.0,
            0,
            self.packed,
            self.scales,
            self._zeros,
            None,
            1.0,
            0,
            torch.float32,
            "none",
            [],
            "",
        )
        return torch.addcmul(self.bias, product, scales, out=product)


def _can_pack(device: torch.device) -> bool:
    """Whether oneDNN has a kernel for signed inputs; a build of torch may not have it at all."""
    return has_int8_tiles(device) and hasattr(torch.ops.onednn, "qlinear_prepack")
