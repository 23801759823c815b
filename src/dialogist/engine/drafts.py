"""`Draft`: one summary as token ids; and the window that it is about, before and after search."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dialogist.data.encode import Encoded
from dialogist.decoding import DecodingOptions
from dialogist.decoding.constraints import (
    AllowPerDialogue,
    Filter,
    ForbidSequences,
    NearRepeat,
    NoDoubleWords,
)
from dialogist.decoding.generation import generate
from dialogist.decoding.plan_decoding import generate_plan
from dialogist.decoding.search import Hypothesis
from dialogist.decoding.word_constraints import LexiconConstraint
from dialogist.models import GeneratorModule, PlanningModule, SequenceModel
from dialogist.nn.kv_cache import State
from dialogist.records import Dialogue, Example
from dialogist.tensors import Batch
from dialogist.tokenizers import PlanTokens, Symbols

# `Looks`: what the model did while it wrote about a window: where it looked, how sure it was.


Shares: TypeAlias = NDArray[np.float32]
"""(T, U): of each token of a (sub-)summary, the share of each of the dialogue's utterances."""


@dataclass(frozen=True, slots=True)
class Retold:
    """A (sub-)summary said once more: where was looked for each token, and how sure the model was.

    ``shares``: (T, U). ``log_probs``: (T,) natural. The end symbol is left out of both.
    """

    shares: Shares
    log_probs: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Looks:
    """The parts of a window's best draft, said once more.

    The shares' columns are the utterances of the window alone, from number ``first`` of the
    dialogue on: what is kept of a dialogue of hours grows with its length, not with its square.
    """

    first: int
    parts: tuple[Retold, ...]

    def mean(self, part: int, tokens: tuple[int, int], utterances: int) -> NDArray[np.float32]:
        """(U,) over all of the dialogue: the mean over some tokens, zero of no tokens."""
        found = np.zeros(utterances, dtype=np.float32)
        first, last = tokens
        if first < last:
            own = self.parts[part].shares[first:last].mean(axis=0)
            found[self.first : self.first + len(own)] = own
        return found


# `Draft`: one summary as token ids, whatever kind of model wrote it.


@dataclass(frozen=True, slots=True)
class Draft:
    """A summary in ``parts``: one, or one for each of the key points that a planning model found.

    ``labels`` are the key points' indices in the rule pack. ``planned`` is False where the plan
    itself was cut. Where one sequence says plan and parts, it is ``whole``, and part ``i`` begins
    at ``starts[i]`` of its tokens.
    """

    parts: tuple[Hypothesis, ...]
    labels: tuple[int, ...] = ()
    planned: bool = True
    whole: Hypothesis | None = None
    starts: tuple[int, ...] = ()

    @classmethod
    def of_prefix(cls, whole: Hypothesis, plan: PlanTokens) -> "Draft":
        """What was said behind a plan prefix, in the plan's parts.

        A label of which nothing was said, for the search was cut before, has no part; where nothing
        was said at all, one part without a label is empty. Parts share the whole's log-probability
        by their tokens: search does not tell how it came together.
        """
        labels, spans = plan.read(whole.tokens)
        said = [(start, end) for start, end in spans if start < end]
        found = said or [(len(whole.tokens), len(whole.tokens))]
        count = max(1, sum(end - start for start, end in found))
        parts = [
            replace(
                whole,
                tokens=whole.tokens[start:end],
                log_prob=whole.log_prob * (end - start) / count,
                finished=whole.finished or end < found[-1][1],
            )
            for start, end in found
        ]
        starts = tuple(start for start, _ in found)
        return cls(tuple(parts), tuple(labels[: len(said)]), bool(spans), whole, starts)

    @property
    def texts(self) -> tuple[Hypothesis, ...]:
        """What was said one after the other, each from begin to end: the whole, or the parts."""
        return self.parts if self.whole is None else (self.whole,)

    @property
    def places(self) -> list[tuple[int, int]]:
        """Of each part which of the ``texts`` holds it, and from which of its tokens on."""
        if self.whole is None:
            return [(number, 0) for number in range(len(self.parts))]
        return [(0, start) for start in self.starts]

    @property
    def finished(self) -> bool:
        """Whether no part was cut at the length limit."""
        return all(part.finished for part in self.parts)

    @property
    def tokens(self) -> int:
        """How many were predicted, end symbols and a plan prefix counted."""
        return sum(len(text.tokens) + int(text.finished) for text in self.texts)

    @property
    def mean_log_prob(self) -> float:
        """Per predicted token."""
        return sum(text.log_prob for text in self.texts) / max(1, self.tokens)


@dataclass(frozen=True, slots=True)
class Bounds:
    """What B dialogues let be said.

    ``allowed``: (B, X) the tokens that each allows; None allows all. ``banned``: B times the
    sequences of tokens that its summary may not hold; none, or for each dialogue. ``words``: (V,)
    the tokens that may not come twice in a row; None: all may. ``near``: what is better not said
    again soon. ``known``: the words that each may hold; None: any.
    """

    allowed: Tensor | None = None
    banned: Sequence[Sequence[tuple[int, ...]]] = ()
    words: Tensor | None = None
    near: NearRepeat | None = None
    known: LexiconConstraint | None = None

    def filters(self, owner: Tensor | None = None) -> list[Filter]:
        """As rules of search; ``owner``: (R,) the dialogue of each row, None: row by row."""
        found: list[Filter] = []
        if self.allowed is not None:
            allowed = self.allowed if owner is None else self.allowed[owner]
            found.append(AllowPerDialogue.of(allowed))
        if self.words is not None:
            found.append(NoDoubleWords(self.words))
        if self.near is not None:
            found.append(self.near)
        if self.banned:
            rows = range(len(self.banned)) if owner is None else owner.tolist()
            found.append(ForbidSequences([self.banned[row] for row in rows]))
        if self.known is not None:  # last: it tells whether a word can still be finished
            found.append(self.known if owner is None else self.known.of(owner.tolist()))
        return found


FREE = Bounds()


def write_drafts(
    model: SequenceModel,
    batch: Batch,
    options: DecodingOptions,
    symbols: Symbols,
    bounds: Bounds = FREE,
    state: State | None = None,
) -> list[list[Draft]]:
    """n_best drafts for each of B dialogues, best first.

    ``state``: what a model that does not plan has started from, if it has already.
    """
    if isinstance(model, PlanningModule):
        planned = generate_plan(model, batch, options, symbols, bounds.filters)
        return [[Draft(p.parts, p.key_points, p.plan.finished)] for p in planned]
    assert isinstance(model, GeneratorModule)
    found = generate(model, batch, options, symbols, bounds.filters(), state)
    if symbols.plan is not None:
        return [[Draft.of_prefix(one, symbols.plan) for one in hypotheses] for hypotheses in found]
    return [[Draft((hypothesis,)) for hypothesis in hypotheses] for hypotheses in found]


# What goes into search, and what comes out of it: records without behaviour.


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a dialogue that the model reads at once, and the dialogue it is checked against."""

    example: Example
    encoded: Encoded
    dialogue: Dialogue


@dataclass(frozen=True, slots=True)
class SearchedWindow:
    """What was said of one window; ``drafts``, best first, are none where it holds no text.

    ``looks`` is None where no evidence was asked for.
    """

    example: Example
    encoded: Encoded
    drafts: tuple[Draft, ...] = ()
    looks: Looks | None = None
