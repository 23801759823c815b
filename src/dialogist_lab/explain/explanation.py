"""`Explanation`: how a summary came about, one record whatever the family of the model.

Tokens in, tokens out, named maps. It holds arrays and text only: whoever draws it needs no torch.
"""

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.records import Summary

Weights: TypeAlias = NDArray[np.float32]

TokenKind = Literal["text", "speaker", "entity", "unknown", "plan", "begin", "end"]
"""``speaker`` and ``entity``: a mask, shown as what it stands for. ``unknown``: a word that the
vocabulary lacks, shown as the dialogue has it. ``plan``: of a plan prefix, a label or a border."""

AxisKind = Literal["source", "target", "fed", "utterances", "key points", "fed key points"]
"""What the rows or columns of a map are: tokens read; tokens said (and the end); what the decoder
was given when it said each of them (begin, then the token before); the same two of key points."""

Role = Literal[
    "encoder",
    "within",
    "pooling",
    "utterances",
    "leader self",
    "leader cross",
    "self",
    "cross",
    "coverage",
    "copy",
    "copied utterances",
]
"""What a map tells.

``encoder``: tokens of the dialogue among themselves; ``within``: the same inside an utterance.
``pooling``: the share of each token in its utterance's vector. ``utterances``: utterances among
themselves. ``self``: what was said so far; ``cross``: the dialogue (its tokens or utterances);
``leader ...``: the same of key points. ``copy``: where the pointer looks, and ``copied utterances``
that by utterance. ``coverage``: the sum of the cross-attention before (rows sum to their number).
"""

BEGIN, END = "‹begin›", "‹end›"


@dataclass(frozen=True, slots=True)
class SourceToken:
    """A token that the model read.

    ``text`` is what it adds to the text, the space before it in; empty where several tokens make
    one character, which the last of them adds. ``utterance`` is -1 of begin and end.
    """

    text: str
    kind: TokenKind
    utterance: int = -1


@dataclass(frozen=True, slots=True)
class Candidate:
    """A token (or key point) that could have been said, with its probability."""

    text: str
    probability: float


@dataclass(frozen=True, slots=True)
class Copying:
    """How a pointer came to a token.

    ``p_gen``: the probability of generating. ``share``: how much of the token's probability is due
    to copying. ``origins``: places of that very token in the source, and the pointer's weight on
    each, the heaviest first, at most five.
    """

    p_gen: float
    share: float
    origins: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TargetToken:
    """A token that the model said; the end of each (sub-)summary is one, unless it was cut.

    ``part`` is the sub-summary it belongs to, 0 where there is one text and in a plan prefix.
    ``log_prob`` is natural. ``alternatives`` are the likeliest at that place, itself perhaps among
    them: as the model has them, before search rules any out. ``repeated``: how much it attends
    again to where the tokens before it did, 0 to 1, of models with coverage.
    """

    text: str
    kind: TokenKind
    part: int
    log_prob: float
    alternatives: tuple[Candidate, ...] = ()
    copying: Copying | None = None
    repeated: float | None = None


@dataclass(frozen=True, slots=True)
class KeyPoint:
    """A key point that the Leader chose; the plan's end is one, unless it was cut."""

    label: str
    log_prob: float
    alternatives: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Axis:
    """The rows or columns of a map: which of the things of a kind, in order."""

    kind: AxisKind
    places: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True, slots=True)
class AttentionMap:
    """The weights of one layer: (H, rows, columns), each row summing to one.

    ``layer`` counts from 1, and is 0 of what belongs to none (pooling, pointer). ``group``: which
    utterance (``within``) or sub-summary (``self``) it is of, from 0. Rows may sum to less where
    tokens are left out, and do not sum to one for ``coverage``.
    """

    name: str
    role: Role
    weights: Weights
    rows: Axis
    columns: Axis
    layer: int = 0
    group: int | None = None

    @property
    def heads(self) -> int:
        """H."""
        return int(self.weights.shape[0])


@dataclass(frozen=True, slots=True)
class Explanation:
    """How one summary came about.

    ``kind`` is the model's (``transformer``, ``recurrent`` ...). ``speakers`` has one entry per
    utterance read: who speaks, empty where that is part of its text or not known.
    """

    summary: Summary
    kind: str
    source: tuple[SourceToken, ...]
    speakers: tuple[str, ...]
    target: tuple[TargetToken, ...]
    key_points: tuple[KeyPoint, ...] = ()
    maps: tuple[AttentionMap, ...] = field(default=())

    @property
    def copies(self) -> bool:
        """Whether the model has a pointer."""
        return any(token.copying is not None for token in self.target)

    def labels(self, kind: AxisKind) -> tuple[str, ...]:
        """All things of a kind, as text."""
        if kind == "source":
            return tuple(token.text for token in self.source)
        if kind == "target":
            return tuple(token.text for token in self.target)
        if kind == "utterances":
            return tuple(f"{i} {name}".strip() for i, name in enumerate(self.speakers, 1))
        chosen = tuple(key_point.label for key_point in self.key_points)
        if kind == "key points":
            return chosen
        return (BEGIN, *chosen[:-1]) if kind == "fed key points" else self._fed(chosen)

    def _fed(self, key_points: tuple[str, ...]) -> tuple[str, ...]:
        """Before each token said: the one before it, or what its (sub-)summary began from."""
        fed: list[str] = []
        for i, token in enumerate(self.target):
            if i and (not key_points or self.target[i - 1].part == token.part):
                fed.append(self.target[i - 1].text)
            else:
                fed.append(f"‹{key_points[token.part]}›" if key_points else BEGIN)
        return tuple(fed)


def entropy(weights: Weights) -> NDArray[np.float64]:
    """(H, rows, columns) -> (H,) the mean over rows of -sum w ln w, in nats.

    Its exponential is how many columns a row attends to, as it were. Rows are taken as if they
    summed to one; empty ones are left out.
    """
    totals = weights.sum(axis=2, keepdims=True, dtype=np.float64)
    shares = weights / np.where(totals > 0, totals, 1.0)
    each = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=2)  # (H, rows)
    real = totals[:, :, 0] > 0
    return np.asarray((each * real).sum(axis=1) / np.maximum(real.sum(axis=1), 1))
