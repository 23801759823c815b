"""Self-critical policy gradient: ROUGE-L of sampled summaries as the reward.

Liu et al., KDD 2019, equations 21 and 22; Rennie et al. 2017; Paulus et al. 2018, equation 15.
What the model writes greedily is the baseline of what it writes at random: a sample that scores
higher becomes more probable, one that scores lower less.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from dialogist_lab.decoding import DecodingOptions, Hypothesis, State, Symbols, search
from dialogist_lab.models.generator import Outputs, forced


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
    targets = (part.to(source.device) for part in forced(texts, symbols))
    gap = rewards["greedy"] - rewards["sample"]
    return Samples(gap, float(rewards["sample"].mean()), *targets)


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
