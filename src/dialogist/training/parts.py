"""Parts of a model that learn at a rate of their own, or later than the rest.

A pretrained encoder shall not be torn apart by the gradients of a decoder that knows nothing yet:
it gets a smaller rate, or waits, or thaws layer by layer from the top (Howard and Ruder 2018,
sections 3.2 and 3.3; Liu and Lapata 2019, section 3.2, for encoder and decoder). Everything is a
function of the update's number: a resumed run needs nothing to be saved for it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from pydantic import Field
from torch import Tensor, nn

from dialogist.config import Config
from dialogist.errors import ConfigError, nearest
from dialogist.training.weights import MasterWeights

_LAYER = re.compile(r"\.layers\.(\d+)\.")


class PartConfig(Config):
    """The weights whose names begin with ``weights`` (of several parts the first that fits counts).

    ``rate``: what the schedule's rate is multiplied by. ``frozen``: for so many updates they stay
    as they are. ``every``: their layers thaw from the top, the first after ``frozen`` updates,
    each further one so many updates later (0: all at once).
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


class Parts:
    """What the parts' weights do at each update; nothing where there are no parts.

    An update scales its change: old + factor * (new - old), which is what the factor on the
    learning rate does to Adam and to decay. The moments of frozen weights see no gradient.

    Raises:
        ConfigError: no weight has a name that begins so.
    """

    def __init__(
        self, configs: Sequence[PartConfig], model: nn.Module, weights: MasterWeights
    ) -> None:
        masters, parameters = weights.named(), dict(model.named_parameters())
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
