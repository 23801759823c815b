"""Beam search over all dialogues of a batch at once, with length penalty.

Numbered as in the loop: (1) step and filter, (2) extend every row by every token and keep the best
2K per dialogue, (3) those that end are put aside, (4) the best K others go on, (5) dialogues that
no unfinished row can improve any more leave the batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from dialogist.decoding.filters import NEVER, Filter
from dialogist.decoding.options import DecodingOptions
from dialogist.decoding.search import Hypothesis, fed, filtered
from dialogist.models.base import Stepper
from dialogist.nn.state import State
from dialogist.tokenizers import Symbols


def length_normaliser(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha: Wu et al. 2016, equation 14; length counts the end symbol."""
    return float(((5 + length) / 6) ** alpha)


@dataclass(slots=True)
class _Shelf:
    """The finished hypotheses of one dialogue, best first, at most ``size``."""

    size: int
    held: list[Hypothesis] = field(default_factory=list)

    def add(self, hypothesis: Hypothesis) -> None:
        self.held = sorted([*self.held, hypothesis], key=lambda h: -h.score)[: self.size]

    def unbeatable(self, bound: float) -> bool:
        """Whether the shelf is full and nothing scored ``bound`` or less would enter it."""
        return len(self.held) == self.size and self.held[-1].score >= bound


class BeamSearch:
    """The K best hypotheses of each dialogue; `search` is the whole algorithm."""

    def __init__(
        self, options: DecodingOptions, symbols: Symbols, filters: Sequence[Filter]
    ) -> None:
        self.options = options
        self.symbols = symbols
        self.filters = filters

    def search(self, model: Stepper, state: State, alive: Tensor) -> list[list[Hypothesis]]:
        """n_best hypotheses for each of B dialogues, best first.

        ``state`` has B rows, ``alive`` (B,) counts them; later it is the dialogues that go on.
        """
        width = self.options.beam_size
        shelves = [_Shelf(width) for _ in range(len(alive))]
        owner = alive.repeat_interleave(width)  # (N,) N = A * K
        state = state.select(owner)
        tokens = torch.full_like(owner, self.symbols.bos)
        prefix = tokens.new_empty((len(owner), 0))
        # All K rows of a dialogue start alike: only the first may be extended at the first step.
        sums = torch.full((len(alive), width), NEVER, device=owner.device)
        sums[:, 0] = 0.0
        while len(alive):
            log_probs, state = model.step(fed(tokens, self.symbols), state)  # (1)
            scores = filtered(log_probs, prefix, owner, self.filters)
            totals, rows, tokens = self._extend(sums, scores)  # (2)
            self._shelve(shelves, alive, prefix, (totals, rows, tokens))  # (3)
            sums, rows, tokens = self._go_on(totals, rows, tokens)  # (4)
            prefix = torch.cat([prefix[rows.flatten()], tokens.flatten()[:, None]], dim=1)
            if prefix.shape[1] >= self.options.max_tokens:
                self._cut(shelves, alive, prefix, sums)
                break
            going = self._going(shelves, alive, sums)  # (5)
            state = state.select(rows[going].flatten())
            prefix = prefix.view(len(alive), width, -1)[going].flatten(0, 1)
            alive, sums, tokens = alive[going], sums[going], tokens[going].flatten()
            owner = alive.repeat_interleave(width)
        return [shelf.held[: self.options.n_best] for shelf in shelves]

    def _extend(self, sums: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """(A, K) and (N, X) -> the best 2K (A, 2K): totals, the rows they extend, tokens."""
        dialogues, width = sums.shape
        size = scores.shape[1]
        totals = (sums.view(-1, 1) + scores).view(dialogues, -1)  # (A, K * X)
        best, places = totals.topk(min(2 * width, totals.shape[1]), dim=1)
        first = torch.arange(dialogues, device=sums.device)[:, None] * width
        return best, first + places // size, places % size

    def _shelve(
        self,
        shelves: list[_Shelf],
        alive: Tensor,
        prefix: Tensor,
        candidates: tuple[Tensor, Tensor, Tensor],
    ) -> None:
        """Put candidates that end on their dialogue's shelf."""
        totals, rows, tokens = candidates
        ends = (tokens == self.symbols.eos) & (totals > NEVER)
        for i, j in ends.nonzero().tolist():
            said = prefix[rows[i, j]].tolist()
            shelves[int(alive[i])].add(self._hypothesis(said, float(totals[i, j]), True))

    def _go_on(self, totals: Tensor, rows: Tensor, tokens: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The best K candidates that do not end: (A, K) each."""
        open_totals = totals.masked_fill(tokens == self.symbols.eos, NEVER)
        best, places = open_totals.topk(self.options.beam_size, dim=1)
        return best, rows.gather(1, places), tokens.gather(1, places)

    def _cut(self, shelves: list[_Shelf], alive: Tensor, prefix: Tensor, sums: Tensor) -> None:
        """At the length limit unfinished rows count as they are."""
        said = prefix.view(len(alive), self.options.beam_size, -1)
        for i, dialogue in enumerate(alive.tolist()):
            for j, total in enumerate(sums[i].tolist()):
                if total > NEVER:
                    hypothesis = self._hypothesis(said[i, j].tolist(), total, False)
                    shelves[dialogue].add(hypothesis)

    def _going(self, shelves: list[_Shelf], alive: Tensor, sums: Tensor) -> Tensor:
        """(A,) True where an unfinished row could still enter the shelf.

        Sums only fall, and the normaliser is largest at the longest length: no continuation of a
        row can score above its sum over that.
        """
        longest = length_normaliser(self.options.max_tokens + 1, self.options.length_penalty)
        bounds = (sums.amax(dim=1) / longest).tolist()
        going = [
            bound > NEVER and not shelves[dialogue].unbeatable(bound)
            for dialogue, bound in zip(alive.tolist(), bounds, strict=True)
        ]
        return torch.tensor(going, dtype=torch.bool, device=alive.device)

    def _hypothesis(self, tokens: Sequence[int], total: float, finished: bool) -> Hypothesis:
        length = len(tokens) + int(finished)
        score = total / length_normaliser(length, self.options.length_penalty)
        return Hypothesis(tuple(tokens), total, score, finished)
