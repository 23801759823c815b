"""Linear layers in use alone: as they are, or as int8 matrices with one scale per row.

A weight row w is stored as round(w / s), s = max |w| / 127 (symmetric, per output channel). For a
product the rows of the input are brought to int8 in the same way, each by its own scale, and the
sums are exact in int32 (Jacob et al. 2018, section 2.2, with a scale per row on both sides). So no
row of a batch has a say in another's result.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from dialogist.nn.packing import by_rows

LARGEST = 127
_TINY = 1e-30  # stands for the scale of a row of zeros


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


class Int8Linear(nn.Module):
    """x W^T + b in int8; takes the place of linear layers, (M, I) -> (M, O), fp32."""

    values: Tensor
    scales: Tensor
    bias: Tensor

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        rows = Rows8.of(weight.detach())
        self.register_buffer("values", rows.values, persistent=False)
        self.register_buffer("scales", rows.scales, persistent=False)
        self.register_buffer("bias", bias.detach().float(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(M, I) of any number format -> (M, O)."""
        return by_rows(self._product, x)

    def _product(self, x: Tensor) -> Tensor:
        x = x.float()
        scales = x.abs().amax(dim=1, keepdim=True).mul_(1 / LARGEST).clamp_(min=_TINY)
        sums = torch._int_mm((x / scales).round_().to(torch.int8), self.values.t())
        product = sums.float().mul_(scales)
        return torch.addcmul(self.bias, product, self.scales)
