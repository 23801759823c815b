"""A model without its cache: every step runs the whole network anew, as the reports' ``next_word``.

The yardstick for tests (cached = uncached) and for benchmarks of generation.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dialogist.models.base import GeneratorModule, Outputs
from dialogist.nn.attention import WantedWeights
from dialogist.nn.kv_cache import State
from dialogist.tensors import Batch


@dataclass(frozen=True, slots=True)
class _Prefix:
    batch: Batch  # N rows
    said: Tensor  # (N, t)

    def select(self, rows: Tensor) -> "_Prefix":
        return _Prefix(self.batch.select(rows), self.said[rows])


class UncachedModel:
    """Wraps a model; report 1, Listing 9: one full pass, encoder included, per token."""

    def __init__(self, model: GeneratorModule) -> None:
        self.model = model

    @property
    def longest_target(self) -> int | None:
        """The wrapped model's."""
        return self.model.longest_target

    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """The wrapped model's."""
        return self.model.forward(batch, need_weights)

    def start(self, batch: Batch) -> _Prefix:
        """Nothing is computed yet."""
        return _Prefix(batch, batch.source.new_empty((len(batch), 0)))

    def force(self, batch: Batch, state: State, need_weights: WantedWeights = False) -> Outputs:
        """All of it anew."""
        return self.model.forward(batch, need_weights)

    def cross_attention(self, outputs: Outputs) -> Tensor | None:
        """The wrapped model's."""
        return self.model.cross_attention(outputs)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, _Prefix]:
        """(N,) -> (N, X) by teacher-forcing everything said so far."""
        assert isinstance(state, _Prefix)
        said = torch.cat([state.said, tokens[:, None]], dim=1)
        mask = torch.ones_like(said, dtype=torch.bool)
        batch = replace(state.batch, target_in=said, target_out=said, target_mask=mask)
        log_probs = self.model.forward(batch).log_probs.all()  # (N * t, X)
        last = log_probs.view(said.shape[0], said.shape[1], -1)[:, -1]
        return last, replace(state, said=said)

    def train(self, mode: bool = True) -> "UncachedModel":
        """The wrapped model's."""
        self.model.train(mode)
        return self

    def eval(self) -> "UncachedModel":
        """The wrapped model's."""
        self.model.eval()
        return self
