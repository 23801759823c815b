"""The Leader-Writer net: a plan of key points, and a sub-summary for each (KDD 2019, section 3.4).

The Leader decodes the key-point sequence from the utterances. The Writer decodes each sub-summary,
starting from the Leader's decoded representation of its key point: it holds what was said and the
key points before, so two equal key points differ, which their embedding would not (3.4.3).
"""

from dataclasses import dataclass, field
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from dialogist.batch import FIRST_KEY_POINT, Batch, Plan
from dialogist.models.base import Outputs
from dialogist.models.hierarchical import (
    HierarchicalConfig,
    HierarchicalOutputs,
    UtteranceDecoder,
    UtteranceDecoderState,
    initialise,
)
from dialogist.nn.attention import WantedWeights
from dialogist.nn.hierarchical_encoder import HierarchicalMemory


class LeaderWriterConfig(HierarchicalConfig):
    """Options of the Leader-Writer net, beyond those of the hierarchical encoder and decoder.

    ``key_points``: how many labels the rule pack has. ``leader_layers``: of the Leader;
    ``decoder_layers``: of the Writer. ``longest_plan``: the most key points of a dialogue.
    ``writer_start``: what stands before a sub-summary: the Leader's ``decoded`` representation, or
    the key point's ``embedding``, which the paper argues against.
    """

    kind: Literal["leader-writer"] = "leader-writer"  # type: ignore[assignment]
    key_points: int = Field(ge=1, le=65536)
    leader_layers: int = Field(3, ge=1, le=64)
    longest_plan: int = Field(64, ge=1, le=65536)
    writer_start: Literal["decoded", "embedding"] = "decoded"

    def build(  # type: ignore[override]
        self, vocabulary: int, source_vocabulary: int | None = None
    ) -> "LeaderWriter":
        """A new model with fresh weights (drawn from torch's generator)."""
        assert source_vocabulary in (None, vocabulary), "source and target share their embeddings"
        return LeaderWriter(self, vocabulary)


@dataclass(frozen=True, slots=True)
class PlanOutputs:
    """What teacher forcing gives: at every key point (end in), and at every word of the Writer.

    ``attention``: the encoder's, if asked for (`HierarchicalMemory`).
    """

    leader: Outputs
    writer: Outputs
    attention: dict[str, Tensor] = field(default_factory=dict)


class LeaderWriter(nn.Module):
    """Hierarchical encoder, Leader, Writer.

    It is no `Generator`, for it writes in two stages (`decoding.plan_decoding`): ``leader`` and
    ``writer`` can both be searched.
    """

    def __init__(self, config: LeaderWriterConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.table = config.table(vocabulary)
        self.encoder = config.encoder(self.table)
        labels = config.table(FIRST_KEY_POINT + config.key_points)
        places = config.longest_plan + 1
        self.leader = UtteranceDecoder(config, labels, config.leader_layers, places, pointer=False)
        layers, positions = config.decoder_layers, config.target_tokens
        self.writer = UtteranceDecoder(config, self.table, layers, positions, config.pointer)
        initialise(self)

    @property
    def longest_target(self) -> int:
        """The number of target positions of a sub-summary."""
        return self.config.target_tokens

    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> PlanOutputs:
        """Teacher forcing under the reference key points; with attention if it is needed.

        ``need_weights``: ``last`` gives the Writer's last attention over the utterances alone.
        """
        assert batch.plan is not None, "the batch was made without key points"
        memory = self.encoder(batch, need_weights is True)
        led = self.lead(memory, batch.plan, need_weights is True)
        state = self.writer_state(memory, batch.plan, led)
        written = self.write(state, batch.plan, need_weights)
        return PlanOutputs(led.outputs, written, memory.attention)

    def leader_state(self, memory: HierarchicalMemory) -> UtteranceDecoderState:
        """What the Leader starts from, one row per dialogue (equation 14)."""
        return self.leader.start(
            memory, torch.arange(len(memory.layout.batch)).to(memory.tokens.device)
        )

    def lead(
        self, memory: HierarchicalMemory, plan: Plan, need_weights: WantedWeights = False
    ) -> HierarchicalOutputs:
        """The Leader over given key points; ``hidden`` is p-hat."""
        sequences = (plan.key_points_in, plan.key_points_out, plan.key_points_mask)
        decoded: HierarchicalOutputs = self.leader(
            *sequences, self.leader_state(memory), need_weights
        )
        return decoded

    def writer_state(
        self, memory: HierarchicalMemory, plan: Plan, led: HierarchicalOutputs
    ) -> UtteranceDecoderState:
        """What the Writer starts its R sub-summaries from."""
        if self.config.writer_start == "decoded":
            first = led.hidden[plan.owner, plan.place]
        else:
            key_points = plan.key_points_out[plan.owner, plan.place]
            first = self.leader.embedding.vectors(key_points, led.hidden.dtype)
        return self.writer.start(memory, plan.owner, first)

    def write(
        self, state: UtteranceDecoderState, plan: Plan, need_weights: WantedWeights = False
    ) -> Outputs:
        """The Writer over given sub-summaries."""
        target = (plan.target_in, plan.target_out, plan.target_mask)
        decoded: HierarchicalOutputs = self.writer(*target, state, need_weights)
        return decoded.outputs
