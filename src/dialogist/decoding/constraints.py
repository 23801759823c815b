"""Constraints: what may not be said next, and the plan that comes first."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from dialogist.decoding import DecodingOptions
from dialogist.tokenizers import PlanTokens

# Filters: what may not be said next. Each maps log-probabilities to log-probabilities.

NEVER = float("-inf")


def in_plan(ids: Tensor, plan: PlanTokens) -> Tensor:
    """Which of some ids, of any shape, are a plan's."""
    return (ids >= plan.border) & (ids <= plan.border + plan.count)


class Filter(Protocol):
    """Rules tokens out by setting their log-probability to minus infinity."""

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """(N, X) -> (N, X), given what each row has said (N, t) and its dialogue (N,)."""
        ...


@dataclass(frozen=True, slots=True)
class ForbidTokens:
    """Tokens that no summary may hold (padding, begin)."""

    tokens: tuple[int, ...]

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Rule them out everywhere."""
        for token in self.tokens:  # a few columns: cheaper than one assignment by index
            log_probs[:, token] = NEVER
        return log_probs


@dataclass(frozen=True, slots=True)
class AllowPerDialogue:
    """Tokens each dialogue allows: no speaker who is not in the dialogue.

    ``columns``: (C,) the tokens that some dialogue does not allow, few among X; ``blocked``: (B, C)
    which of these each does not.
    """

    columns: Tensor
    blocked: Tensor

    @classmethod
    def of(cls, allowed: Tensor) -> "AllowPerDialogue":
        """From (B, X) bool."""
        blocked = ~allowed
        columns = blocked.any(dim=0).nonzero()[:, 0]
        return cls(columns, blocked.index_select(1, columns))

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Rule out what a row's dialogue does not allow."""
        blocked = self.blocked.index_select(0, owner)
        found = log_probs.index_select(1, self.columns).masked_fill_(blocked, NEVER)
        return log_probs.index_copy_(1, self.columns, found)


@dataclass(frozen=True, slots=True)
class ForbidSequences:
    """Sequences of tokens that each dialogue's texts may not hold: ``sequences[owner]``."""

    sequences: Sequence[Sequence[tuple[int, ...]]]

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Rule out each token that would complete one."""
        length = prefix.shape[1]
        rows: list[int] = []
        tokens: list[int] = []
        for row, dialogue in enumerate(owner.tolist()):
            for *before, last in self.sequences[dialogue]:
                said = prefix[row, length - len(before) :].tolist() if before else []
                if len(before) <= length and said == before:
                    rows.append(row)
                    tokens.append(last)
        log_probs[rows, tokens] = NEVER
        return log_probs


@dataclass(frozen=True, slots=True)
class MinimumLength:
    """No end symbol before ``tokens`` tokens, those of a ``plan`` not counted."""

    tokens: int
    eos: int
    plan: PlanTokens | None = None

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Rule the end symbol out while the row is short."""
        if self.plan is not None:
            short = (~in_plan(prefix, self.plan)).sum(dim=1) < self.tokens
            log_probs[short, self.eos] = NEVER
        elif prefix.shape[1] < self.tokens:
            log_probs[:, self.eos] = NEVER
        return log_probs


@dataclass(frozen=True, slots=True)
class NoRepeatNgram:
    """No n-gram of tokens twice (Paulus et al. 2018, section 2.5); none has a ``plan``'s tokens.

    Tokens ``inside`` words and characters are never ruled out: who begins one again can end it.
    Else a name of three pieces could not be said twice, and a word that nobody knows would come of
    it.
    """

    n: int
    plan: PlanTokens | None = None
    inside: frozenset[int] = frozenset()

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Rule out each token that would complete an n-gram the row already holds."""
        length = prefix.shape[1]
        if length < self.n:
            return log_probs
        grams = prefix.unfold(1, self.n, 1)  # (N, t - n + 1, n)
        recent = prefix[:, length - self.n + 1 :]  # (N, n - 1): what the next token would extend
        seen = (grams[:, :, :-1] == recent[:, None, :]).all(dim=2)  # (N, t - n + 1)
        if self.plan is not None:
            seen &= ~in_plan(grams, self.plan).any(dim=2)
        rows, places = torch.nonzero(seen, as_tuple=True)
        tokens = grams[rows, places, -1]
        if self.inside and len(tokens):
            free = torch.tensor([t not in self.inside for t in tokens.tolist()])
            rows, tokens = rows[free], tokens[free]
        log_probs[rows, tokens] = NEVER
        return log_probs


@dataclass(frozen=True, slots=True)
class NoDoubleWords:
    """No word twice in a row, nor two tokens that begin with one: models that copy stutter.

    ``words``: (V,) the tokens that begin a word. Others may come twice: pieces ("##an ##an" of a
    banana), digits, names ("Ann tells Bo Bo may go").
    """

    words: Tensor

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Rule out each row's last token, and what came between it and the same token before."""
        if not prefix.shape[1]:
            return log_probs
        last = prefix[:, -1]
        inside = last < len(self.words)  # others are unknown words of one dialogue
        again = inside & self.words[last.where(inside, 0)]
        rows = again.nonzero()[:, 0]
        log_probs[rows, last[rows]] = NEVER
        if prefix.shape[1] > 2:
            rows = (again & (prefix[:, -3] == last)).nonzero()[:, 0]
            log_probs[rows, prefix[rows, -2]] = NEVER
        return log_probs


@dataclass(frozen=True, slots=True)
class NearRepeat:
    """What a row said shortly before in its sentence is less probable: "the system of the system".

    A penalty and no ban, for people do say "step by step". It is taken off once, from the token
    that begins the word (as the presence penalty of others, which looks at the whole text).

    ``content``: (V,) the tokens that begin what it holds for. ``begins``: (V,) those that begin a
    word of any kind. ``ends``: (V,) the marks at the end of a sentence. ``words``: how many may
    stand between the two.
    """

    penalty: float
    content: Tensor
    begins: Tensor
    ends: Tensor
    words: int = 3

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Lower each such token, once however often it was said."""
        recent = prefix[:, -_PIECES * (self.words + 1) :]
        ours = recent < len(self.content)  # others are unknown words of one dialogue
        ids = recent.where(ours, 0)
        behind = _from_here_on(self.begins[ids] | ~ours)  # words, the one at this place counted
        near = ours & self.content[ids] & (behind <= self.words + 1)
        rows, places = (near & (_from_here_on(ours & self.ends[ids]) == 0)).nonzero(as_tuple=True)
        log_probs[rows, ids[rows, places]] -= self.penalty
        return log_probs


_PIECES = 4
"""Tokens of a word, as a rule no more: what is looked at has an end."""


def _from_here_on(marked: Tensor) -> Tensor:
    """(N, t) -> (N, t): how many are marked at or behind each place."""
    return marked.flip(1).cumsum(1).flip(1)


@dataclass(frozen=True, slots=True)
class RepetitionPenalty:
    """What was said is less probable: log p x ``penalty`` (Keskar et al. 2019, section 4.1).

    The tokens of a ``plan`` are as probable as before: borders have to be said again.
    """

    penalty: float
    plan: PlanTokens | None = None

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Lower each token that the row already holds, once however often it does."""
        before = log_probs.gather(1, prefix)
        lowered = before * self.penalty
        if self.plan is not None:
            lowered = torch.where(in_plan(prefix, self.plan), before, lowered)
        return log_probs.scatter(1, prefix, lowered)


@dataclass(frozen=True, slots=True)
class EndWhenStuck:
    """The end symbol for a row that the filters before left no token at all."""

    eos: int

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Allow the end there, at no cost."""
        stuck = log_probs.amax(dim=1) == NEVER
        log_probs[stuck, self.eos] = 0.0
        return log_probs


# `PlanPrefix`: search says nothing but summaries whose plan comes first and is kept to.
#
# label_1 ... label_K, then K times: the border, and a token or more; then the end. Neighbouring
# labels differ (`dialogist.tokenizers.special_tokens`).

_LEAST = 3
"""Tokens of a key point at least: its label, a border, a word."""


@dataclass(frozen=True, slots=True)
class PlanPrefix:
    """Rules out what would make a plan, or what is written by it, ill-formed.

    What a row has said so far is taken to be well-formed, as the same filter saw to it. ``most``
    bounds the number of labels.
    """

    plan: PlanTokens
    eos: int
    most: int

    @classmethod
    def of(cls, plan: PlanTokens, eos: int, options: DecodingOptions) -> "PlanPrefix":
        """At most as many labels as ``max_tokens`` has room for, with a word about each."""
        room = max(1, options.max_tokens // _LEAST)
        return cls(plan, eos, min(options.max_key_points, room))

    def __call__(self, log_probs: Tensor, prefix: Tensor, owner: Tensor) -> Tensor:
        """Words, labels, the border and the end are ruled out by how far each row is."""
        if not prefix.shape[1]:
            log_probs[:, : self.plan.border + 1] = NEVER
            log_probs[:, self.plan.ids.stop :] = NEVER
            return log_probs
        own = torch.arange(self.plan.border, self.plan.ids.stop + 1, device=prefix.device)
        own[-1] = self.eos  # (1 + L + 1,): the border, the labels, the end
        last = prefix[:, -1:]
        borders = (prefix == self.plan.border).sum(dim=1, keepdim=True)  # (N, 1)
        labels = in_plan(prefix, self.plan).sum(dim=1, keepdim=True) - borders
        planning, spoken = borders == 0, last != self.plan.border
        allowed = (planning & (labels < self.most)) & (own != last)  # (N, 1 + L + 1)
        allowed[:, :1] = spoken & (borders < labels)
        allowed[:, -1:] = spoken & (borders == labels)
        kept = log_probs.index_select(1, own).masked_fill_(~allowed, NEVER)
        # By number, not by a mask: that would read the whole table for a few rows.
        log_probs.index_fill_(0, planning[:, 0].nonzero()[:, 0], NEVER)
        return log_probs.index_copy_(1, own, kept)
