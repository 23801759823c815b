"""Greedy search and sampling, and the roles that beam search shares with them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dialogist.decoding import DecodingOptions, check_stopped
from dialogist.decoding.constraints import (
    Filter,
    ForbidTokens,
    MinimumLength,
    NoRepeatNgram,
    PlanPrefix,
    RepetitionPenalty,
)
from dialogist.decoding.word_constraints import WholeCharacters
from dialogist.models.base import Stepper
from dialogist.nn.kv_cache import State
from dialogist.tokenizers import Symbols

# Every loop is: step -> filter -> choose -> stop?  Rows that are finished leave the batch. A row's
# outcome never depends on its neighbours.


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


def standard_filters(options: DecodingOptions, symbols: Symbols) -> list[Filter]:
    """The filters that the options ask for, and those of plans and of parts of characters.

    The last two stand where the tokenizer has such tokens.
    """
    plan, characters = symbols.plan, symbols.characters
    filters: list[Filter] = [ForbidTokens((symbols.pad, symbols.bos))]
    if plan is not None:
        filters.append(PlanPrefix.of(plan, symbols.eos, options))
    if options.min_tokens:
        filters.append(MinimumLength(options.min_tokens, symbols.eos, plan))
    if options.repetition_penalty > 1:
        filters.append(RepetitionPenalty(options.repetition_penalty, plan))
    if options.no_repeat_ngram:
        free = symbols.inside | characters.later
        filters.append(NoRepeatNgram(options.no_repeat_ngram, plan, free))
    if characters.parts:
        filters.append(WholeCharacters(characters, symbols.size, options.max_tokens))
    return filters


def apply_constraints(
    log_probs: Tensor, prefix: Tensor, owner: Tensor, filters: Sequence[Filter]
) -> Tensor:
    """Apply filters in turn to (N, X), which they may change."""
    for rule in filters:
        log_probs = rule(log_probs, prefix, owner)
    return log_probs


Chooser = Callable[[Tensor, Tensor], Tensor]
"""From scores (N, X) and each row's dialogue (N,) to tokens (N,)."""


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
        if not self.options.top_k and self.options.top_p == 1:  # then the order does not matter
            return self._draw((scores / self.options.temperature).softmax(dim=1), owner)
        kept, tokens = (scores / self.options.temperature).sort(dim=1, descending=True, stable=True)
        if self.options.top_k:
            kept[:, self.options.top_k :] = float("-inf")
        probabilities = kept.softmax(dim=1)
        before = probabilities.cumsum(dim=1) - probabilities
        probabilities[before >= self.options.top_p] = 0.0  # the first is always kept
        return tokens.gather(1, self._draw(probabilities, owner)[:, None])[:, 0]

    def _draw(self, probabilities: Tensor, owner: Tensor) -> Tensor:
        """(N, X) that need not sum to one -> (N,) columns."""
        cumulated = probabilities.cumsum(dim=1)
        draws = torch.stack([torch.rand(1, generator=self.chances[i]) for i in owner.tolist()])
        goal = draws.to(cumulated) * cumulated[:, -1:]
        found = torch.searchsorted(cumulated, goal, right=True)
        return found.clamp_(max=probabilities.shape[1] - 1)[:, 0]


class GreedyAndSample:
    """Of ``count`` texts, each twice: the first time greedily, the second time at random."""

    def __init__(self, options: DecodingOptions, count: int) -> None:
        self.count = count
        self.sampling = Sampling(options, 2 * count)

    def __call__(self, scores: Tensor, owner: Tensor) -> Tensor:
        """(N, X) -> (N,)."""
        tokens = scores.argmax(dim=1)
        random = owner >= self.count
        if random.any():
            tokens[random] = self.sampling(scores[random], owner[random])
        return tokens


def as_input(tokens: Tensor, symbols: Symbols) -> Tensor:
    """What a model is fed for chosen tokens (N,): a copied unknown word is the unknown token."""
    return tokens.masked_fill(tokens >= symbols.size, symbols.unk)


@dataclass(frozen=True, slots=True)
class RowSearch:
    """One hypothesis for each dialogue, token by token as ``choose`` says."""

    options: DecodingOptions
    symbols: Symbols
    filters: Sequence[Filter]
    choose: Chooser

    def search(self, model: Stepper, state: State, owner: Tensor) -> list[list[Hypothesis]]:
        """``state`` has B rows, ``owner`` (B,) counts them; later it is those that go on."""
        tokens = torch.full_like(owner, self.symbols.bos)
        prefix = tokens.new_empty((len(owner), 0))
        sums = torch.zeros(len(owner), device=owner.device)
        done: dict[int, Hypothesis] = {}
        while len(owner):
            check_stopped()
            log_probs, state = model.step(as_input(tokens, self.symbols), state)
            tokens = self.choose(
                apply_constraints(log_probs.clone(), prefix, owner, self.filters), owner
            )
            sums = sums + log_probs.gather(1, tokens[:, None])[:, 0]
            ended = tokens == self.symbols.eos
            prefix = torch.cat([prefix, tokens[:, None]], dim=1)
            leaving = ended | (prefix.shape[1] >= self.options.max_tokens)
            for row in leaving.nonzero()[:, 0].tolist():
                finished = bool(ended[row])
                said = prefix[row, : prefix.shape[1] - int(finished)].tolist()
                total = float(sums[row])
                done[int(owner[row])] = Hypothesis(tuple(said), total, total, finished)
            if leaving.any():
                staying = (~leaving).nonzero()[:, 0]
                state = state.select(staying)
                tokens, prefix, sums, owner = (t[staying] for t in (tokens, prefix, sums, owner))
        return [[done[i]] for i in range(len(done))]
