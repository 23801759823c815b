"""Greedy search and sampling, and the roles that beam search shares with them.

Every loop is: step -> filter -> choose -> stop?  Rows that are finished leave the batch. A row's
outcome never depends on its neighbours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dialogist.batch import Batch
from dialogist.decoding.filters import Filter, ForbidTokens, MinimumLength, NoRepeatNgram
from dialogist.decoding.options import DecodingOptions
from dialogist.models.base import Generator


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One summary as token ids, begin and end symbols left out.

    ``log_prob`` is the sum over its tokens (and its end symbol, if ``finished``); ``score`` ranks
    hypotheses: the length-normalised sum for beam search, the sum otherwise. ``finished`` is
    False when the length limit cut it.
    """

    tokens: tuple[int, ...]
    log_prob: float
    score: float
    finished: bool

    @property
    def mean_log_prob(self) -> float:
        """Per predicted token, the end symbol counted."""
        return self.log_prob / max(1, len(self.tokens) + int(self.finished))


@dataclass(frozen=True, slots=True)
class Symbols:
    """The control ids search needs."""

    pad: int
    bos: int
    eos: int


def standard_filters(options: DecodingOptions, symbols: Symbols) -> list[Filter]:
    """The filters that the options ask for."""
    filters: list[Filter] = [ForbidTokens((symbols.pad, symbols.bos))]
    if options.min_tokens:
        filters.append(MinimumLength(options.min_tokens, symbols.eos))
    if options.no_repeat_ngram:
        filters.append(NoRepeatNgram(options.no_repeat_ngram))
    return filters


def filtered(log_probs: Tensor, prefix: Tensor, owner: Tensor, filters: Sequence[Filter]) -> Tensor:
    """Apply filters in turn to a copy of (N, X)."""
    result = log_probs.clone()
    for rule in filters:
        result = rule(result, prefix, owner)
    return result


class Greedy:
    """The most probable token (ties: the lowest id)."""

    def __call__(self, scores: Tensor, owner: Tensor) -> Tensor:
        """(N, X) -> (N,)."""
        return scores.argmax(dim=1)


class Sampling:
    """A random token after temperature, top-k (Fan et al. 2018), nucleus (Holtzman et al. 2020).

    Each dialogue has a generator of its own, so its summary is the same in any batch.
    """

    def __init__(self, options: DecodingOptions, dialogues: int) -> None:
        self.options = options
        self.chances = [torch.Generator().manual_seed(options.seed) for _ in range(dialogues)]

    def __call__(self, scores: Tensor, owner: Tensor) -> Tensor:
        """(N, X) -> (N,), one uniform draw per row against the cumulated distribution."""
        kept, tokens = (scores / self.options.temperature).sort(dim=1, descending=True, stable=True)
        if self.options.top_k:
            kept[:, self.options.top_k :] = float("-inf")
        probabilities = kept.softmax(dim=1)
        before = probabilities.cumsum(dim=1) - probabilities
        probabilities[before >= self.options.top_p] = 0.0  # the first is always kept
        cumulated = probabilities.cumsum(dim=1)
        draws = torch.stack([torch.rand(1, generator=self.chances[i]) for i in owner.tolist()])
        goal = draws.to(cumulated) * cumulated[:, -1:]
        place = torch.searchsorted(cumulated, goal, right=True).clamp_(max=scores.shape[1] - 1)
        return tokens.gather(1, place)[:, 0]


def search_rows(
    model: Generator,
    batch: Batch,
    options: DecodingOptions,
    symbols: Symbols,
    filters: Sequence[Filter],
) -> list[list[Hypothesis]]:
    """Greedy search or sampling: one hypothesis for each of B dialogues."""
    choose = Greedy() if options.strategy == "greedy" else Sampling(options, len(batch))
    state = model.start(batch)
    owner = torch.arange(len(batch), device=batch.source.device)
    tokens = torch.full_like(owner, symbols.bos)
    prefix = tokens.new_empty((len(batch), 0))
    sums = torch.zeros(len(batch), device=owner.device)
    done: dict[int, Hypothesis] = {}
    while len(owner):
        log_probs, state = model.step(tokens, state)
        tokens = choose(filtered(log_probs, prefix, owner, filters), owner)
        sums = sums + log_probs.gather(1, tokens[:, None])[:, 0]
        ended = tokens == symbols.eos
        prefix = torch.cat([prefix, tokens[:, None]], dim=1)
        leaving = ended | (prefix.shape[1] >= options.max_tokens)
        for row in leaving.nonzero()[:, 0].tolist():
            finished = bool(ended[row])
            said = prefix[row, : prefix.shape[1] - int(finished)].tolist()
            total = float(sums[row])
            done[int(owner[row])] = Hypothesis(tuple(said), total, total, finished)
        if leaving.any():
            staying = (~leaving).nonzero()[:, 0]
            state = state.select(staying)
            tokens, prefix, sums, owner = (t[staying] for t in (tokens, prefix, sums, owner))
    return [[done[i]] for i in range(len(batch))]
