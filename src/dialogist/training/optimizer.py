"""Adam and AdamW, parameter groups with rates of their own, and learning-rate schedules."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from dialogist.config import Config
from dialogist.errors import CheckpointError, ConfigError, nearest
from dialogist.training.master_weights import MasterWeights

# Learning-rate schedules: pure functions of the step number, which starts at 1.


class InverseSquareRootSchedule(Config):
    """eta(t) = scale * d^-0.5 * min(t^-0.5, t * warm^-1.5): report 1, equation 3; Vaswani et al.

    ``d_model``: the width d. ``warmup``: warm, in updates. ``scale``: multiplies the rate.
    """

    kind: Literal["inverse-sqrt"] = "inverse-sqrt"
    d_model: int = Field(ge=1)
    warmup: int = Field(4000, ge=1)
    scale: float = Field(1.0, gt=0)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step``; ``total`` does not matter here."""
        warm: float = min(step**-0.5, step * self.warmup**-1.5)
        return float(self.scale * self.d_model**-0.5 * warm)


class ConstantSchedule(Config):
    """``peak``, after an optional linear warm-up.

    ``peak``: the rate. ``warmup``: updates of linear growth.
    """

    kind: Literal["constant"] = "constant"
    peak: float = Field(gt=0)
    warmup: int = Field(0, ge=0)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step``."""
        return self.peak * _warm(step, self.warmup)


class LinearSchedule(Config):
    """Linear warm-up to ``peak``, then linear decay to ``floor`` x peak at the last step.

    ``peak``: the largest rate. ``warmup``: updates of growth. ``floor``: the last rate as a share
    of the peak.
    """

    kind: Literal["linear"] = "linear"
    peak: float = Field(gt=0)
    warmup: int = Field(0, ge=0)
    floor: float = Field(0.0, ge=0, le=1)

    def rate(self, step: int, total: int) -> float:
        """The learning rate of update ``step`` of ``total``."""
        done = min(1.0, max(0.0, (step - self.warmup) / max(1, total - self.warmup)))
        left = self.floor + (1 - self.floor) * self._left(done)
        return self.peak * _warm(step, self.warmup) * left

    def _left(self, done: float) -> float:
        """What is left of the peak; ``done``: 0 at the end of the warm-up, 1 at the last step."""
        return 1 - done


class CosineSchedule(LinearSchedule):
    """Linear warm-up to ``peak``, then half a cosine down to ``floor`` x peak.

    ``peak``, ``warmup``, ``floor``: as of the linear schedule.
    """

    kind: Literal["cosine"] = "cosine"  # type: ignore[assignment]

    def _left(self, done: float) -> float:
        return (1 + math.cos(math.pi * done)) / 2


LearningRateSchedule = Annotated[
    InverseSquareRootSchedule | ConstantSchedule | LinearSchedule | CosineSchedule,
    Field(discriminator="kind"),
]


def _warm(step: int, warmup: int) -> float:
    return min(1.0, step / warmup) if warmup else 1.0


# Parts of a model that learn at a rate of their own, or later than the rest.
#
# A pretrained encoder shall not be torn apart by the gradients of a decoder that knows nothing yet:
# it gets a smaller rate, or waits, or thaws layer by layer from the top (Howard and Ruder 2018,
# sections 3.2 and 3.3; Liu and Lapata 2019, section 3.2, for encoder and decoder). Everything is a
# function of the update's number: a resumed run needs nothing to be saved for it.

_LAYER = re.compile(r"\.layers\.(\d+)\.")


class ParameterGroupConfig(Config):
    """The weights whose names begin with ``weights`` (of several parts the first that fits counts).

    ``rate``: what the schedule's rate is multiplied by. ``frozen``: for so many updates they stay
    as they are. ``every``: their layers thaw from the top, the first after ``frozen`` updates,
    each further one so many updates later (0: all at once).

    ``weights``: how their names begin.
    """

    weights: str = Field(min_length=1)
    rate: float = Field(1.0, gt=0)
    frozen: int = Field(0, ge=0)
    every: int = Field(0, ge=0)


@dataclass(frozen=True, slots=True)
class _Weight:
    """One weight of a part: its parameter, its master, its rate, and its last frozen update."""

    parameter: nn.Parameter
    master: Tensor
    rate: float
    frozen: int

    def factor(self, step: int) -> float:
        return 0.0 if step <= self.frozen else self.rate


class ParameterGroups:
    """What the parts' weights do at each update; nothing where there are no parts.

    An update scales its change: old + factor * (new - old), which is what the factor on the
    learning rate does to Adam and to decay. The moments of frozen weights see no gradient.

    Raises:
        ConfigError: no weight has a name that begins so.
    """

    def __init__(
        self, configs: Sequence[ParameterGroupConfig], model: nn.Module, weights: MasterWeights
    ) -> None:
        masters = weights.named()
        parameters = {n: p for n, p in model.named_parameters() if n in masters}
        left = dict(parameters)
        self._weights: list[_Weight] = []
        for config in configs:
            names = [name for name in left if name.startswith(config.weights)]
            if not names:
                raise ConfigError(f"training.parts: {_missing(config.weights, parameters)}")
            top = max(map(_layer_of, names))
            for name in names:
                frozen = config.frozen + config.every * (top - _layer_of(name))
                self._weights.append(_Weight(left.pop(name), masters[name], config.rate, frozen))

        if not left and all(weight.frozen for weight in self._weights):
            raise ConfigError("training.parts: all weights are frozen: something must learn")

    def begin(self, step: int) -> None:
        """Before the gradients of update ``step`` (from 1): none are made for frozen weights."""
        for weight in self._weights:
            weight.parameter.requires_grad_(step > weight.frozen)

    def update(self, optimizer: torch.optim.Optimizer, step: int, rate: float) -> None:
        """The optimizer's own update ``step``, at the schedule's ``rate``."""
        for group in optimizer.param_groups:
            group["lr"] = rate
        slow = [w for w in self._weights if w.factor(step) != 1]
        before = [weight.master.clone() for weight in slow]
        optimizer.step()
        for weight, old in zip(slow, before, strict=True):
            torch.lerp(old, weight.master, weight.factor(step), out=weight.master)


def _layer_of(name: str) -> int:
    """The number of the layer that a weight is of, 0 where it is of none."""
    found = _LAYER.search(name)
    return int(found[1]) if found else 0


def _missing(begins: str, names: Iterable[str]) -> str:
    """Why a part has no weights."""
    known = list(names)
    if any(name.startswith(begins) for name in known):
        return f"an earlier part has all weights that begin with '{begins}'"
    hint = nearest(begins, {name.split(".")[0] for name in known})
    return f"no weight's name begins with '{begins}'{hint}"


# Adam and AdamW over a model's flat weights, and their state as plain tensors.


class OptimizerConfig(Config):
    """``adam`` (Kingma and Ba 2015) or ``adamw`` (Loshchilov and Hutter 2019).

    ``adam`` adds ``weight_decay`` to the gradient (L2), ``adamw`` decays the weights themselves;
    norms, biases and position tables are never decayed. The rate comes from the schedule.

    ``kind``: which of the two. ``betas``: decay of the means of gradients and of their squares.
    ``eps``: added to the root of the latter. ``weight_decay``: its strength.
    """

    kind: Literal["adam", "adamw"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)

    def build(self, weights: MasterWeights) -> torch.optim.Optimizer:
        """torch's fused kernel, once over all decayed weights, once over the others."""
        groups = []
        for begin, end, decay in (
            (0, weights.decayed, self.weight_decay),
            (weights.decayed, weights.master.shape[0], 0.0),
        ):
            flat = nn.Parameter(weights.master[begin:end])
            flat.grad = weights.gradient[begin:end]
            groups.append({"params": [flat], "weight_decay": decay})
        kind = torch.optim.Adam if self.kind == "adam" else torch.optim.AdamW
        return kind(groups, lr=0.0, betas=self.betas, eps=self.eps, fused=True)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's moments and counters as named tensors, for a safetensors file."""
    state = optimizer.state_dict()["state"]
    return {f"{index}.{name}": value for index, s in state.items() for name, value in s.items()}


def load_optimizer_tensors(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave.

    Raises:
        CheckpointError: it is of another model.
    """
    flats = [group["params"][0] for group in optimizer.param_groups]
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        if int(index) >= len(flats) or value.shape not in ((), flats[int(index)].shape):
            raise CheckpointError(f"its optimizer state '{key}' is of another model or release")
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(
        {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
    )
