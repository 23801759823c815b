"""The Leader-Writer net: a plan of key points, and a sub-summary for each (KDD 2019, section 3.4).

The Leader decodes the key-point sequence from the utterances. The Writer decodes each sub-summary,
starting from the Leader's decoded representation of its key point: it holds what was said and the
key points before, so two equal key points differ, which their embedding would not (3.4.3).
"""

from dataclasses import dataclass, replace
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from dialogist.batch import FIRST_KEY_POINT, Batch, Plan
from dialogist.models.base import Outputs
from dialogist.models.hierarchical import (
    HierarchicalConfig,
    TokenDecoder,
    TokenDecoderState,
    initialise,
)
from dialogist.nn.embedding import TokenEmbedding
from dialogist.nn.hierarchical import HierarchicalMemory
from dialogist.nn.masks import look_ahead_mask
from dialogist.nn.packing import Packing
from dialogist.nn.state import State
from dialogist.nn.transformer import Decoder, LayerCache, Masks
from dialogist.nn.vocabulary import LogProbs, VocabularyProjection


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
class LeaderState:
    """N rows of the Leader: caches, the memory's mask, whose memory each row has."""

    caches: tuple[LayerCache, ...]
    memory_mask: Tensor  # (N, 1, 1, U) additive
    owner: Tensor  # (N,)
    position: int = 0

    def select(self, rows: Tensor) -> "LeaderState":
        """The given rows; memories are copied only when rows move between dialogues."""
        owner = self.owner.index_select(0, rows)
        moved = not torch.equal(owner, self.owner)
        mask = self.memory_mask.index_select(0, rows) if moved else self.memory_mask
        caches = tuple(cache.select(rows, memory_too=moved) for cache in self.caches)
        return LeaderState(caches, mask, owner, self.position)


@dataclass(frozen=True, slots=True)
class Led:
    """What the Leader makes of B key-point sequences, teacher forced.

    Attributes:
        outputs: the distributions over key points at the real places, end in.
        decoded: (B, K + 1, D) p-hat, the representation each key point was predicted from.
    """

    outputs: Outputs
    decoded: Tensor


class Leader(nn.Module):
    """A Transformer decoder over utterances that says key points (equation 14)."""

    def __init__(self, config: LeaderWriterConfig) -> None:
        super().__init__()
        table = config.table(FIRST_KEY_POINT + config.key_points)
        places = config.longest_plan + 1
        self.embedding = TokenEmbedding(table, config.width, places, config.dropout)
        layers, shape = config.leader_layers, config.layer_shape()
        self.decoder = Decoder(layers, shape)
        self.output = VocabularyProjection(config.width, table.num_embeddings)

    def start(self, memory: HierarchicalMemory) -> LeaderState:
        """One row per dialogue."""
        utterances = memory.layout.utterances
        caches = tuple(self.decoder.start(memory.utterances, utterances))
        rows = torch.arange(utterances.shape[0], device=memory.utterances.device)
        return LeaderState(caches, utterances.mask(memory.utterances.dtype), rows)

    def forward(self, plan_in: Tensor, plan_out: Tensor, real: Tensor, state: LeaderState) -> Led:
        """(B, K + 1) ids of key points each -> `Led`."""
        packing = Packing.of(real)
        self.embedding.positions.require(plan_in.shape[1])
        x = self.embedding(packing.pack(plan_in), packing.positions, self.decoder.dtype)
        masks = Masks(look_ahead_mask(packing.width, x.dtype, x.device), state.memory_mask)
        hidden, _, _ = self.decoder(x, packing, state.caches, masks)
        targets = packing.pack(plan_out)[: packing.count]
        outputs = Outputs(LogProbs(self.output, hidden[: packing.count]), targets)
        return Led(outputs, packing.split(hidden, 1)[:, 0, : plan_in.shape[1]])

    def step(self, key_points: Tensor, state: State) -> tuple[Tensor, LeaderState]:
        """One key point per row (N,) -> log-probabilities of the next one, and the new state."""
        assert isinstance(state, LeaderState)
        self.embedding.positions.require(state.position + 1)
        packing = Packing.single(key_points.shape[0], key_points.device)
        places = torch.full_like(key_points, state.position)
        x = self.embedding(key_points, places, self.decoder.dtype)
        hidden, caches, _ = self.decoder(x, packing, state.caches, Masks(None, state.memory_mask))
        after = replace(state, caches=tuple(caches), position=state.position + 1)
        return self.output.log_probs(hidden), after


@dataclass(frozen=True, slots=True)
class PlanOutputs:
    """What teacher forcing gives: at every key point (end in), and at every word of the Writer."""

    leader: Outputs
    writer: Outputs


class LeaderWriter(nn.Module):
    """Hierarchical encoder, Leader, Writer.

    It is no `Generator`, for it writes in two stages (`dialogist.decoding.plan`): ``leader`` and
    ``writer`` can both be searched.
    """

    def __init__(self, config: LeaderWriterConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        self.table = config.table(vocabulary)
        self.encoder = config.encoder(self.table)
        self.leader = Leader(config)
        self.writer = TokenDecoder(config, self.table)
        initialise(self)

    @property
    def longest_target(self) -> int:
        """The number of target positions of a sub-summary."""
        return self.config.target_tokens

    def forward(self, batch: Batch) -> PlanOutputs:
        """Teacher forcing under the reference key points."""
        assert batch.plan is not None, "the batch was made without key points"
        memory = self.encoder(batch)
        led = self.lead(memory, batch.plan)
        state = self.writer_state(memory, batch.plan, led)
        return PlanOutputs(led.outputs, self.write(state, batch.plan))

    def lead(self, memory: HierarchicalMemory, plan: Plan) -> Led:
        """The Leader over given key points."""
        sequences = (plan.key_points_in, plan.key_points_out, plan.key_points_mask)
        led: Led = self.leader(*sequences, self.leader.start(memory))
        return led

    def writer_state(self, memory: HierarchicalMemory, plan: Plan, led: Led) -> TokenDecoderState:
        """What the Writer starts its R sub-summaries from."""
        if self.config.writer_start == "decoded":
            first = led.decoded[plan.owner, plan.place]
        else:
            key_points = plan.key_points_out[plan.owner, plan.place]
            first = self.leader.embedding.vectors(key_points, led.decoded.dtype)
        return self.writer.start(memory, plan.owner, first)

    def write(self, state: TokenDecoderState, plan: Plan) -> Outputs:
        """The Writer over given sub-summaries."""
        found, packing = self.writer(plan.target_in, plan.target_mask, state)
        return Outputs(found, packing.pack(plan.target_out)[: packing.count])
