"""Adam and AdamW, learning-rate schedules, number formats."""

import math
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import nn

from dialogist.config import Config
from dialogist.errors import UsageError
from dialogist_lab.models.transformer_blocks import Positions


class InverseSquareRootSchedule(Config):
    """eta(t) = scale * d^-0.5 * min(t^-0.5, t * warm^-1.5): report 1, equation 3; Vaswani et al.

    ``d_model``: the width d. ``warmup``: warm, in updates. ``scale``: multiplies the rate.
    """

    kind: Literal["inverse-sqrt"] = "inverse-sqrt"
    d_model: int = Field(ge=1)
    warmup: int = Field(4000, ge=1)
    scale: float = Field(1.0, gt=0)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step``, from 1; ``total`` does not matter here."""
        warm: float = min(step**-0.5, step * self.warmup**-1.5)
        return float(self.scale * self.d_model**-0.5 * warm)


class WarmedSchedule(Config):
    """Linear warm-up to ``peak``; then constant, or falling to ``floor`` x peak at the last update.

    ``kind``: ``constant``, ``linear`` or (half a) ``cosine``. ``peak``: the largest rate.
    ``warmup``: updates of growth. ``floor``: the last rate as a share of the peak.
    """

    kind: Literal["constant", "linear", "cosine"] = "linear"
    peak: float = Field(gt=0)
    warmup: int = Field(0, ge=0)
    floor: float = Field(0.0, ge=0, le=1)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step``, from 1, of ``total``."""
        warm = min(1.0, step / self.warmup) if self.warmup else 1.0
        done = min(1.0, max(0.0, (step - self.warmup) / max(1, total - self.warmup)))
        left = 1.0
        if self.kind == "linear":
            left = 1 - done
        elif self.kind == "cosine":
            left = (1 + math.cos(math.pi * done)) / 2
        return self.peak * warm * (self.floor + (1 - self.floor) * left)


LearningRateSchedule = Annotated[
    InverseSquareRootSchedule | WarmedSchedule, Field(discriminator="kind")
]


class OptimizerConfig(Config):
    """Adam (Kingma and Ba 2015), or with decay of its own (Loshchilov and Hutter 2019).

    ``kind``: ``adam`` adds the decay to the gradient (L2), ``adamw`` decays the weights themselves;
    norms, biases and position tables are never decayed. ``betas``: decay of the means of gradients
    and of their squares. ``eps``: added to the root of the latter. ``weight_decay``: its strength.
    ``shares``: how names of weights begin that learn at a share of the rate.
    """

    kind: Literal["adam", "adamw"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    shares: dict[str, float] = Field(default_factory=dict)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """torch's fused kernel, over weights that are decayed and the others."""
        tables = {id(m.table) for m in model.modules() if isinstance(m, Positions)}
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for name, p in model.named_parameters():
            share = next((s for begin, s in self.shares.items() if name.startswith(begin)), 1.0)
            decay = 0.0 if p.ndim < 2 or id(p) in tables else self.weight_decay
            groups.setdefault((share, decay), []).extend([p] if p.requires_grad else [])
        made = [{"params": p, "share": s, "weight_decay": d} for (s, d), p in groups.items()]
        kind = torch.optim.Adam if self.kind == "adam" else torch.optim.AdamW
        return kind(made, lr=0.0, betas=self.betas, eps=self.eps, fused=True)


Precision = Literal["auto", "fp32", "bf16"]


def uses_bf16(precision: Precision, device: torch.device) -> bool:
    """Whether linear layers compute in bf16; ``auto``: where the hardware multiplies it itself.

    Raises:
        UsageError: bf16 was asked for and the hardware lacks it (it would be slow, not wrong).
    """
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported()
    else:  # AVX512-BF16 or AMX
        able = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    if precision == "bf16" and not able:
        raise UsageError(f"precision bf16: this {device.type} has no bf16 units; use fp32 or auto")
    return able and precision != "fp32"
