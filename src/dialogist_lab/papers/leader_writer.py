"""The Leader-Writer net: a plan of key points, and a sub-summary for each (KDD 2019, section 3.4).

The Leader decodes the key-point sequence from the utterances. The Writer decodes each sub-summary,
starting from the Leader's decoded representation of its key point: it holds what was said and the
key points before, so two equal key points differ, which their embedding would not (3.4.3).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import torch
from pydantic import Field

from dialogist.data.key_points import load_pack
from dialogist.models.base import Outputs, PlanningModule, RecipeParts
from dialogist.nn.attention import WantedWeights
from dialogist.nn.layers import initialise_module
from dialogist.tensors import FIRST_KEY_POINT, Batch, Plan
from dialogist_lab.papers.hierarchical import (
    HierarchicalConfig,
    HierarchicalOutputs,
    UtteranceDecoder,
    UtteranceDecoderState,
)
from dialogist_lab.papers.hierarchical_encoder import HierarchicalMemory


class LeaderWriterConfig(HierarchicalConfig):
    """Options of the Leader-Writer net, beyond those of the hierarchical encoder and decoder.

    ``key_points``: how many labels the rule pack has. ``leader_layers``: of the Leader;
    ``decoder_layers``: of the Writer. ``longest_plan``: the most key points of a dialogue.
    ``writer_start``: what stands before a sub-summary: the Leader's ``decoded`` representation, or
    the key point's ``embedding``, which the paper argues against.
    """

    default_objective: ClassVar[Mapping[str, object]] = {"kind": "leader-writer"}

    kind: Literal["leader-writer"] = "leader-writer"  # type: ignore[assignment]
    key_points: int = Field(ge=1, le=65536)
    leader_layers: int = Field(3, ge=1, le=64)
    longest_plan: int = Field(64, ge=1, le=65536)
    writer_start: Literal["decoded", "embedding"] = "decoded"

    @property
    def plans(self) -> bool:
        """It does."""
        return True

    def check(self, recipe: RecipeParts) -> Iterator[str]:
        """What planning needs: its objective, a rule pack, and room for every sub-summary."""
        preparation = recipe.preparation
        if recipe.objective.kind != "leader-writer":
            yield "objective.kind leader-writer and model.kind leader-writer need each other"
        if preparation.key_points is None:
            yield "model.kind leader-writer needs preparation.key_points: a rule pack"
            return
        labels = len(load_pack(preparation.key_points).labels)
        if labels != self.key_points:
            yield f"model.key_points must be {labels}: so many has {preparation.key_points}"
        if preparation.plan == "prefix":
            yield "preparation.plan: prefix is not for model.kind leader-writer: it plans by itself"
        yield from super().check(recipe)

    def _check_target(self, recipe: RecipeParts, limit: str, tokens: int | None) -> Iterator[str]:
        """Of a sub-summary, to which an end symbol comes."""
        tokens = recipe.preparation.limits.sub_summary_tokens
        written = None if tokens is None else tokens + 1
        yield from super()._check_target(recipe, "sub_summary_tokens", written)

    def build(self, vocabulary: int, source_vocabulary: int | None = None) -> "LeaderWriter":
        """A new model with fresh weights (drawn from torch's generator)."""
        assert source_vocabulary in (None, vocabulary), "source and target share their embeddings"
        return LeaderWriter(self, vocabulary)


class LeaderWriter(PlanningModule):
    """Hierarchical encoder, Leader, Writer."""

    config: LeaderWriterConfig
    attends_to = "utterances"
    leader: UtteranceDecoder
    writer: UtteranceDecoder

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
        for module in self.modules():
            initialise_module(module, "scaled")

    def forward(self, batch: Batch, need_weights: WantedWeights = False) -> Outputs:
        """Teacher forcing under the reference key points: the Writer's outputs at every word.

        ``plan`` of these are the Leader's. ``need_weights``: ``last`` gives the Writer's last
        attention over the utterances alone.
        """
        assert batch.plan is not None, "the batch was made without key points"
        memory = self.encoder(batch, need_weights is True)
        led = self.lead(memory, batch.plan, need_weights is True)
        state = self.writer_state(memory, batch.plan, led)
        written = self.write(state, batch.plan, need_weights)
        attention = memory.attention | written.attention
        return replace(written, attention=attention, plan=led.outputs)

    def encode(self, batch: Batch) -> HierarchicalMemory:
        """Read the dialogues, utterance by utterance."""
        memory: HierarchicalMemory = self.encoder(batch)
        return memory

    def start_writer(self, memory: HierarchicalMemory, plan: Plan) -> UtteranceDecoderState:
        """What the Writer starts from; the Leader is run over its plan once more for that."""
        return self.writer_state(memory, plan, self.lead(memory, plan))

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
