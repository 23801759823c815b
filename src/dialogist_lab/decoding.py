"""Search: greedy, at random, and with a beam, over whatever has a `step`.

The loops only do *step -> filter -> choose -> stop?*. A dialogue's outcome never depends on its
neighbours in the batch, and dialogues that are finished leave it.

N rows of search are A dialogues times K beams; X is the vocabulary and what can be copied.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol, Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from dialogist.config import Config

NEVER = float("-inf")


class State(Protocol):
    """What a model carries from step to step for N rows (keys and values, recurrent cells ...)."""

    def select(self, rows: Tensor) -> Self:
        """The given rows (M,) in the given order: beam start, reordering, dropping the finished."""


class Stepper(Protocol):
    """What search needs: the next token's distribution, and what to carry on."""

    def step(self, tokens: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Feed one token per row (N,); return log-probabilities (N, X) of the next, and state."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A `State` of tensors (N, ...), such states, tuples of both, and what is the same for all."""

    def select(self, rows: Tensor) -> Self:
        """The given rows (M,) in the given order."""
        parts = {f.name: _rows_of(getattr(self, f.name), rows) for f in fields(self)}
        return replace(self, **parts)


def _rows_of(part: Any, rows: Tensor) -> Any:
    if isinstance(part, Tensor):
        return part[rows]
    if isinstance(part, tuple):
        return tuple(_rows_of(each, rows) for each in part)
    return part.select(rows) if hasattr(part, "select") else part


@dataclass(frozen=True, slots=True)
class Symbols:
    """The ids that mean something to search and batches.

    ``size`` is V: ids from there on are unknown words of one dialogue, in order of appearance,
    which a pointer can copy. No table has a row for them: whoever looks ids up reads ``unk``.
    ``placeholders`` stand for speakers and entities: only those of the source can be written.
    """

    pad: int
    unk: int
    bos: int
    eos: int
    size: int
    placeholders: tuple[int, ...] = ()

    def known(self, ids: Tensor) -> Tensor:
        """The unknown token for words that are told apart: what a table can be asked for."""
        return ids.masked_fill(ids >= self.size, self.unk)


class DecodingOptions(Config):
    """Options of search.

    ``strategy``: how tokens are chosen; ``sample`` draws from torch's generator. ``beam_size``:
    hypotheses of beam search. ``length_penalty``: alpha of Wu et al. 2016, equation 14; hypotheses
    are ranked by log p / ((5 + length) / 6)^alpha. ``no_repeat_ngram``: no n-gram of so many tokens
    occurs twice (Paulus et al. 2018, section 2.5; 0: off). ``min_tokens``, ``max_tokens``: lengths
    without the end symbol. ``max_key_points``: the most key points of models that plan first;
    their other options hold for the text of each.
    """

    strategy: Literal["greedy", "beam", "sample"] = "beam"
    beam_size: int = Field(4, ge=1, le=1024)
    length_penalty: float = Field(1.0, ge=0, le=10)
    no_repeat_ngram: int = Field(0, ge=0, le=64)
    min_tokens: int = Field(0, ge=0)
    max_tokens: int = Field(100, ge=1)
    max_key_points: int = Field(15, ge=1)

    @model_validator(mode="after")
    def _consistent(self) -> "DecodingOptions":
        if self.min_tokens > self.max_tokens:
            raise ValueError(f"'min_tokens' {self.min_tokens} exceeds 'max_tokens'")
        return self


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One summary as token ids, begin and end symbols left out.

    Of models that plan, part ``i`` of the text is ``tokens[ends[i - 1]:ends[i]]``.
    """

    tokens: tuple[int, ...]
    log_prob: float  # the sum over its tokens (and its end symbol, if ``finished``)
    score: float  # ranks hypotheses: the sum, with a beam normalised by the length
    finished: bool  # False: the length limit cut it
    key_points: tuple[int, ...] = ()  # the labels' numbers in the rule pack
    ends: tuple[int, ...] = ()


@torch.no_grad()
def search(
    model: Stepper, state: State, source: Tensor, options: DecodingOptions, symbols: Symbols
) -> list[Hypothesis]:
    """The best hypothesis for each of B rows that ``state`` stands for.

    ``source`` is (B, S), the ids that each row may take placeholders from.
    """
    rules = _Rules(options, symbols, source)
    if options.strategy == "beam":
        return _beam_search(model, state, rules)
    owner = torch.arange(len(source), device=source.device)  # the dialogue of each row
    tokens = torch.full_like(owner, symbols.bos)
    prefix = tokens.new_empty((len(owner), 0))
    sums = torch.zeros(len(owner), device=owner.device)
    done: dict[int, Hypothesis] = {}
    while len(owner):
        log_probs, state = model.step(symbols.known(tokens), state)
        scores = rules.apply(log_probs, prefix, owner)
        if options.strategy == "greedy":
            tokens = scores.argmax(dim=1)
        else:
            tokens = torch.multinomial(torch.softmax(scores, dim=1), 1)[:, 0]
        sums = sums + log_probs.gather(1, tokens[:, None])[:, 0]
        ended = tokens == symbols.eos
        prefix = torch.cat([prefix, tokens[:, None]], dim=1)
        leaving = ended | (prefix.shape[1] >= options.max_tokens)
        for row in leaving.nonzero()[:, 0].tolist():
            finished, total = bool(ended[row]), float(sums[row])
            written = prefix[row, : prefix.shape[1] - int(finished)].tolist()
            done[int(owner[row])] = Hypothesis(tuple(written), total, total, finished)
        if leaving.any():
            staying = (~leaving).nonzero()[:, 0]
            state = state.select(staying)
            tokens, prefix, sums, owner = (t[staying] for t in (tokens, prefix, sums, owner))
    return [done[i] for i in range(len(done))]


def length_normaliser(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha: Wu et al. 2016, equation 14; length counts the end symbol."""
    return float(((5 + length) / 6) ** alpha)


def _beam_search(model: Stepper, state: State, rules: "_Rules") -> list[Hypothesis]:
    """Numbered as in the loop: (1) step and filter, (2) the best 2K extensions of each dialogue,
    (3) those that end are compared with the best so far, (4) the best K others go on, (5) dialogues
    that no unfinished row can improve leave: sums only fall, so that is exact.
    """
    options, symbols, device = rules.options, rules.symbols, rules.device
    width, alpha = options.beam_size, options.length_penalty
    best = [Hypothesis((), NEVER, NEVER, False)] * rules.dialogues
    alive = torch.arange(rules.dialogues, device=device)  # (A,)
    state = state.select(alive.repeat_interleave(width))
    tokens = torch.full((len(alive) * width,), symbols.bos, device=device)
    prefix = tokens.new_empty((len(tokens), 0))
    # All K rows of a dialogue start alike: only the first may be extended at the first step.
    sums = torch.full((len(alive), width), NEVER, device=device)
    sums[:, 0] = 0.0
    for length in range(1, options.max_tokens + 1):
        log_probs, state = model.step(symbols.known(tokens), state)
        scores = rules.apply(log_probs, prefix, alive.repeat_interleave(width))  # (1)
        size = scores.shape[1]
        totals = (sums.view(-1, 1) + scores).view(len(alive), width * size)
        totals, places = totals.topk(min(2 * width, totals.shape[1]), dim=1)  # (2)
        first_row = torch.arange(len(alive), device=device)[:, None] * width
        rows, tokens = first_row + places // size, places % size  # (A, 2K)
        ended = tokens == symbols.eos
        last = length == options.max_tokens  # then unfinished rows count as they are
        counted = (ended | last) & (totals > NEVER)
        for i, place in counted.nonzero().tolist():  # (3)
            finished, total = bool(ended[i, place]), float(totals[i, place])
            ids = prefix[rows[i, place]].tolist() + ([] if finished else [int(tokens[i, place])])
            score = total / length_normaliser(len(ids) + int(finished), alpha)
            if score > best[int(alive[i])].score:
                best[int(alive[i])] = Hypothesis(tuple(ids), total, score, finished)
        if last:
            break
        sums, order = totals.masked_fill(ended, NEVER).topk(width, dim=1)  # (4)
        bounds = sums[:, 0] / length_normaliser(options.max_tokens + 1, alpha)
        floor = torch.tensor([best[i].score for i in alive.tolist()], device=device)
        going = (bounds > floor).nonzero()[:, 0]  # (5)
        if not len(going):
            break
        sums, alive = sums[going], alive[going]
        rows = rows.gather(1, order)[going].flatten()
        tokens = tokens.gather(1, order)[going].flatten()
        state = state.select(rows)
        prefix = torch.cat([prefix[rows], tokens[:, None]], dim=1)
    return best


class _Rules:
    """What may not be written next, as log-probabilities of minus infinity."""

    def __init__(self, options: DecodingOptions, symbols: Symbols, source: Tensor) -> None:
        self.options, self.symbols, self.device = options, symbols, source.device
        self.dialogues = len(source)
        self._placeholders = torch.tensor(symbols.placeholders, dtype=torch.long).to(source.device)
        in_source = (source[:, None, :] == self._placeholders[:, None]).any(dim=2)
        self._absent = ~in_source  # (B, placeholders)

    def apply(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """(N, X), what each row has written (N, t) and its dialogue (N,) -> (N, X), a copy."""
        scores = log_probs.clone()
        scores[:, [self.symbols.pad, self.symbols.bos]] = NEVER
        if len(self._placeholders):
            present = scores[:, self._placeholders].masked_fill(self._absent[owner], NEVER)
            scores[:, self._placeholders] = present
        if prefix.shape[1] < self.options.min_tokens:
            scores[:, self.symbols.eos] = NEVER
        for row, token in self._repeating(prefix):
            scores[row, token] = NEVER
        stuck = scores.amax(dim=1) == NEVER
        scores[stuck, self.symbols.eos] = 0.0
        return scores

    def _repeating(self, prefix: Tensor) -> Iterator[tuple[int, int]]:
        """(row, token) where the token would end an n-gram that the row has already."""
        n = self.options.no_repeat_ngram
        if not n or prefix.shape[1] < n:
            return
        for row, ids in enumerate(prefix.tolist()):
            last = ids[len(ids) - n + 1 :]
            for start in range(len(ids) - n + 1):
                if ids[start : start + n - 1] == last:
                    yield row, ids[start + n - 1]
