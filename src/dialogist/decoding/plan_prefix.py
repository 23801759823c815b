"""`PlanPrefix`: search says nothing but summaries whose plan comes first and is kept to.

label_1 ... label_K, then K times: the border, and a token or more; then the end. Neighbouring
labels differ (`dialogist.tokenizers.plan_tokens`).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from dialogist.decoding.filters import NEVER, of_plan
from dialogist.decoding.options import DecodingOptions
from dialogist.tokenizers import PlanTokens

_LEAST = 3
"""Tokens of a key point at least: its label, a border, a word."""


@dataclass(frozen=True, slots=True)
class PlanPrefix:
    """Rules out what would make a plan, or what is written by it, ill-formed.

    What a row has said so far is taken to be well-formed, as the same filter saw to it. ``most``
    bounds the number of labels.
    """

    plan: PlanTokens
    eos: int
    most: int

    @classmethod
    def of(cls, plan: PlanTokens, eos: int, options: DecodingOptions) -> "PlanPrefix":
        """At most as many labels as ``max_tokens`` has room for, with a word about each."""
        room = max(1, options.max_tokens // _LEAST)
        return cls(plan, eos, min(options.max_key_points, room))

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Words, labels, the border and the end are ruled out by how far each row is."""
        if not prefix.shape[1]:
            log_probs[:, : self.plan.border + 1] = NEVER
            log_probs[:, self.plan.ids.stop :] = NEVER
            return log_probs
        own = torch.arange(self.plan.border, self.plan.ids.stop + 1, device=prefix.device)
        own[-1] = self.eos  # (1 + L + 1,): the border, the labels, the end
        last = prefix[:, -1:]
        borders = (prefix == self.plan.border).sum(dim=1, keepdim=True)  # (N, 1)
        labels = of_plan(prefix, self.plan).sum(dim=1, keepdim=True) - borders
        planning, spoken = borders == 0, last != self.plan.border
        allowed = (planning & (labels < self.most)) & (own != last)  # (N, 1 + L + 1)
        allowed[:, :1] = spoken & (borders < labels)
        allowed[:, -1:] = spoken & (borders == labels)
        kept = log_probs.index_select(1, own).masked_fill_(~allowed, NEVER)
        # By number, not by a mask: that would read the whole table for a few rows.
        log_probs.index_fill_(0, planning[:, 0].nonzero()[:, 0], NEVER)
        return log_probs.index_copy_(1, own, kept)
