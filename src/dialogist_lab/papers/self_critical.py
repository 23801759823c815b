"""Self-critical policy gradient: ROUGE-L of sampled summaries as the reward.

Liu et al., KDD 2019, equations 21 and 22; Rennie et al. 2017; Paulus et al. 2018, equation 15.
What the model writes greedily is the baseline of what it writes at random: a sample that scores
higher becomes more probable, one that scores lower less.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from dialogist_lab.decoding import DecodingOptions, Hypothesis, State, Symbols, search
from dialogist_lab.models.generator import Batch, Generator, Outputs
from dialogist_lab.training.objective import Loss, ObjectiveConfig, Per


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


def target_ids(target_out: Tensor, mask: Tensor) -> list[list[int]]:
    """The sequences (N, T) up to each row's end symbol."""
    lengths = mask.sum(dim=1).tolist()
    return [ids[: n - 1] for ids, n in zip(target_out.tolist(), lengths, strict=True)]


class Samples(NamedTuple):
    """One sampled text for each of N rows, as what a decoder shall be forced to write."""

    gap: Tensor  # (N,) how much better the greedy text is, each by its ROUGE-L
    reward: float  # the samples' mean
    target_in: Tensor  # (N, T)
    target_out: Tensor  # (N, T); a sample that was cut has no end symbol
    mask: Tensor  # (N, T)


def draw_samples(
    model: Any, state: State, source: Tensor, references: Sequence[list[int]], search_by: "Sampling"
) -> Samples:
    """Write each row greedily and at random; ``model`` has a ``step``, for which ``state`` is."""
    symbols = search_by.symbols
    hypotheses: dict[str, list[Hypothesis]] = {}
    for strategy in ("greedy", "sample"):
        options = DecodingOptions(
            strategy=strategy, max_tokens=search_by.max_tokens, min_tokens=search_by.min_tokens
        )
        hypotheses[strategy] = search(model, state, source, options, symbols)
    rewards = {
        strategy: torch.tensor(
            [rouge_l(h.tokens, r) for h, r in zip(texts, references, strict=True)],
            device=source.device,
        )
        for strategy, texts in hypotheses.items()
    }
    samples = hypotheses["sample"]
    ids = [[*h.tokens, *([symbols.eos] if h.finished else [])] for h in samples]
    longest = max(map(len, ids))
    padded = [[*row, *[symbols.pad] * (longest - len(row))] for row in ids]
    out = torch.tensor(padded, device=source.device)
    first = torch.full_like(out[:, :1], symbols.bos)
    known = out.masked_fill(out >= symbols.size, symbols.unk)  # no table has a row for the others
    lengths = torch.tensor([len(row) for row in ids], device=source.device)
    return Samples(
        rewards["greedy"] - rewards["sample"],
        float(rewards["sample"].mean()),
        torch.cat([first, known[:, :-1]], dim=1),
        out,
        torch.arange(longest, device=source.device) < lengths[:, None],
    )


class Sampling(NamedTuple):
    """How samples are drawn."""

    symbols: Symbols
    max_tokens: int
    min_tokens: int = 0


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


class SelfCriticalConfig(ObjectiveConfig):
    """Options of the self-critical objective.

    The loss is (1 - ``weight``) * cross-entropy + ``weight`` * reinforcement (Paulus et al. 2018,
    equation 16), both as means over a dialogue's tokens. ``max_tokens``: the longest sample.
    """

    kind: Literal["self-critical"] = "self-critical"
    weight: float = Field(0.5, ge=0, le=1)
    max_tokens: int = Field(100, ge=1)

    def build(self, symbols: Symbols) -> "SelfCritical":
        return SelfCritical(self.weight, Sampling(symbols, self.max_tokens))


class SelfCritical:
    """Cross-entropy and reinforcement of a `Generator` that writes in one piece."""

    per: Per = "dialogue"

    def __init__(self, weight: float, sampling: Sampling) -> None:
        self.weight, self.sampling = weight, sampling

    def __call__(self, model: Generator, batch: Batch) -> Loss:
        """``terms``: ``nll`` per token of each dialogue, ``reward`` of the samples (at most 1)."""
        rows = torch.arange(len(batch), device=batch.source.device)
        log_probs = target_log_probs(model(batch))
        nll = -dialogue_means(log_probs, batch.target_mask, rows, len(batch)).sum()
        terms = {"nll": float(nll.detach())}
        if not model.training or not self.weight:
            return Loss(nll, len(batch), terms)
        references = target_ids(batch.target_out, batch.target_mask)
        with evaluation_mode(model):
            state = model.start(batch)
            samples = draw_samples(model, state, batch.source, references, self.sampling)
        forced = batch.with_targets(samples.target_in, samples.target_out, samples.mask)
        log_probs = target_log_probs(model(forced))
        policy = samples.gap * dialogue_means(log_probs, samples.mask, rows, len(batch))
        terms["reward"] = samples.reward * len(batch)
        value = (1 - self.weight) * nll + self.weight * policy.sum()
        return Loss(value, len(batch), terms)
