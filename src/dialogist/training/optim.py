"""Adam and AdamW over a model's parameters, and their state as plain tensors."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from dialogist.config import Config
from dialogist.nn.positional import Positions


class OptimizerConfig(Config):
    """``adam`` (Kingma and Ba 2015) or ``adamw`` (Loshchilov and Hutter 2019).

    ``adam`` adds ``weight_decay`` to the gradient (L2), ``adamw`` decays the weights themselves;
    norms, biases and position tables are never decayed. The rate comes from the schedule.
    """

    kind: Literal["adam", "adamw"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = Field(1e-9, gt=0)
    weight_decay: float = Field(0.0, ge=0)

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """The optimizer; its state numbers the decayed parameters first, in the model's order."""
        tables = {id(m.table) for m in model.modules() if isinstance(m, Positions)}
        decays = {id(p): p.ndim >= 2 and id(p) not in tables for p in model.parameters()}
        decayed = [p for p in model.parameters() if decays[id(p)]]
        others = [p for p in model.parameters() if not decays[id(p)]]
        groups = [
            {"params": decayed, "weight_decay": self.weight_decay},
            {"params": others, "weight_decay": 0.0},
        ]
        kind = torch.optim.Adam if self.kind == "adam" else torch.optim.AdamW
        return kind(groups, lr=0.0, betas=self.betas, eps=self.eps, fused=True)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The optimizer's moments and counters as named tensors, for a safetensors file."""
    state = optimizer.state_dict()["state"]
    return {f"{index}.{name}": value for index, s in state.items() for name, value in s.items()}


def load_optimizer_tensors(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Put back what `optimizer_tensors` gave."""
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        index, name = key.split(".", 1)
        state.setdefault(int(index), {})[name] = value
    optimizer.load_state_dict(
        {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
    )
