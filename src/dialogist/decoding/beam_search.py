"""Beam search, and reranking of its hypotheses by coverage."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from dialogist.decoding import CoverageKind, DecodingOptions, check_stopped
from dialogist.decoding.constraints import NEVER, Filter
from dialogist.decoding.search import Hypothesis, apply_constraints, as_input
from dialogist.models.base import GeneratorModule, Stepper
from dialogist.nn.kv_cache import State
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols

# The largest of many numbers, by halves: which blocks can hold them, then which in these.

_BLOCK = 64
"""Columns per block: about the root of a row of search, so both halves look at as many."""


def blockwise_topk(scores: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """``torch.topk`` over the last of (A, C), several times faster where C is large.

    The ``count`` largest lie in the ``count`` blocks that have the largest maxima: a block beyond
    these holds nothing that is larger than any of their maxima. Which of equal numbers is found
    is left open, as by torch.

    Returns:
        (A, count) values, falling, and (A, count) columns.
    """
    rows, columns = scores.shape
    blocks = columns // _BLOCK
    if blocks < 4 * count:
        return tuple(scores.topk(count, dim=1))  # type: ignore[return-value]
    whole = blocks * _BLOCK
    maxima = scores[:, :whole].reshape(rows, blocks, _BLOCK).amax(dim=2)
    chosen = maxima.topk(count, dim=1).indices  # (A, count)
    inside = torch.arange(_BLOCK, device=scores.device)
    places = (chosen[:, :, None] * _BLOCK + inside).flatten(1)  # (A, count * block)
    if whole < columns:
        rest = torch.arange(whole, columns, device=scores.device)
        places = torch.cat([places, rest.expand(rows, -1)], dim=1)
    values, found = scores.gather(1, places).topk(count, dim=1)
    return values, places.gather(1, found)


# Beam search over all dialogues of a batch at once, with length penalty.
#
# Numbered as in the loop: (1) step and filter, (2) extend every row by every token and keep the
# best 2K per dialogue, (3) those that end are put aside, (4) the best K others go on, (5) dialogues
# that no unfinished row can improve any more leave the batch: sums only fall, so that is exact.


def length_normaliser(length: int, alpha: float) -> float:
    """((5 + length) / 6)^alpha: Wu et al. 2016, equation 14; length counts the end symbol."""
    return float(((5 + length) / 6) ** alpha)


@dataclass(slots=True)
class _Shelf:
    """The finished hypotheses of one dialogue, best first, at most ``size``.

    ``enough``: so many endings decide, whatever they score; None: they do not.
    """

    size: int
    enough: int | None = None
    ended: int = 0
    held: list[Hypothesis] = field(default_factory=list)

    def add(self, hypothesis: Hypothesis) -> None:
        self.ended += 1
        self.held = sorted([*self.held, hypothesis], key=lambda h: -h.score)[: self.size]

    def decided(self, bound: float) -> bool:
        """Whether nothing that is scored ``bound`` or less is waited for."""
        if self.enough is not None and self.ended >= self.enough:
            return True
        return len(self.held) == self.size and self.held[-1].score >= bound


@dataclass(frozen=True, slots=True)
class _Beams:
    """Extensions of the rows of A dialogues, best first, in plain numbers: each a list of lists.

    Deciding on 2K of them per dialogue in plain Python is cheaper than a dozen tensor operations.
    """

    sums: list[list[float]]
    rows: list[list[int]]  # which of the N rows each extends
    tokens: list[list[int]]

    def of(self, dialogues: list[int], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Those of the given dialogues: (A', K) sums, (A' * K,) rows and tokens."""
        parts = ([part[i] for i in dialogues] for part in (self.sums, self.rows, self.tokens))
        sums, rows, tokens = (torch.tensor(part, device=device) for part in parts)
        return sums, rows.flatten(), tokens.flatten()


class BeamSearch:
    """The K best hypotheses of each dialogue; `search` is the whole algorithm.

    With ``beam_scoring`` ``transformers`` it takes the decisions of that library's beam search
    (5.23: `GenerationMixin._beam_search`), so that both find the same tokens.
    """

    def __init__(
        self, options: DecodingOptions, symbols: Symbols, filters: Sequence[Filter]
    ) -> None:
        self.options = options
        self.symbols = symbols
        self.filters = filters
        self._theirs = options.beam_scoring == "transformers"

    def search(self, model: Stepper, state: State, alive: Tensor) -> list[list[Hypothesis]]:
        """n_best hypotheses for each of B dialogues, best first.

        ``state`` has B rows, ``alive`` (B,) counts them; later it is the dialogues that go on.
        """
        width, device = self.options.beam_size, alive.device
        enough = width if self.options.early_stop else None
        size = width if self._theirs else self.options.n_best
        shelves = [_Shelf(size, enough) for _ in range(len(alive))]
        owner = alive.repeat_interleave(width)  # (N,) N = A * K
        state = state.select(owner)
        tokens = torch.full_like(owner, self.symbols.bos)
        prefix = tokens.new_empty((len(owner), 0))
        # All K rows of a dialogue start alike: only the first may be extended at the first step.
        sums = torch.full((len(alive), width), NEVER, device=device)
        sums[:, 0] = 0.0
        while len(alive):
            check_stopped()
            log_probs, state = model.step(as_input(tokens, self.symbols), state)
            scores = apply_constraints(log_probs, prefix, owner, self.filters)  # (1)
            candidates = self._extend(sums, scores)  # (2)
            here = [shelves[dialogue] for dialogue in alive.tolist()]
            beams = self._choose(here, prefix, candidates)  # (3), (4)
            if prefix.shape[1] + 1 >= self.options.max_tokens:
                self._cut(here, prefix, beams)
                break
            going = self._going(here, beams, prefix.shape[1] + 1)  # (5)
            if not going:
                break
            sums, rows, tokens = beams.of(going, device)
            state = state.select(rows)
            prefix = torch.cat([prefix.index_select(0, rows), tokens[:, None]], dim=1)
            if len(going) < len(alive):
                alive = alive[going]
                owner = alive.repeat_interleave(width)
        return [shelf.held[: self.options.n_best] for shelf in shelves]

    def _extend(self, sums: Tensor, scores: Tensor) -> _Beams:
        """(A, K) and (N, X) -> the best 2K extensions of each dialogue."""
        dialogues, width = sums.shape
        # No row gives more than all 2K: the best of each row first, and sums of these only.
        of_rows, tokens = blockwise_topk(scores, min(2 * width, scores.shape[1]))  # (N, 2K)
        each = tokens.shape[1]
        totals = (sums.view(-1, 1) + of_rows).view(dialogues, -1)  # (A, K * 2K)
        best, places = totals.topk(min(2 * width, totals.shape[1]), dim=1)
        chosen = tokens.view(dialogues, -1).gather(1, places)
        lines = enumerate(places.tolist())
        rows = [[i * width + place // each for place in line] for i, line in lines]
        return _Beams(best.tolist(), rows, chosen.tolist())

    def _choose(self, shelves: list[_Shelf], prefix: Tensor, candidates: _Beams) -> _Beams:
        """Shelve the candidates that end; the best K of the others."""
        chosen = _Beams([], [], [])
        lines = zip(candidates.sums, candidates.rows, candidates.tokens, strict=True)
        for shelf, line in zip(shelves, lines, strict=True):
            going = []
            for place, (total, row, token) in enumerate(zip(*line, strict=True)):
                ends = token == self.symbols.eos
                counts = place < self.options.beam_size or not self._theirs
                if ends and counts and total > NEVER:
                    shelf.add(self._hypothesis(prefix[row].tolist(), total, True))
                going.append((NEVER if ends else total, row, token))
            # (sorting keeps the order of equals: only the endings move to the end)
            going.sort(key=lambda candidate: -candidate[0])
            sums, rows, tokens = zip(*going[: self.options.beam_size], strict=True)
            chosen.sums.append(list(sums))
            chosen.rows.append(list(rows))
            chosen.tokens.append(list(tokens))
        return chosen

    def _cut(self, shelves: list[_Shelf], prefix: Tensor, beams: _Beams) -> None:
        """At the length limit unfinished rows count as they are."""
        lines = zip(beams.sums, beams.rows, beams.tokens, strict=True)
        for shelf, line in zip(shelves, lines, strict=True):
            for total, row, token in zip(*line, strict=True):
                if total > NEVER:
                    said = [*prefix[row].tolist(), token]
                    shelf.add(self._hypothesis(said, total, False))

    def _going(self, shelves: list[_Shelf], beams: _Beams, length: int) -> list[int]:
        """Which of the A dialogues have an unfinished row that could still enter the shelf.

        Sums only fall, and the normaliser is largest at the longest length: no continuation of a
        row can score above its sum over that. (transformers takes the present ``length`` for it,
        which is a guess, except without a length penalty.)
        """
        divisor = self._normaliser(length if self._theirs else self.options.max_tokens + 1)
        bounds = [max(sums) / divisor for sums in beams.sums]
        pairs = enumerate(zip(bounds, shelves, strict=True))
        return [i for i, (bound, shelf) in pairs if bound > NEVER and not shelf.decided(bound)]

    def _hypothesis(self, tokens: Sequence[int], total: float, finished: bool) -> Hypothesis:
        score = total / self._normaliser(len(tokens) + int(finished))
        return Hypothesis(tuple(tokens), total, score, finished)

    def _normaliser(self, length: int) -> float:
        alpha = self.options.length_penalty
        return float(length**alpha) if self._theirs else length_normaliser(length, alpha)


# Hypotheses as targets: what was said is run once more with teacher forcing.


def forced_targets(said: Sequence[Hypothesis], symbols: Symbols) -> tuple[Tensor, Tensor, Tensor]:
    """A decoder's input, output and mask (N, T); a hypothesis that was cut has no end symbol."""
    ids = [[*h.tokens, *([symbols.eos] if h.finished else [])] for h in said]
    longest = max(map(len, ids))
    out = torch.tensor([[*row, *[symbols.pad] * (longest - len(row))] for row in ids])
    first = torch.full((len(ids), 1), symbols.bos)
    mask = torch.arange(longest) < torch.tensor([len(row) for row in ids])[:, None]
    return as_input(torch.cat([first, out[:, :-1]], dim=1), symbols), out, mask


# The coverage penalty: beams are ranked anew by what of the dialogue they looked at.
#
# ``missed``: cp = sum over positions i of log(min(sum over tokens j of p_ij, 1)) is added, beta
# times, to the score (Wu et al. 2016, equation 14): who never looked at a part of the source pays.
# ``repeated``: cp = -sum over i of max(sum over j of p_ij - 1, 0) (Gehrmann et al. 2018, equation
# 11): who looks at a part again and again pays, which suits summaries, for they leave things out.
#
# The finished beams are said once more with teacher forcing, so search itself carries no attention.

_LEAST = 1e-4
"""The smallest sum of weights that counts: half precision knows a zero where there is none."""


def rerank_by_coverage(
    model: GeneratorModule,
    batch: Batch,
    state: State,
    found: Sequence[Sequence[Hypothesis]],
    options: DecodingOptions,
    symbols: Symbols,
) -> list[list[Hypothesis]]:
    """The hypotheses of each dialogue of a batch in their new order, ``n_best`` of them.

    ``state`` is what the model's ``start`` gave for the batch. The hypotheses of a model without
    attention keep their order.
    """
    said = [hypothesis for hypotheses in found for hypothesis in hypotheses]
    if not said or not any(hypothesis.tokens for hypothesis in said):
        return [list(hypotheses[: options.n_best]) for hypotheses in found]
    counts = torch.tensor([len(hypotheses) for hypotheses in found])
    owner = torch.arange(len(found)).repeat_interleave(counts).to(batch.source.device)
    targets = (t.to(batch.source.device) for t in forced_targets(said, symbols))
    forced = batch.select(owner).with_targets(*targets)
    outputs = model.force(forced, state.select(owner), need_weights=True)
    weights = model.cross_attention(outputs)
    if weights is None:
        return [list(hypotheses[: options.n_best]) for hypotheses in found]
    spoken = weights * forced.target_mask[:, :, None]  # (N, T, S)
    fines = coverage_penalty(spoken, _real(forced, weights.shape[2]), options.coverage_kind)
    scored = iter(
        replace(hypothesis, score=hypothesis.score + options.coverage_penalty * fine)
        for hypothesis, fine in zip(said, fines.tolist(), strict=True)
    )
    again = [[next(scored) for _ in hypotheses] for hypotheses in found]
    return [sorted(one, key=lambda h: -h.score)[: options.n_best] for one in again]


def coverage_penalty(weights: Tensor, real: Tensor, kind: CoverageKind) -> Tensor:
    """Weights (N, T, S) of attention, and which positions (N, S) are real -> cp (N,), at most 0."""
    sums = weights.float().sum(dim=1)  # (N, S)
    missed, repeated = sums.clamp(min=_LEAST, max=1).log(), -(sums - 1).clamp(min=0)
    return ((missed if kind == "missed" else repeated) * real).sum(dim=1)


def _real(batch: Batch, width: int) -> Tensor:
    """(N, width) which positions are real: tokens, or utterances where these are looked at."""
    if width == batch.source_mask.shape[1]:
        return batch.source_mask
    assert batch.utterance is not None
    utterances = batch.utterance.amax(dim=1, keepdim=True) + 1  # (N, 1)
    return torch.arange(width, device=utterances.device) < utterances
