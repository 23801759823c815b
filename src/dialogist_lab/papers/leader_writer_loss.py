"""The losses of the Leader-Writer net (KDD 2019, section 3.5, equations 19 to 23)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from dialogist.decoding import DecodingOptions
from dialogist.decoding.beam_search import forced_targets
from dialogist.decoding.generation import PLAN_SYMBOLS, plan_of, plan_options, roll_out
from dialogist.models.base import ModelConfig, Outputs
from dialogist.objectives.base import Loss, ObjectiveConfig, Per, per_sequence
from dialogist.tensors import Batch, Plan
from dialogist.tokenizers import Symbols, Tokenizer
from dialogist_lab.papers.hierarchical import UtteranceDecoderState
from dialogist_lab.papers.hierarchical_encoder import HierarchicalMemory
from dialogist_lab.papers.leader_writer import LeaderWriter
from dialogist_lab.papers.self_critical import (
    Rollouts,
    draw_seed,
    evaluation_mode,
    rollouts,
    target_ids,
)


class LeaderWriterLossConfig(ObjectiveConfig):
    """The weights of equation 23, which sum to one.

    ``key_points`` (alpha_1) and ``sub_summaries`` (alpha_2) weigh cross-entropy,
    ``key_points_reward`` (alpha_3) and ``sub_summaries_reward`` reinforcement, for which sequences
    of at most ``longest_plan`` key points and sub-summaries of ``longest_text`` tokens are sampled.

    ``key_points``: weight of the cross-entropy of key points. ``sub_summaries``: of that of their
    texts. ``key_points_reward``, ``sub_summaries_reward``: weights of reinforcement.
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
        led = model.lead(memory, plan)
        state = model.writer_state(memory, plan, led)
        key_points = -per_sequence(_log_probs(led.outputs), plan.key_points_mask).sum()
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
            state = model.leader_state(model.encoder(batch))
            greedy, sampled = roll_out(
                model.leader, state, rows, plan_options(self._options()), PLAN_SYMBOLS
            )
        references = target_ids(plan.key_points_out, plan.key_points_mask)
        found = rollouts(greedy, sampled, references)
        said = plan_of([h.tokens for h in sampled], device)
        cut = torch.tensor([not h.finished for h in sampled], device=device)
        # The end of a sequence that was cut was not said.
        ends = said.key_points_mask.cumsum(dim=1) == said.key_points_mask.sum(dim=1, keepdim=True)
        said = replace(said, key_points_mask=said.key_points_mask & ~(ends & cut[:, None]))
        log_probs = _log_probs(model.lead(memory, said).outputs)
        means = per_sequence(log_probs, said.key_points_mask)
        return (found.gap.to(means) * means).sum(), found.reward

    def _sub_summaries_policy(
        self, model: LeaderWriter, batch: Batch, state: UtteranceDecoderState
    ) -> tuple[Tensor, float]:
        """Equation 22, summed over the dialogues, under the reference key points."""
        assert batch.plan is not None
        plan, device = batch.plan, batch.source.device
        found = self._roll_writer(model, batch, plan)
        inputs = [t.to(device) for t in forced_targets(found.sampled, self.symbols)]
        said = replace(plan, target_in=inputs[0], target_out=inputs[1], target_mask=inputs[2])
        log_probs = _log_probs(model.write(state, said))
        gaps = found.gap.to(log_probs).repeat_interleave(said.target_mask.sum(dim=1))
        means = per_dialogue(gaps * log_probs, said.target_mask, plan.owner, len(batch))
        return means.sum(), found.reward

    def _roll_writer(self, model: LeaderWriter, batch: Batch, plan: Plan) -> Rollouts:
        rows = torch.arange(len(plan.owner), device=plan.owner.device)
        with evaluation_mode(model), torch.inference_mode():
            memory = model.encoder(batch)
            state = model.writer_state(memory, plan, model.lead(memory, plan))
            found = roll_out(model.writer, state, rows, self._options(), self.symbols)
        return rollouts(*found, target_ids(plan.target_out, plan.target_mask))

    def _options(self) -> DecodingOptions:
        limits = {"max_tokens": self.config.longest_text, "seed": draw_seed()}
        return DecodingOptions(max_key_points=self.config.longest_plan, **limits)


def _log_probs(outputs: Outputs) -> Tensor:
    return outputs.log_probs.of(outputs.targets).target


def per_dialogue(log_probs: Tensor, mask: Tensor, owner: Tensor, dialogues: int) -> Tensor:
    """Log-probabilities at the real positions (M,) of (R, T) -> means over each dialogue, (B,)."""
    of = owner.repeat_interleave(mask.sum(dim=1))  # (M,) the dialogue of each position
    sums = torch.zeros(dialogues, device=log_probs.device).index_add(0, of, log_probs)
    return sums / torch.bincount(of, minlength=dialogues).clamp(min=1)
