"""Learning-rate schedules: pure functions of the step number, which starts at 1."""

import math
from typing import Annotated, Literal

from pydantic import Field

from dialogist.config import Config


class InverseSquareRoot(Config):
    """eta(t) = scale * d^-0.5 * min(t^-0.5, t * warm^-1.5): report 1, equation 3; Vaswani et al."""

    kind: Literal["inverse-sqrt"] = "inverse-sqrt"
    d_model: int = Field(ge=1)
    warmup: int = Field(4000, ge=1)
    scale: float = Field(1.0, gt=0)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step``; ``total`` does not matter here."""
        warm: float = min(step**-0.5, step * self.warmup**-1.5)
        return float(self.scale * self.d_model**-0.5 * warm)


class Constant(Config):
    """``peak``, after an optional linear warm-up."""

    kind: Literal["constant"] = "constant"
    peak: float = Field(gt=0)
    warmup: int = Field(0, ge=0)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step``."""
        return self.peak * _warm(step, self.warmup)


class Linear(Config):
    """Linear warm-up to ``peak``, then linear decay to ``floor`` x peak at the last step."""

    kind: Literal["linear"] = "linear"
    peak: float = Field(gt=0)
    warmup: int = Field(0, ge=0)
    floor: float = Field(0.0, ge=0, le=1)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step`` of ``total``."""
        left = 1 - _share_done(step, self.warmup, total)
        return self.peak * _warm(step, self.warmup) * (self.floor + (1 - self.floor) * left)


class Cosine(Config):
    """Linear warm-up to ``peak``, then half a cosine down to ``floor`` x peak."""

    kind: Literal["cosine"] = "cosine"
    peak: float = Field(gt=0)
    warmup: int = Field(0, ge=0)
    floor: float = Field(0.0, ge=0, le=1)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step`` of ``total``."""
        left = (1 + math.cos(math.pi * _share_done(step, self.warmup, total))) / 2
        return self.peak * _warm(step, self.warmup) * (self.floor + (1 - self.floor) * left)


Schedule = Annotated[InverseSquareRoot | Constant | Linear | Cosine, Field(discriminator="kind")]


def _warm(step: int, warmup: int) -> float:
    return min(1.0, step / warmup) if warmup else 1.0


def _share_done(step: int, warmup: int, total: int) -> float:
    """How far the decay is: 0 at the end of the warm-up, 1 at the last step and after."""
    return min(1.0, max(0.0, (step - warmup) / max(1, total - warmup)))
