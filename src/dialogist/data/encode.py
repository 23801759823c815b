"""From prepared text to token ids within the model's limits; every cut is counted."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from itertools import accumulate, groupby
from operator import add
from typing import TypeAlias

from pydantic import Field

from dialogist.config import Config
from dialogist.records import Coverage, Example
from dialogist.tensors import FIRST_KEY_POINT
from dialogist.language.tokens import counted
from dialogist.tokenizers import PlanTokens, Tokenizer


class Limits(Config):
    """What a model reads and writes at most, in its own tokens; None is no limit.

    ``utterance_tokens``: of an utterance. ``utterances``: of a dialogue. ``source_tokens``: of the
    dialogue, begin and end symbols in. ``summary_tokens``: of the summary, begin and end symbols
    in, and with ``preparation.plan: prefix`` the plan, which is two tokens for each key point.
    ``sub_summary_tokens``: of each sub-summary where references are cut by key points, its end
    symbol not counted. ``keep_end``: a cut sequence still ends with the end symbol; the reports'
    padding function cuts it off instead (their models never see the end of a long summary).
    """

    utterance_tokens: int | None = Field(None, ge=1)
    utterances: int | None = Field(None, ge=1)
    source_tokens: int | None = Field(512, ge=3)
    summary_tokens: int | None = Field(128, ge=3)
    sub_summary_tokens: int | None = Field(None, ge=1)
    keep_end: bool = True

    @property
    def reads(self) -> str:
        """How much of a dialogue is read at most, for people."""
        return _said(
            (self.source_tokens, "tokens"),
            (self.utterances, "utterances"),
            (self.utterance_tokens, "tokens of an utterance"),
        )

    @property
    def writes(self) -> str:
        """How long a summary can be at most, for people."""
        return _said(
            (self.summary_tokens, "tokens"), (self.sub_summary_tokens, "tokens about a key point")
        )


def _said(*limits: tuple[int | None, str]) -> str:
    said = [f"{number} {what}" for number, what in limits if number is not None]
    return " and ".join(said) or "any number of tokens"


@dataclass(frozen=True, slots=True)
class Encoded:
    """One dialogue as token ids.

    ``source`` is begin + utterances + end; utterance ``i`` starts at ``starts[i]``. ``targets``
    hold one sequence per reference, begin and end in. ``plans`` hold for each target its key points
    and where their sub-summaries end, if references were cut by key points; none where targets say
    so themselves, as a prefix. ``unknown`` are the words behind ids from V on, if these are told
    apart. ``coverage`` tells what did not fit.
    """

    source: tuple[int, ...]
    starts: tuple[int, ...]
    targets: tuple[tuple[int, ...], ...] = ()
    plans: tuple["EncodedPlan", ...] = ()
    unknown: tuple[str, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    id: str = ""


@dataclass(frozen=True, slots=True)
class EncodedPlan:
    """The key points of one target (`dialogist.tensors`): K ids, and K ends of their sub-summaries.

    Sub-summary ``i`` is ``target[ends[i - 1]:ends[i]]``, the first from 1, after the begin symbol.
    """

    key_points: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()


@dataclass(slots=True)
class Cuts:
    """How much of a data set exceeds the limits: ``cut`` of ``dialogues`` lose ``tokens_lost``.

    ``unread``: dialogues of which no token is left; nothing is learned from these.
    """

    dialogues: int = 0
    cut: int = 0
    tokens_lost: int = 0
    summaries_cut: int = 0
    unread: int = 0

    def add(self, coverage: Coverage) -> None:
        """Count one dialogue."""
        self.dialogues += 1
        self.summaries_cut += coverage.target_cut > 0
        self.unread += coverage.tokens_read == 0
        if not coverage.complete:
            self.cut += 1
            self.tokens_lost += coverage.tokens - coverage.tokens_read

    def __add__(self, other: "Cuts") -> "Cuts":
        return Cuts(*map(add, astuple(self), astuple(other)))

    def __str__(self) -> str:
        """One line for people."""
        share = 100 * self.cut / max(1, self.dialogues)
        unread = f"; {self.unread} have no token and are left out" if self.unread else ""
        return (
            f"{counted(self.dialogues, 'dialogues')}; {self.cut} ({share:.1f}%) exceed the "
            f"source limit and lose {self.tokens_lost} tokens; "
            f"{self.summaries_cut} summaries are cut{unread}"
        )


def encode(
    example: Example,
    tokenizer: Tokenizer,
    limits: Limits,
    labels: Sequence[str] = (),
    tell_unknown_apart: bool = False,
    plan: PlanTokens | None = None,
) -> Encoded:
    """Encode one example (see `Encoded`); limits are applied from utterance to whole.

    ``labels`` are those of the rule pack that cut the targets, if one did. With ``plan`` targets
    begin with their labels.
    """
    words = _Words(tokenizer, tell_unknown_apart)
    whole = [words.of_source(f"{u.speaker} {u.text}") for u in example.utterances]
    kept = [ids[: limits.utterance_tokens] for ids in whole[: limits.utterances]]
    body = [token for ids in kept for token in ids]
    read = _room(len(body), limits.source_tokens, limits.keep_end)
    words.only(body[:read])
    offsets = list(accumulate(map(len, kept), initial=1))[:-1]
    starts = [offset for offset in offsets if offset <= read]
    make = _target if plan is None else _Planned(plan).target
    targets = [make(example, i, words, limits, labels) for i in range(len(example.targets))]
    apart = bool(example.sub_summaries) and plan is None
    coverage = Coverage(
        utterances=len(whole),
        # An utterance without tokens (words only, text "...") at the very end is read as well.
        utterances_read=sum(o <= read + (not ids) for o, ids in zip(offsets, kept, strict=True)),
        tokens=sum(map(len, whole)),
        tokens_read=read,
        target_cut=sum(target.cut for target in targets),
    )
    return Encoded(
        source=_enclosed(body, tokenizer, limits.source_tokens, limits.keep_end),
        starts=tuple(starts),
        targets=tuple(target.ids for target in targets),
        plans=tuple(target.plan for target in targets) if apart else (),
        unknown=tuple(words.unknown),
        coverage=coverage,
        id=example.id,
    )


def tokens_read(example: Example, tokenizer: Tokenizer, limits: Limits) -> list[tuple[int, int]]:
    """Of each utterance how many tokens are read, and how many it has."""
    sizes = [len(tokenizer.encode_turn(f"{u.speaker} {u.text}")) for u in example.utterances]
    most = len(sizes) if limits.utterances is None else limits.utterances
    kept = [min(size, limits.utterance_tokens or size) * (i < most) for i, size in enumerate(sizes)]
    room = _room(sum(kept), limits.source_tokens, limits.keep_end)
    offsets = accumulate(kept, initial=0)
    read = [min(size, max(0, room - start)) for size, start in zip(kept, offsets, strict=False)]
    return list(zip(read, sizes, strict=True))


class _Words:
    """Text to ids, unknown words being told apart or not.

    A target can only copy what the model reads: unknown words beyond the limits stay unknown.
    """

    def __init__(self, tokenizer: Tokenizer, tell_unknown_apart: bool) -> None:
        self.tokenizer = tokenizer
        self.apart = tell_unknown_apart
        self.unknown: dict[str, int] = {}
        self._read: dict[str, int] = {}

    def of_source(self, text: str) -> list[int]:
        if not self.apart:
            return self.tokenizer.encode_turn(text)
        return self.tokenizer.encode_extended(text, self.unknown, grow=True)

    def only(self, read: Sequence[int]) -> None:
        """Say which source tokens the model reads."""
        ids = frozenset(read)
        self._read = {word: i for word, i in self.unknown.items() if i in ids}

    def of_target(self, text: str) -> list[int]:
        if not self.apart:
            return self.tokenizer.encode(text)
        return self.tokenizer.encode_extended(text, self._read, grow=False)


@dataclass(frozen=True, slots=True)
class _Target:
    ids: tuple[int, ...]
    cut: int
    plan: EncodedPlan = EncodedPlan()


def _target(
    example: Example, number: int, words: _Words, limits: Limits, labels: Sequence[str]
) -> _Target:
    """Begin + words + end of one reference, its sub-summaries one after the other."""
    if not example.sub_summaries:
        parts, key_points = [words.of_target(example.targets[number])], []
        kept = parts
    else:
        sub_summaries = example.sub_summaries[number]
        parts = [words.of_target(part.text) for part in sub_summaries]
        kept = [ids[: limits.sub_summary_tokens] for ids in parts]
        key_points = [FIRST_KEY_POINT + labels.index(part.label) for part in sub_summaries]
    body = [token for ids in kept for token in ids]
    room = _room(len(body), limits.summary_tokens, limits.keep_end)
    # With the last words go the last key points: all but the first that ends where words do.
    ends = [min(end, room) + 1 for end in accumulate(map(len, kept))]
    whole = len(ends)
    if room < len(body):
        whole = next(i for i, end in enumerate(ends, 1) if end > room)
    return _Target(
        ids=_enclosed(body, words.tokenizer, limits.summary_tokens, limits.keep_end),
        cut=sum(map(len, parts)) - room,
        plan=EncodedPlan(tuple(key_points[:whole]), tuple(ends[:whole])),
    )


@dataclass(frozen=True, slots=True)
class _Planned:
    """Makes targets that begin with their plan (`dialogist.tokenizers.special_tokens`)."""

    plan: PlanTokens

    def target(
        self, example: Example, number: int, words: _Words, limits: Limits, labels: Sequence[str]
    ) -> _Target:
        """Begin + labels + sub-summaries, a border before each, + end of one reference."""
        found = [
            (labels.index(part.label), words.of_target(part.text))
            for part in example.sub_summaries[number]
        ]
        said = [(label, ids[: limits.sub_summary_tokens]) for label, ids in found if ids]
        # What a tokenizer has no token for is left out, and its neighbours may have one label.
        parts = [
            (label, [token for _, ids in group for token in ids])
            for label, group in groupby(said, key=lambda part: part[0])
        ]
        kept = self._kept(parts, limits)
        body = self.plan.written((label for label, _ in kept), (ids for _, ids in kept))
        return _Target(
            ids=_enclosed(body, words.tokenizer, limits.summary_tokens, limits.keep_end),
            cut=sum(len(ids) for _, ids in found) - sum(len(ids) for _, ids in kept),
        )

    def _kept(self, parts: Sequence["_Part"], limits: Limits) -> list["_Part"]:
        """As much as fits: with the last words of a sub-summary go its label and its border."""
        room = _room(sum(len(ids) + 2 for _, ids in parts), limits.summary_tokens, limits.keep_end)
        kept: list[_Part] = []
        for label, ids in parts:
            room -= 2
            if room < 1:
                break
            kept.append((label, ids[:room]))
            room -= len(kept[-1][1])
        return kept


_Part: TypeAlias = tuple[int, list[int]]
"""A sub-summary: which label (from 0), and its words' ids."""


def _room(length: int, limit: int | None, keep_end: bool) -> int:
    """How many of ``length`` ids fit beside begin (and end, where it is kept in a cut)."""
    return length if limit is None else min(length, limit - 1 - int(keep_end))


def _enclosed(
    ids: Sequence[int], tokenizer: Tokenizer, limit: int | None, keep_end: bool
) -> tuple[int, ...]:
    """Begin + ids + end, cut to ``limit``."""
    room = _room(len(ids), limit, keep_end)
    return (tokenizer.bos_id, *ids[:room], tokenizer.eos_id)[:limit]
