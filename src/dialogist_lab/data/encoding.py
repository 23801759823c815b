"""From prepared text to token ids within the model's limits; every cut is counted."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from pydantic import Field

from dialogist.config import Config
from dialogist_lab.data.preparation import Example
from dialogist_lab.data.vocabulary import Tokenizer
from dialogist_lab.models.generator import FIRST_KEY_POINT


class Limits(Config):
    """What a model reads and writes at most, in its own tokens; None is no limit.

    ``utterance_tokens``: of an utterance. ``utterances``: of a dialogue. ``source_tokens``: of the
    dialogue, begin and end symbols in. ``summary_tokens``: of the summary, begin and end symbols
    in. ``sub_summary_tokens``: of each sub-summary where references are cut by key points.
    ``keep_end``: a cut sequence still ends with the end symbol; the reports' padding function cuts
    it off instead (their models never see the end of a long summary).
    """

    utterance_tokens: int | None = Field(None, ge=1)
    utterances: int | None = Field(None, ge=1)
    source_tokens: int | None = Field(512, ge=3)
    summary_tokens: int | None = Field(128, ge=3)
    sub_summary_tokens: int | None = Field(None, ge=1)
    keep_end: bool = True


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """A source and one of its targets, begin and end symbols in; for use without a target.

    Utterance ``i`` of the source starts at ``starts[i]``. ``key_points`` are those of the target
    (`dialogist_lab.models.generator`), if references were cut by key points, and sub-summary ``i``
    is ``target[ends[i - 1]:ends[i]]``, the first from 1, after the begin symbol.
    """

    source: tuple[int, ...]
    target: tuple[int, ...] = ()
    starts: tuple[int, ...] = ()
    key_points: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Encoded:
    """One dialogue as token ids: a pair per reference, or one without a target.

    ``unknown`` are the words behind ids from V on, if these are told apart. ``tokens`` were there,
    ``tokens_read`` are read; ``summaries_cut`` references were too long.
    """

    pairs: tuple[EncodedPair, ...]
    unknown: tuple[str, ...]
    tokens: int
    tokens_read: int
    summaries_cut: int


def encode(
    example: Example,
    tokenizer: Tokenizer,
    limits: Limits,
    labels: Sequence[str] = (),
    tell_unknown_apart: bool = False,
) -> Encoded:
    """Encode one example; limits are applied from utterance to whole.

    ``labels`` are those of the rule pack that cut the targets, if one did. A target can copy only
    what the model reads: unknown words beyond the limits stay unknown.
    """
    apart: dict[str, int] | None = {} if tell_unknown_apart else None
    whole = [tokenizer.encode(f"{u.speaker} {u.text}", apart) for u in example.utterances]
    kept = [ids[: limits.utterance_tokens] for ids in whole[: limits.utterances]]
    body = [token for ids in kept for token in ids]
    read = _room(len(body), limits.source_tokens, limits.keep_end)
    starts = [s for s in list(accumulate(map(len, kept), initial=1))[:-1] if s <= read]
    source = _enclosed(body, tokenizer, limits.source_tokens, limits.keep_end)
    unknown = tuple(apart or ())
    if apart is not None:
        seen = frozenset(body[:read])
        apart = {word: index for word, index in apart.items() if index in seen}
    pairs, summaries_cut = [], 0
    for number, text in enumerate(example.targets):
        parts, key_points = [tokenizer.encode(text, apart, grow=False)], []
        shortened = parts
        if example.sub_summaries:
            own = example.sub_summaries[number]
            parts = [tokenizer.encode(part, apart, grow=False) for _, part in own]
            shortened = [ids[: limits.sub_summary_tokens] for ids in parts]
            key_points = [FIRST_KEY_POINT + labels.index(label) for label, _ in own]
        body = [token for ids in shortened for token in ids]
        room = _room(len(body), limits.summary_tokens, limits.keep_end)
        ends = [min(end, room) + 1 for end in accumulate(map(len, shortened))]
        count = len(key_points)
        if key_points and room < len(body):  # with the last words go the last key points
            count = next(
                i for i, end in enumerate(accumulate(map(len, shortened)), 1) if end > room
            )
        target = _enclosed(body, tokenizer, limits.summary_tokens, limits.keep_end)
        points = tuple(key_points[:count])
        pairs.append(
            EncodedPair(
                source, target, tuple(starts), points, tuple(ends[:count] if points else ())
            )
        )
        summaries_cut += room < sum(map(len, parts))
    if not example.targets:
        pairs.append(EncodedPair(source, starts=tuple(starts)))
    return Encoded(tuple(pairs), unknown, sum(map(len, whole)), read, summaries_cut)


def _room(length: int, limit: int | None, keep_end: bool) -> int:
    """How many of ``length`` ids fit beside begin (and end, where it is kept in a cut)."""
    return length if limit is None else min(length, limit - 1 - int(keep_end))


def _enclosed(
    ids: Sequence[int], tokenizer: Tokenizer, limit: int | None, keep_end: bool
) -> tuple[int, ...]:
    """Begin + ids + end, cut to ``limit``."""
    room = _room(len(ids), limit, keep_end)
    symbols = tokenizer.symbols
    return (symbols.bos, *ids[:room], symbols.eos)[:limit]
