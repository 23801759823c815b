"""The Leader-Writer net: a plan of key points, a sub-summary for each, its losses (KDD 2019).

The Leader decodes the key-point sequence from the utterances. The Writer decodes each sub-summary,
starting from the Leader's decoded representation of its key point: it holds what was said and the
key points before, so two equal key points differ, which their embedding would not (3.4.3).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from dialogist_lab.decoding import DecodingOptions, Hypothesis, Symbols, search
from dialogist_lab.models.generator import (
    FIRST_KEY_POINT,
    PLAN_BOS,
    PLAN_EOS,
    PLAN_PAD,
    Batch,
    Generator,
    Outputs,
    Plan,
    RecipeLimits,
)
from dialogist_lab.models.transformer_blocks import DecoderState, MappedEmbedding, initialise_module
from dialogist_lab.papers.hierarchical import (
    HierarchicalConfig,
    HierarchicalEncoder,
    HierarchicalMemory,
    UtteranceDecoder,
)
from dialogist_lab.papers.self_critical import (
    dialogue_means,
    draw_samples,
    evaluation_mode,
    target_ids,
    target_log_probs,
)
from dialogist_lab.training.objective import Loss, ObjectiveConfig, Per


class LeaderWriterConfig(HierarchicalConfig):
    """Options of the Leader-Writer net, beyond those of the hierarchical encoder and decoder.

    ``key_points``: how many labels the rule pack has. ``leader_layers``: of the Leader;
    ``decoder_layers``: of the Writer. ``longest_plan``: the most key points of a dialogue.
    """

    kind: Literal["leader-writer"] = "leader-writer"  # type: ignore[assignment]
    key_points: int = Field(ge=1, le=65536)
    leader_layers: int = Field(3, ge=1, le=64)
    longest_plan: int = Field(64, ge=1, le=65536)

    def check(self, limits: RecipeLimits) -> Iterator[str]:
        """What planning needs: a rule pack with so many labels."""
        if limits.labels != self.key_points:
            has = f"{limits.labels}: so many has the pack" if limits.labels else "a rule pack's"
            yield f"model.key_points must be {has} of preparation.key_points"
        yield from super().check(limits)

    def build(self, vocabulary: int) -> "LeaderWriter":
        return LeaderWriter(self, vocabulary)


def plan_symbols(labels: int) -> Symbols:
    """What the ids of key points mean to search."""
    return Symbols(PLAN_PAD, PLAN_PAD, PLAN_BOS, PLAN_EOS, FIRST_KEY_POINT + labels)


class LeaderWriter(Generator):
    """Hierarchical encoder, Leader, Writer."""

    config: LeaderWriterConfig

    def __init__(self, config: LeaderWriterConfig, vocabulary: int) -> None:
        super().__init__()
        self.config = config
        table = MappedEmbedding(vocabulary, config.embedding, config.width)
        self.encoder = HierarchicalEncoder(config, table)
        size, places = FIRST_KEY_POINT + config.key_points, config.longest_plan + 1
        labels = MappedEmbedding(size, config.embedding, config.width)
        self.leader = UtteranceDecoder(config, labels, config.leader_layers, places, pointer=False)
        layers, positions = config.decoder_layers, config.target_tokens
        self.writer = UtteranceDecoder(config, table, layers, positions, config.pointer)
        for module in self.modules():
            initialise_module(module, "scaled")

    def forward(self, batch: Batch, need_weights: bool = False) -> Outputs:
        """Teacher forcing under the reference key points: the Writer's outputs at every word.

        ``plan`` of these are the Leader's.
        """
        assert batch.plan is not None, "the batch was made without key points"
        memory = self.encoder(batch, need_weights)
        led, hidden = self.lead(memory, batch.plan, need_weights)
        state = self.start_writer(memory, batch.plan, hidden)
        written = self.write(state, batch.plan, need_weights)
        return replace(written, attention=memory.attention | written.attention, plan=led)

    def lead(
        self, memory: HierarchicalMemory, plan: Plan, need_weights: bool = False
    ) -> tuple[Outputs, Tensor]:
        """The Leader over given key points (equation 14), and p-hat (B, P, D)."""
        sequences = (plan.key_points_in, plan.key_points_out, plan.key_points_mask)
        led: tuple[Outputs, Tensor] = self.leader(
            *sequences, self.leader.start(memory), need_weights
        )
        return led

    def start_writer(self, memory: HierarchicalMemory, plan: Plan, hidden: Tensor) -> DecoderState:
        """What the Writer starts its R sub-summaries from; ``hidden`` as `lead` gives it."""
        return self.writer.start(memory.select(plan.owner), hidden[plan.owner, plan.place])

    def write(self, state: DecoderState, plan: Plan, need_weights: bool = False) -> Outputs:
        """The Writer over given sub-summaries (equation 15)."""
        target = (plan.target_in, plan.target_out, plan.target_mask)
        outputs: Outputs = self.writer(*target, state, need_weights)[0]
        return outputs

    @torch.no_grad()
    def generate(
        self, batch: Batch, options: DecodingOptions, symbols: Symbols
    ) -> list[Hypothesis]:
        """Search the key points of each dialogue, then the text of each key point.

        ``options`` hold for every single text; ``max_key_points`` bounds their number.
        """
        memory = self.encoder(batch)
        planning = options.model_copy(
            update={"min_tokens": 1, "max_tokens": options.max_key_points, "no_repeat_ngram": 0}
        )
        names = plan_symbols(self.config.key_points)
        plans = search(self.leader, self.leader.start(memory), batch.source, planning, names)
        key_points = [hypothesis.tokens for hypothesis in plans]
        unwritten = [()] * sum(map(len, key_points))
        plan = Plan.of(key_points, unwritten, symbols).to(batch.source.device)
        _, hidden = self.lead(memory, plan)
        state = self.start_writer(memory, plan, hidden)
        texts = iter(search(self.writer, state, batch.source[plan.owner], options, symbols))
        return [_joined(led, [next(texts) for _ in led.tokens]) for led in plans]


def _joined(plan: Hypothesis, parts: Sequence[Hypothesis]) -> Hypothesis:
    """One hypothesis of a plan and its texts."""
    log_prob = plan.log_prob + sum(part.log_prob for part in parts)
    return Hypothesis(
        tokens=tuple(token for part in parts for token in part.tokens),
        log_prob=log_prob,
        score=plan.score + sum(part.score for part in parts),
        finished=plan.finished and all(part.finished for part in parts),
        key_points=tuple(token - FIRST_KEY_POINT for token in plan.tokens),
        ends=tuple(accumulate(len(part.tokens) for part in parts)),
    )


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

    @model_validator(mode="after")
    def _consistent(self) -> "LeaderWriterLossConfig":
        learned = self.key_points + self.sub_summaries
        total = learned + self.key_points_reward + self.sub_summaries_reward
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the four weights must sum to 1, not {total:g}")
        return self

    def build(self, symbols: Symbols) -> "LeaderWriterLoss":
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
        state = model.start_writer(memory, plan, hidden)
        rows = torch.arange(len(batch), device=batch.source.device)
        parts = (
            (target_log_probs(led), plan.key_points_mask, rows),
            (target_log_probs(model.write(state, plan)), plan.target_mask, plan.owner),
        )
        key_points, sub_summaries = (-dialogue_means(*part, len(batch)).sum() for part in parts)
        value = config.key_points * key_points + config.sub_summaries * sub_summaries
        losses = {"nll": value, "key_points": key_points, "sub_summaries": sub_summaries}
        terms = {name: float(loss.detach()) for name, loss in losses.items()}
        if model.training and config.key_points_reward:
            policy, reward = self._key_points_policy(model, batch, memory)
            value = value + config.key_points_reward * policy
            terms["key_points_reward"] = reward * len(batch)
        if model.training and config.sub_summaries_reward:
            policy, reward = self._sub_summaries_policy(model, batch, state)
            value = value + config.sub_summaries_reward * policy
            terms["sub_summaries_reward"] = reward * len(batch)
        return Loss(value, len(batch), terms)

    def _key_points_policy(
        self, model: LeaderWriter, batch: Batch, memory: HierarchicalMemory
    ) -> tuple[Tensor, float]:
        """Equation 21, summed over the dialogues; and the samples' mean reward."""
        assert batch.plan is not None
        plan, device = batch.plan, batch.source.device
        references = target_ids(plan.key_points_out, plan.key_points_mask)
        names = plan_symbols(model.config.key_points)
        with evaluation_mode(model):
            start = model.leader.start(model.encoder(batch))
            limits = {"max_tokens": self.config.longest_plan, "min_tokens": 1}
            samples = draw_samples(model.leader, start, batch.source, references, names, **limits)
        outputs, _ = model.leader(
            samples.target_in, samples.target_out, samples.mask, model.leader.start(memory)
        )
        rows = torch.arange(len(batch), device=device)
        means = dialogue_means(target_log_probs(outputs), samples.mask, rows, len(batch))
        return (samples.gap * means).sum(), samples.reward

    def _sub_summaries_policy(
        self, model: LeaderWriter, batch: Batch, state: DecoderState
    ) -> tuple[Tensor, float]:
        """Equation 22, summed over the dialogues, under the reference key points."""
        assert batch.plan is not None
        plan = batch.plan
        references = target_ids(plan.target_out, plan.target_mask)
        with evaluation_mode(model):
            memory = model.encoder(batch)
            start = model.start_writer(memory, plan, model.lead(memory, plan)[1])
            source, limits = batch.source[plan.owner], {"max_tokens": self.config.longest_text}
            samples = draw_samples(model.writer, start, source, references, self.symbols, **limits)
        outputs, _ = model.writer(samples.target_in, samples.target_out, samples.mask, state)
        gaps = samples.gap.repeat_interleave(samples.mask.sum(dim=1))
        weighed = gaps * target_log_probs(outputs)
        means = dialogue_means(weighed, samples.mask, plan.owner, len(batch))
        return means.sum(), samples.reward
