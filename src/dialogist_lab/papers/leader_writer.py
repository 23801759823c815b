"""The Leader-Writer net: a plan of key points, a sub-summary for each, its losses (KDD 2019).

The Leader decodes the key-point sequence from the utterances. The Writer decodes each sub-summary,
starting from the Leader's decoded representation of its key point: it holds what was said and the
key points before, so two equal key points differ, which their embedding would not (3.4.3).
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import accumulate
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from dialogist_lab.decoding import DecodingOptions, Hypothesis, State, Symbols, search
from dialogist_lab.models.generator import (
    FIRST_KEY_POINT,
    PLAN_SYMBOLS,
    Batch,
    Generator,
    Outputs,
    Plan,
    RecipeLimits,
    Targets,
)
from dialogist_lab.models.transformer_blocks import DecoderState, MappedEmbedding, initialise_module
from dialogist_lab.papers.hierarchical import (
    HierarchicalConfig,
    HierarchicalEncoder,
    HierarchicalMemory,
    UtteranceDecoder,
)
from dialogist_lab.training.objective import Loss, Objective


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
        written: Outputs = self.writer(batch.plan.texts, state, need_weights)[0]  # equation 15
        return replace(written, attention=memory.attention | written.attention, plan=led)

    def lead(
        self, memory: HierarchicalMemory, plan: Plan, need_weights: bool = False
    ) -> tuple[Outputs, Tensor]:
        """The Leader over given key points (equation 14), and p-hat (B, P, D)."""
        led: tuple[Outputs, Tensor] = self.leader(
            plan.key_points, self.leader.start(memory), need_weights
        )
        return led

    def start_writer(self, memory: HierarchicalMemory, plan: Plan, hidden: Tensor) -> DecoderState:
        """What the Writer starts its R sub-summaries from; ``hidden`` as `lead` gives it."""
        return self.writer.start(memory.select(plan.owner), hidden[plan.owner, plan.place])

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
        start = self.leader.start(memory)
        plans = search(self.leader, start, batch.source, planning, PLAN_SYMBOLS)
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


class LeaderWriterLoss(Objective):
    """Equation 23: four weighed parts, each a mean over one dialogue's predictions.

    End symbols are predictions as well (the paper's sums stop before them, but decoding does not).
    The weights sum to one. ``key_points``: weight of the cross-entropy of key points (alpha_1).
    ``sub_summaries``: of that of their texts (alpha_2). ``key_points_reward``,
    ``sub_summaries_reward``: of reinforcement. ``longest_plan``: key points of a sample at most.
    ``longest_text``: tokens of a sampled text at most.
    """

    kind: Literal["leader-writer"] = "leader-writer"
    key_points: float = Field(0.5, ge=0, le=1)
    sub_summaries: float = Field(0.5, ge=0, le=1)
    key_points_reward: float = Field(0.0, ge=0, le=1)
    sub_summaries_reward: float = Field(0.0, ge=0, le=1)
    longest_plan: int = Field(15, ge=1)
    longest_text: int = Field(50, ge=1)
    per: ClassVar[Literal["token", "dialogue"]] = "dialogue"

    @model_validator(mode="after")
    def _consistent(self) -> "LeaderWriterLoss":
        learned = self.key_points + self.sub_summaries
        total = learned + self.key_points_reward + self.sub_summaries_reward
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the four weights must sum to 1, not {total:g}")
        return self

    def __call__(self, model: LeaderWriter, batch: Batch, symbols: Symbols) -> Loss:
        """``terms``: ``nll`` (the cross-entropies as weighed), each of them, each reward."""
        assert batch.plan is not None, "the batch was made without key points"
        plan = batch.plan
        memory = model.encoder(batch)
        led, hidden = model.lead(memory, plan)
        state = model.start_writer(memory, plan, hidden)
        rows = torch.arange(len(batch), device=batch.source.device)
        parts = (
            (target_log_probs(led), plan.key_points.mask, rows),
            (target_log_probs(model.writer(plan.texts, state)[0]), plan.texts.mask, plan.owner),
        )
        key_points, sub_summaries = (-dialogue_means(*part, len(batch)).sum() for part in parts)
        value = self.key_points * key_points + self.sub_summaries * sub_summaries
        losses = {"nll": value, "key_points": key_points, "sub_summaries": sub_summaries}
        terms = {name: float(loss.detach()) for name, loss in losses.items()}
        if model.training and self.key_points_reward:
            policy, reward = self._key_points_policy(model, batch, plan, memory)
            value = value + self.key_points_reward * policy
            terms["key_points_reward"] = reward * len(batch)
        if model.training and self.sub_summaries_reward:
            policy, reward = self._sub_summaries_policy(model, batch, plan, state, symbols)
            value = value + self.sub_summaries_reward * policy
            terms["sub_summaries_reward"] = reward * len(batch)
        return Loss(value, len(batch), terms)

    def _key_points_policy(
        self, model: LeaderWriter, batch: Batch, plan: Plan, memory: HierarchicalMemory
    ) -> tuple[Tensor, float]:
        """Equation 21, summed over the dialogues; and the samples' mean reward."""
        references = target_ids(plan.key_points)
        with evaluation_mode(model):
            start = model.leader.start(model.encoder(batch))
            limits = {"max_tokens": self.longest_plan, "min_tokens": 1}
            samples = draw_samples(
                model.leader, start, batch.source, references, PLAN_SYMBOLS, **limits
            )
        outputs, _ = model.leader(samples.targets, model.leader.start(memory))
        rows = torch.arange(len(batch), device=batch.source.device)
        means = dialogue_means(target_log_probs(outputs), samples.targets.mask, rows, len(batch))
        return (samples.gap * means).sum(), samples.reward

    def _sub_summaries_policy(
        self,
        model: LeaderWriter,
        batch: Batch,
        plan: Plan,
        state: DecoderState,
        symbols: Symbols,
    ) -> tuple[Tensor, float]:
        """Equation 22, summed over the dialogues, under the reference key points."""
        references = target_ids(plan.texts)
        with evaluation_mode(model):
            memory = model.encoder(batch)
            start = model.start_writer(memory, plan, model.lead(memory, plan)[1])
            source, limits = batch.source[plan.owner], {"max_tokens": self.longest_text}
            samples = draw_samples(model.writer, start, source, references, symbols, **limits)
        outputs, _ = model.writer(samples.targets, state)
        gaps = samples.gap.repeat_interleave(samples.targets.mask.sum(dim=1))
        weighed = gaps * target_log_probs(outputs)
        means = dialogue_means(weighed, samples.targets.mask, plan.owner, len(batch))
        return means.sum(), samples.reward


# Self-critical policy gradient (Rennie et al. 2017; Paulus et al. 2018, equation 15): what the
# model writes greedily is the baseline of what it writes at random. A sample whose ROUGE-L is
# higher becomes more probable, one whose is lower less.


def rouge_l(candidate: Sequence[int], reference: Sequence[int]) -> float:
    """ROUGE-L F1, 0 to 1: the harmonic mean of precision and recall (Lin 2004, section 3).

    The longest common subsequence is counted in the bits of one number (Hyyrö 2004).
    """
    places: dict[int, int] = defaultdict(int)
    for i, token in enumerate(candidate):
        places[token] |= 1 << i
    row = full = (1 << len(candidate)) - 1
    for token in reference:
        matches = row & places[token]
        row = ((row + matches) | (row - matches)) & full
    common = (row ^ full).bit_count()
    return 2 * common / max(1, len(candidate) + len(reference))


def target_ids(targets: Targets) -> list[list[int]]:
    """The N sequences up to each row's end symbol."""
    lengths = targets.mask.sum(dim=1).tolist()
    return [ids[: n - 1] for ids, n in zip(targets.labels.tolist(), lengths, strict=True)]


class Samples(NamedTuple):
    """One sampled text for each of N rows; one that was cut has no end symbol."""

    gap: Tensor  # (N,) how much better the greedy text is, each by its ROUGE-L
    reward: float  # the samples' mean
    targets: Targets


def draw_samples(
    model: Any,
    state: State,
    source: Tensor,
    references: Sequence[list[int]],
    symbols: Symbols,
    **limits: int,
) -> Samples:
    """Write each row greedily and at random; ``model`` has a ``step``, for which ``state`` is.

    ``limits``: of `DecodingOptions`.
    """
    hypotheses: dict[str, list[Hypothesis]] = {}
    for strategy in ("greedy", "sample"):
        options = DecodingOptions.parse({"strategy": strategy, **limits})
        hypotheses[strategy] = search(model, state, source, options, symbols)
    rewards = {
        strategy: torch.tensor(
            [rouge_l(h.tokens, r) for h, r in zip(texts, references, strict=True)],
            device=source.device,
        )
        for strategy, texts in hypotheses.items()
    }
    samples = hypotheses["sample"]
    texts = [(symbols.bos, *h.tokens, *[symbols.eos] * h.finished) for h in samples]
    targets = Targets.of(texts, symbols).to(source.device)
    gap = rewards["greedy"] - rewards["sample"]
    return Samples(gap, float(rewards["sample"].mean()), targets)


@contextmanager
def evaluation_mode(model: nn.Module) -> Iterator[None]:
    """While a model is searched in training: evaluation mode, no gradients, and back."""
    model.eval()
    with torch.no_grad():
        yield
    model.train()


def dialogue_means(log_probs: Tensor, mask: Tensor, owner: Tensor, dialogues: int) -> Tensor:
    """Values at real positions (M,) of (N, T), ``owner`` (N,) of each row -> means (B,)."""
    of = owner.repeat_interleave(mask.sum(dim=1))  # (M,) the dialogue of each position
    sums = torch.zeros(dialogues, device=log_probs.device).index_add(0, of, log_probs)
    return sums / torch.bincount(of, minlength=dialogues).clamp(min=1)


def target_log_probs(outputs: Outputs) -> Tensor:
    """(M,) of what shall be written."""
    return outputs.log_probs.of(outputs.targets).target
