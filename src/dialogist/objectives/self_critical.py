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
from dialogist.decoding.generate import roll_out
from dialogist.decoding.options import DecodingOptions
from dialogist.decoding.search import Hypothesis, fed
from dialogist.metrics.lcs import rouge_l
from dialogist.models.base import GeneratorModule
from dialogist.objectives.base import Loss, Per
from dialogist.tokenizers import Symbols

LARGEST_SEED = 1 << 62


class SelfCriticalConfig(Config):
    """Options of the self-critical objective.

    The loss is (1 - ``weight``) * cross-entropy + ``weight`` * reinforcement (Paulus et al. 2018,
    equation 16), both as means over a dialogue's tokens. ``max_tokens`` bounds samples.
    """

    kind: Literal["self-critical"] = "self-critical"
    weight: float = Field(0.5, ge=0, le=1)
    max_tokens: int = Field(100, ge=1)

    def build(self, symbols: Symbols) -> "SelfCritical":
        """The objective."""
        return SelfCritical(self, symbols)


@dataclass(frozen=True, slots=True)
class Rollouts:
    """What a model said greedily and at random, and how much better the greedy was.

    Attributes:
        sampled: N samples. gap: (N,) R(greedy) - R(sampled), each a ROUGE-L F1 in 0 .. 1.
        reward: the samples' mean reward.
    """

    sampled: Sequence[Hypothesis]
    gap: Tensor
    reward: float


def rollouts(
    greedy: Sequence[Hypothesis], sampled: Sequence[Hypothesis], references: Sequence[Sequence[int]]
) -> Rollouts:
    """Score N pairs of hypotheses against their references."""
    wanted = [list(ids) for ids in references]
    rewards = rouge_l([list(h.tokens) for h in sampled], wanted)
    baseline = rouge_l([list(h.tokens) for h in greedy], wanted)
    return Rollouts(sampled, baseline - rewards, float(rewards.mean()))


def references_of(target_out: Tensor, mask: Tensor) -> list[list[int]]:
    """The sequences (N, T) that end at each row's last real position, without the end symbol."""
    lengths = mask.sum(dim=1).tolist()
    return [ids[: n - 1] for ids, n in zip(target_out.tolist(), lengths, strict=True)]


def sampled_targets(
    sampled: Sequence[Hypothesis], symbols: Symbols
) -> tuple[Tensor, Tensor, Tensor]:
    """Samples as a decoder's input, output and mask (N, T); a cut one has no end symbol."""
    said = [[*h.tokens, *([symbols.eos] if h.finished else [])] for h in sampled]
    longest = max(map(len, said))
    out = torch.tensor([[*ids, *[symbols.pad] * (longest - len(ids))] for ids in said])
    first = torch.full((len(said), 1), symbols.bos)
    mask = torch.arange(longest) < torch.tensor([len(ids) for ids in said])[:, None]
    return fed(torch.cat([first, out[:, :-1]], dim=1), symbols), out, mask


def chance() -> int:
    """A seed for samplers, drawn from torch's generator: part of what makes a run repeatable."""
    return int(torch.randint(LARGEST_SEED, ()))


class SelfCritical:
    """Cross-entropy and reinforcement of a `Generator`."""

    per: Per = "dialogue"

    def __init__(self, config: SelfCriticalConfig, symbols: Symbols) -> None:
        self.config = config
        self.symbols = symbols

    def __call__(self, model: GeneratorModule, batch: Batch) -> Loss:
        """``terms``: ``nll`` per token of each dialogue, ``reward`` of the samples (0 .. 1)."""
        outputs = model.forward(batch)
        log_probs = outputs.log_probs.of(outputs.targets).target
        nll = -per_sequence(log_probs, batch.target_mask).sum()
        terms = {"nll": float(nll.detach())}
        if not model.training or not self.config.weight:
            return Loss(nll, len(batch), terms)
        found = self._roll(model, batch)
        inputs = [t.to(batch.source.device) for t in sampled_targets(found.sampled, self.symbols)]
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
        return rollouts(greedy, sampled, references_of(batch.target_out, batch.target_mask))


class rolling:
    """While a model is searched in training: evaluation mode, and back."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    def __enter__(self) -> None:
        self.model.eval()

    def __exit__(self, *_: object) -> None:
        self.model.train()


def per_sequence(log_probs: Tensor, mask: Tensor) -> Tensor:
    """Log-probabilities at the real positions (M,) of (N, T) -> each row's mean, (N,)."""
    counts = mask.sum(dim=1)
    rows = torch.arange(len(counts), device=mask.device).repeat_interleave(counts)
    sums = torch.zeros(len(counts), device=log_probs.device).index_add(0, rows, log_probs)
    return sums / counts.clamp(min=1)
