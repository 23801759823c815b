"""`Draft`: a summary as token ids, of one window; its text, and what of it must not be said."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
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
from dialogist.decoding.generation import generate, generate_plan
from dialogist.decoding.search import Hypothesis
from dialogist.decoding.word_constraints import LexiconConstraint
from dialogist.metrics.faithfulness import Finding, FindingKind, findings
from dialogist.model_folder.bundle import Bundle
from dialogist.models import GeneratorModule, PlanningModule, SequenceModel
from dialogist.nn.kv_cache import State
from dialogist.records import Dialogue, Example
from dialogist.tensors import Batch
from dialogist.language.tokens import closed
from dialogist.tokenizers import PlanTokens, Symbols
from dialogist.tokenizers.base import LONGEST_CHARACTER

# `Draft`: one summary as token ids; and the window that it is about, before and after search.


# What the model did while it wrote about a window: where it looked, how sure it was.


Shares: TypeAlias = NDArray[np.float32]
"""(T, U): of each token of a (sub-)summary, the share of each of the dialogue's utterances."""


@dataclass(frozen=True, slots=True)
class ForcedScores:
    """A (sub-)summary by forced decoding: where each token looked, and how sure the model was.

    ``shares``: (T, U). ``log_probs``: (T,) natural. The end symbol is left out of both.
    """

    shares: Shares
    log_probs: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class AttentionTrace:
    """The parts of a window's best draft, by forced decoding.

    The shares' columns are the utterances of the window alone, from number ``first`` of the
    dialogue on: what is kept of a dialogue of hours grows with its length, not with its square.
    """

    first: int
    parts: tuple[ForcedScores, ...]

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


# `Window`: it grows on its way through the pipeline.


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a dialogue that the model reads at once, and what it said of it.

    ``dialogue``: what drafts are checked against. ``drafts``, best first, are none before search,
    and where the window holds no text. ``attention`` is None where no evidence was asked for.
    """

    example: Example
    encoded: Encoded
    dialogue: Dialogue
    drafts: tuple[Draft, ...] = ()
    attention: AttentionTrace | None = None


# What each token adds to a text, and where in it each one ends.


BROKEN = "\ufffd"
"""What part of a character is read as."""


def pieces(ids: Sequence[int], read: Callable[[Sequence[int]], str]) -> list[str]:
    """What each token adds to the text of those before it.

    Of a character that several tokens make, all but the last add nothing.
    """
    found: list[str] = []
    start = done = 0  # what stands before ``start`` changes nothing that comes
    for end in range(1, len(ids) + 1):
        before, now = read(ids[start:done]), read(ids[start:end])
        unfinished = now.endswith(BROKEN) and end < len(ids)
        if unfinished and end - done < LONGEST_CHARACTER:
            found.append("")
            continue
        found.append(now[len(before) :])
        start, done = done, end
    return found


def ends_of(ids: Sequence[int], read: Callable[[Sequence[int]], str]) -> list[int]:
    """Where each token ends in the text of all of them, white space around it left out.

    ``read`` gives the text of some ids. A character of several tokens is the last one's.
    """
    found = pieces(ids, read)
    text = "".join(found)
    skipped, length = len(text) - len(text.lstrip()), len(text.strip())
    return [min(max(0, end - skipped), length) for end in accumulate(map(len, found))]


def reader(bundle: Bundle, example: Example, encoded: Encoded) -> Callable[[Sequence[int]], str]:
    """From ids to text with names and values back in place, white space as it comes."""

    def read(ids: Sequence[int]) -> str:
        text = bundle.tokenizer.decode(ids, encoded.unknown)
        return bundle.preparation.restore(text, example)

    return read


# Which tokens say which stretch of a text.


def token_ranges(ends: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """For each span of characters the first of its tokens, and the one after the last.

    Args:
        ends: where the text of each token ends (`ends_of`).
        spans: from left to right, none inside another.

    A token that reaches into two spans belongs to the one that has more of it; one that adds no
    character (several make one) to where the next one belongs. White space between spans is in
    none; a span without a token of its own has an empty range.
    """
    owners = _owners(ends, spans)
    found: list[tuple[int, int]] = []
    place = 0
    for number in range(len(spans)):
        own = [i for i, owner in enumerate(owners) if owner == number]
        found.append((own[0], own[-1] + 1) if own else (place, place))
        place = found[-1][1]
    return found


def _owners(ends: Sequence[int], spans: Sequence[tuple[int, int]]) -> list[int | None]:
    owners: list[int | None] = [None] * len(ends)
    following: int | None = None
    for i in range(len(ends) - 1, -1, -1):
        start, end = (ends[i - 1] if i else 0), ends[i]
        if start < end:
            shares = [min(end, b) - max(start, a) for a, b in spans]
            most = max(shares, default=0)
            following = shares.index(most) if most > 0 else None
        owners[i] = following
    return owners


# What a draft says, as text: tokens to words, names and entities back in place.


def parts_of(
    bundle: Bundle, draft: Draft, example: Example, encoded: Encoded
) -> list[tuple[str, str]]:
    """(label, text) of each part of a draft; joined, the texts are what it says.

    A draft without key points has one part, without a label. Where the preparation restores how
    English is written, a draft that was not broken off ends like a sentence: of chats, models learn
    to leave the last full stop out, and the next window's text may stand right behind it.
    """
    pack = bundle.preparation.pack
    between = "" if pack is not None and pack.language == "zh" else " "
    read = reader(bundle, example, encoded)
    found: list[tuple[str, str]] = []
    for number, hypothesis in enumerate(draft.parts):
        text = read(hypothesis.tokens).strip()
        label = pack.labels[draft.labels[number]] if pack and draft.labels else ""
        gap = between if text and any(said for _, said in found) else ""
        found.append((label, gap + text))
    if found and draft.finished and bundle.preparation.config.case == "restored":
        label, text = found[-1]
        found[-1] = (label, closed(text))
    return found


# Nothing in a summary that its dialogue does not hold: constraints where they are broken.


# Search with all names, numbers and ids of a dialogue as constraints would need the pieces of every
# word. Here search goes on freely, `metrics.faithfulness` looks at what was said, and only what
# the dialogue does not bear out is forbidden, for that dialogue, and searched for again.


ROUNDS = 4
"""How often a window is searched again at most."""

HARD: tuple[FindingKind, ...] = ("name", "speaker", "number", "entity", "oneself")
"""What is kept out: kinds in which the rules are hardly ever wrong (docs/explanation/trust.md)."""

Banned: TypeAlias = tuple[tuple[int, ...], ...]
"""Sequences of token ids that may not be said."""


def violations(text: str, dialogue: Dialogue) -> tuple[Finding, ...]:
    """What of a text the dialogue does not bear out, of the kinds that are kept out."""
    return findings(text, dialogue, HARD)


def rerank_by_findings(
    bundle: Bundle, window: Window, drafts: Sequence[Draft], wanted: int
) -> tuple[tuple[Draft, ...], bool]:
    """The best ``wanted`` drafts, clean ones first, and whether there is one.

    Those behind the last that is needed are not looked at.
    """
    clean: list[Draft] = []
    other: list[Draft] = []
    for draft in drafts:
        if len(clean) == wanted:
            break
        parts = parts_of(bundle, draft, window.example, window.encoded)
        found = violations("".join(text for _, text in parts), window.dialogue)
        (other if found else clean).append(draft)
    return (*clean, *other)[:wanted], bool(clean)


def banned_ngrams(bundle: Bundle, window: Window, draft: Draft) -> set[tuple[int, ...]]:
    """The token sequences that spell what is at fault in a draft."""
    found: set[tuple[int, ...]] = set()
    parts = parts_of(bundle, draft, window.example, window.encoded)
    wrong = violations("".join(text for _, text in parts), window.dialogue)
    read, start = reader(bundle, window.example, window.encoded), 0
    for (_, text), hypothesis in zip(parts, draft.parts, strict=True):
        begin = start + len(text) - len(text.lstrip())
        here = [f for f in wrong if begin <= f.start < start + len(text)]
        if here:
            ends = ends_of(hypothesis.tokens, read)
            spans = ((f.start - begin, f.end - begin) for f in here)
            found |= set(_sequences(hypothesis.tokens, ends, spans))
        start += len(text)
    return found


def _sequences(
    tokens: Sequence[int], ends: Sequence[int], spans: Iterable[tuple[int, int]]
) -> Iterable[tuple[int, ...]]:
    """The tokens that cover each span of characters."""
    for start, end in spans:
        first = next((i for i, stop in enumerate(ends) if stop > start), len(tokens))
        last = next((i for i, stop in enumerate(ends) if stop >= end), len(tokens) - 1)
        if first <= last:
            yield tuple(tokens[first : last + 1])
