"""The Leader-Writer net: a plan of key points, a sub-summary for each, its losses (KDD 2019).

The Leader decodes the key-point sequence from the utterances. The Writer decodes each sub-summary,
starting from the Leader's decoded representation of its key point: it holds what was said and the
key points before, so two equal key points differ, which their embedding would not (3.4.3).
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from dialogist.data.key_points import load_pack
from dialogist.decoding import DecodingOptions
from dialogist.decoding.beam_search import forced_targets
from dialogist.decoding.generation import PLAN_SYMBOLS, plan_of, plan_options, roll_out
from dialogist.models.base import ModelConfig, Outputs, PlanningModule, RecipeParts
from dialogist.nn.attention import WantedWeights
from dialogist.nn.layers import initialise_module
from dialogist.objectives import Loss, ObjectiveConfig, Per, per_dialogue, per_sequence
from dialogist.tensors import FIRST_KEY_POINT, Batch, Plan
from dialogist.tokenizers import Symbols, Tokenizer
from dialogist_lab.papers.hierarchical import (
    HierarchicalConfig,
    UtteranceDecoder,
    UtteranceDecoderState,
)
from dialogist_lab.papers.hierarchical_encoder import HierarchicalMemory
from dialogist_lab.papers.self_critical import (
    draw_seed,
    evaluation_mode,
    rollouts,
    target_ids,
)


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

    def build(self, vocabulary: int) -> "LeaderWriter":
        """A new model with fresh weights (drawn from torch's generator)."""
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
        led, hidden = self.lead(memory, batch.plan, need_weights is True)
        state = self.writer_state(memory, batch.plan, hidden)
        written = self.write(state, batch.plan, need_weights)
        attention = memory.attention | written.attention
        return replace(written, attention=attention, plan=led)

    def encode(self, batch: Batch) -> HierarchicalMemory:
        """Read the dialogues, utterance by utterance."""
        memory: HierarchicalMemory = self.encoder(batch)
        return memory

    def start_writer(self, memory: HierarchicalMemory, plan: Plan) -> UtteranceDecoderState:
        """What the Writer starts from; the Leader is run over its plan once more for that."""
        return self.writer_state(memory, plan, self.lead(memory, plan)[1])

    def leader_state(self, memory: HierarchicalMemory) -> UtteranceDecoderState:
        """What the Leader starts from, one row per dialogue (equation 14)."""
        return self.leader.start(
            memory, torch.arange(len(memory.layout.batch)).to(memory.tokens.device)
        )

    def lead(
        self, memory: HierarchicalMemory, plan: Plan, need_weights: WantedWeights = False
    ) -> tuple[Outputs, Tensor]:
        """The Leader over given key points, and p-hat (B, P, D)."""
        sequences = (plan.key_points_in, plan.key_points_out, plan.key_points_mask)
        led: tuple[Outputs, Tensor] = self.leader(
            *sequences, self.leader_state(memory), need_weights
        )
        return led

    def writer_state(
        self, memory: HierarchicalMemory, plan: Plan, hidden: Tensor
    ) -> UtteranceDecoderState:
        """What the Writer starts its R sub-summaries from; ``hidden`` as `lead` gives it."""
        if self.config.writer_start == "decoded":
            first = hidden[plan.owner, plan.place]
        else:
            key_points = plan.key_points_out[plan.owner, plan.place]
            first = self.leader.embedding.vectors(key_points, hidden.dtype)
        return self.writer.start(memory, plan.owner, first)

    def write(
        self, state: UtteranceDecoderState, plan: Plan, need_weights: WantedWeights = False
    ) -> Outputs:
        """The Writer over given sub-summaries."""
        target = (plan.target_in, plan.target_out, plan.target_mask)
        outputs: Outputs = self.writer(*target, state, need_weights)[0]
        return outputs


# The losses (section 3.5, equations 19 to 23).


class LeaderWriterLossConfig(ObjectiveConfig):
    """The weights of equation 23, which sum to one.

    ``key_points``: weight of the cross-entropy of key points (alpha_1). ``sub_summaries``: of that
    of their texts (alpha_2). ``key_points_reward``, ``sub_summaries_reward``: of reinforcement.
    ``longest_plan``: key points of a sample at most. ``longest_text``: tokens of a sampled text at
    most.
    """

    kind: Literal["leader-writer"] = "leader-writer"
    key_points: float = Field(0.5, ge=0, le=1)
    sub_summaries: float = Field(0.5, ge=0, le=1)
    key_points_reward: float = Field(0.0, ge=0, le=1)
    sub_summaries_reward: float = Field(0.0, ge=0, le=1)
    longest_plan: int = Field(15, ge=1)
    longest_text: int = Field(50, ge=1)

    def check(self, model: ModelConfig) -> Iterator[str]:
        """It is for models that plan."""
        if not model.plans:
            yield "objective.kind leader-writer and model.kind leader-writer need each other"

    @model_validator(mode="after")
    def _consistent(self) -> "LeaderWriterLossConfig":
        learned = self.key_points + self.sub_summaries
        total = learned + self.key_points_reward + self.sub_summaries_reward
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the four weights must sum to 1, not {total:g}")
        return self

    def build(self, symbols: Symbols, tokenizer: Tokenizer | None = None) -> "LeaderWriterLoss":
        """The objective."""
        return LeaderWriterLoss(self, symbols)


class LeaderWriterLoss:
    """Equation 23, each of its four parts being a mean over one dialogue's predictions.

    End symbols are predictions as well (the paper's sums stop before them, but decoding does not).
    """

    per: Per = "dialogue"

    def __init__(self, config: LeaderWriterLossConfig, symbols: Symbols) -> None:
        self.config = config
        self.symbols = symbols

    def __call__(self, model: LeaderWriter, batch: Batch) -> Loss:
        """``terms``: ``nll`` (the cross-entropies as weighed), each of them, each reward."""
        assert batch.plan is not None, "the batch was made without key points"
        plan, config = batch.plan, self.config
        memory = model.encoder(batch)
        led, hidden = model.lead(memory, plan)
        state = model.writer_state(memory, plan, hidden)
        key_points = -per_sequence(_log_probs(led), plan.key_points_mask).sum()
        written = _log_probs(model.write(state, plan))
        sub_summaries = -per_dialogue(written, plan.target_mask, plan.owner, len(batch)).sum()
        value = config.key_points * key_points + config.sub_summaries * sub_summaries
        terms = {"nll": value, "key_points": key_points, "sub_summaries": sub_summaries}
        found = {name: float(term.detach()) for name, term in terms.items()}
        if model.training and config.key_points_reward:
            policy, reward = self._key_points_policy(model, batch, memory)
            value = value + config.key_points_reward * policy
            found["key_points_reward"] = reward * len(batch)
        if model.training and config.sub_summaries_reward:
            policy, reward = self._sub_summaries_policy(model, batch, state)
            value = value + config.sub_summaries_reward * policy
            found["sub_summaries_reward"] = reward * len(batch)
        return Loss(value, len(batch), found)

    def _key_points_policy(
        self, model: LeaderWriter, batch: Batch, memory: HierarchicalMemory
    ) -> tuple[Tensor, float]:
        """Equation 21, summed over the dialogues; and the samples' mean reward."""
        assert batch.plan is not None
        plan, device = batch.plan, batch.source.device
        rows = torch.arange(len(batch), device=device)
        with evaluation_mode(model), torch.inference_mode():
            start = model.leader_state(model.encoder(batch))
            options = plan_options(self._options())
            said_so = roll_out(model.leader, start, rows, options, PLAN_SYMBOLS)
        gap, reward = rollouts(*said_so, target_ids(plan.key_points_out, plan.key_points_mask))
        said = plan_of([h.tokens for h in said_so[1]], device)
        cut = torch.tensor([not h.finished for h in said_so[1]], device=device)
        # The end of a sequence that was cut was not said.
        ends = said.key_points_mask.cumsum(dim=1) == said.key_points_mask.sum(dim=1, keepdim=True)
        said = replace(said, key_points_mask=said.key_points_mask & ~(ends & cut[:, None]))
        log_probs = _log_probs(model.lead(memory, said)[0])
        means = per_sequence(log_probs, said.key_points_mask)
        return (gap.to(means) * means).sum(), reward

    def _sub_summaries_policy(
        self, model: LeaderWriter, batch: Batch, state: UtteranceDecoderState
    ) -> tuple[Tensor, float]:
        """Equation 22, summed over the dialogues, under the reference key points."""
        assert batch.plan is not None
        plan, device = batch.plan, batch.source.device
        rows = torch.arange(len(plan.owner), device=device)
        with evaluation_mode(model), torch.inference_mode():
            start = model.start_writer(model.encoder(batch), plan)
            said_so = roll_out(model.writer, start, rows, self._options(), self.symbols)
        gap, reward = rollouts(*said_so, target_ids(plan.target_out, plan.target_mask))
        inputs = [t.to(device) for t in forced_targets(said_so[1], self.symbols)]
        said = replace(plan, target_in=inputs[0], target_out=inputs[1], target_mask=inputs[2])
        log_probs = _log_probs(model.write(state, said))
        gaps = gap.to(log_probs).repeat_interleave(said.target_mask.sum(dim=1))
        means = per_dialogue(gaps * log_probs, said.target_mask, plan.owner, len(batch))
        return means.sum(), reward

    def _options(self) -> DecodingOptions:
        limits = {"max_tokens": self.config.longest_text, "seed": draw_seed()}
        return DecodingOptions(max_key_points=self.config.longest_plan, **limits)


def _log_probs(outputs: Outputs) -> Tensor:
    return outputs.log_probs.of(outputs.targets).target
