"""Self-critical policy gradient with ROUGE-L as the reward.

Liu et al., KDD 2019, equations 21 and 22; Rennie et al. 2017; Paulus et al. 2018, equation 15. What
the model says greedily is the baseline of what it says at random: a sample that scores higher
becomes more probable, one that scores lower less.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from dialogist.batch import Batch
from dialogist.config import Config
from dialogist.decoding.forced import targets_of
from dialogist.decoding.generate import roll_out
from dialogist.decoding.options import DecodingOptions
from dialogist.decoding.search import Hypothesis
from dialogist.metrics.lcs import rouge_l
from dialogist.models.base import GeneratorModule
from dialogist.objectives.base import Loss, Per
from dialogist.objectives.sequences import per_sequence
from dialogist.objectives.support import Unsupported
from dialogist.tokenizers import Symbols, Tokenizer

LARGEST_SEED = 1 << 62


class SelfCriticalConfig(Config):
    """Options of the self-critical objective.

    The loss is (1 - ``weight``) * cross-entropy + ``weight`` * reinforcement (Paulus et al. 2018,
    equation 16), both as means over a dialogue's tokens. ``max_tokens`` bounds samples.
    ``unsupported``: what the reward, a ROUGE-L of 0 to 1, loses for each name, speaker, number or
    other entity that the dialogue does not bear out (`dialogist.objectives.support`).
    """

    kind: Literal["self-critical"] = "self-critical"
    weight: float = Field(0.5, ge=0, le=1)
    max_tokens: int = Field(100, ge=1)
    unsupported: float = Field(0.0, ge=0, le=10)

    def build(self, symbols: Symbols, tokenizer: Tokenizer | None = None) -> "SelfCritical":
        """The objective; ``unsupported`` needs the tokenizer."""
        if not self.unsupported:
            return SelfCritical(self, symbols)
        assert tokenizer is not None
        return SelfCritical(self, symbols, Unsupported(tokenizer))


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What a model said greedily and at random, and how much better the greedy was.

    Attributes:
        sampled: N samples. gap: (N,) R(greedy) - R(sampled), each a ROUGE-L F1 in 0 .. 1 less what
            it is fined.
        reward: the samples' mean reward.
    """

    sampled: Sequence[Hypothesis]
    gap: Tensor
    reward: float


def rollouts(
    greedy: Sequence[Hypothesis],
    sampled: Sequence[Hypothesis],
    references: Sequence[Sequence[int]],
    fines: tuple[Tensor, Tensor] | None = None,
) -> Rollouts:
    """Score N pairs of hypotheses against references; ``fines`` (N,) of both are taken off."""
    wanted = [list(ids) for ids in references]
    rewards = rouge_l([list(h.tokens) for h in sampled], wanted)
    baseline = rouge_l([list(h.tokens) for h in greedy], wanted)
    if fines is not None:
        baseline, rewards = baseline - fines[0].to(baseline), rewards - fines[1].to(rewards)
    return Rollouts(sampled, baseline - rewards, float(rewards.mean()))


def references_of(target_out: Tensor, mask: Tensor) -> list[list[int]]:
    """The sequences (N, T) that end at each row's last real position, without the end symbol."""
    lengths = mask.sum(dim=1).tolist()
    return [ids[: n - 1] for ids, n in zip(target_out.tolist(), lengths, strict=True)]


def chance() -> int:
    """A seed for samplers, drawn from torch's generator: part of what makes a run repeatable."""
    return int(torch.randint(LARGEST_SEED, ()))


class SelfCritical:
    """Cross-entropy and reinforcement of a `Generator`."""

    per: Per = "dialogue"

    def __init__(
        self, config: SelfCriticalConfig, symbols: Symbols, unsupported: Unsupported | None = None
    ) -> None:
        self.config = config
        self.symbols = symbols
        self.unsupported = unsupported

    def __call__(self, model: GeneratorModule, batch: Batch) -> Loss:
        """``terms``: ``nll`` per token of each dialogue, ``reward`` of the samples (at most 1)."""
        outputs = model.forward(batch)
        log_probs = outputs.log_probs.of(outputs.targets).target
        nll = -per_sequence(log_probs, batch.target_mask).sum()
        terms = {"nll": float(nll.detach())}
        if not model.training or not self.config.weight:
            return Loss(nll, len(batch), terms)
        found = self._roll(model, batch)
        inputs = [t.to(batch.source.device) for t in targets_of(found.sampled, self.symbols)]
        again = model.forward(batch.with_targets(*inputs))
        log_probs = again.log_probs.of(again.targets).target
        policy = (found.gap.to(log_probs) * per_sequence(log_probs, inputs[2])).sum()
        terms["reward"] = found.reward * len(batch)
        value = (1 - self.config.weight) * nll + self.config.weight * policy
        return Loss(value, len(batch), terms)

    def _roll(self, model: GeneratorModule, batch: Batch) -> Rollouts:
        options = DecodingOptions(max_tokens=self.config.max_tokens, seed=chance())
        rows = torch.arange(len(batch), device=batch.source.device)
        with rolling(model), torch.inference_mode():
            greedy, sampled = roll_out(model, model.start(batch), rows, options, self.symbols)
        references = references_of(batch.target_out, batch.target_mask)
        if self.unsupported is None:
            return rollouts(greedy, sampled, references)
        price = self.config.unsupported
        fines = tuple(price * self.unsupported(batch, said) for said in (greedy, sampled))
        return rollouts(greedy, sampled, references, (fines[0], fines[1]))


class rolling:
    """While a model is searched in training: evaluation mode, and back."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __enter__(self) -> None:
        self.model.eval()

    def __exit__(self, *_: object) -> None:
        self.model.train()
