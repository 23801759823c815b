"""Adam and AdamW over a model's flat weights, and their state as plain tensors."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from dialogist.config import Config
from dialogist.errors import CheckpointError
from dialogist.training.weights import MasterWeights


class OptimizerConfig(Config):
    """``adam`` (Kingma and Ba 2015) or ``adamw`` (Loshchilov and Hutter 2019).

    ``adam`` adds ``weight_decay`` to the gradient (L2), ``adamw`` decays the weights themselves;
    norms, biases and position tables are never decayed. The rate comes from the schedule.
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
