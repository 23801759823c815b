"""From prepared text to token ids within the model's limits; every cut is counted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from dialogist.data.prepare import Limits
from dialogist.records import Coverage, Example, Utterance
from dialogist.tokenizers import Tokenizer


@dataclass(frozen=True, slots=True)
class Encoded:
    """One dialogue as token ids.

    ``source`` is begin + utterances + end; utterance ``i`` starts at ``starts[i]``. ``targets``
    hold one sequence per reference, begin and end in. ``coverage`` tells what did not fit.
    """

    source: tuple[int, ...]
    starts: tuple[int, ...]
    targets: tuple[tuple[int, ...], ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    id: str = ""


@dataclass(slots=True)
class Cuts:
    """How much of a data set exceeds the limits: ``cut`` of ``dialogues`` lose ``tokens_lost``."""

    dialogues: int = 0
    cut: int = 0
    tokens_lost: int = 0
    summaries_cut: int = 0

    def add(self, coverage: Coverage) -> None:
        """Count one dialogue."""
        self.dialogues += 1
        self.summaries_cut += coverage.target_cut > 0
        if not coverage.complete:
            self.cut += 1
            self.tokens_lost += coverage.tokens - coverage.tokens_read

    def __add__(self, other: "Cuts") -> "Cuts":
        return Cuts(
            self.dialogues + other.dialogues,
            self.cut + other.cut,
            self.tokens_lost + other.tokens_lost,
            self.summaries_cut + other.summaries_cut,
        )

    def __str__(self) -> str:
        """One line for people."""
        share = 100 * self.cut / max(1, self.dialogues)
        return (
            f"{self.dialogues} dialogues; {self.cut} ({share:.1f}%) exceed the source limit and "
            f"lose {self.tokens_lost} tokens; {self.summaries_cut} summaries are cut"
        )


def encode(example: Example, tokenizer: Tokenizer, limits: Limits) -> Encoded:
    """Encode one example (see `Encoded`); limits are applied from utterance to whole."""
    whole = [_utterance_ids(u, tokenizer) for u in example.utterances]
    kept = [ids[: limits.utterance_tokens] for ids in whole[: limits.utterances]]
    body = [token for ids in kept for token in ids]
    read = _room(len(body), limits.source_tokens, limits.keep_end)
    offsets = list(accumulate(map(len, kept), initial=1))[:-1]
    starts = [offset for offset in offsets if offset <= read]
    texts = [tokenizer.encode(text) for text in example.targets]
    rooms = [_room(len(ids), limits.summary_tokens, limits.keep_end) for ids in texts]
    coverage = Coverage(
        utterances=len(whole),
        # An utterance without tokens (words only, text "...") at the very end is read as well.
        utterances_read=sum(o <= read + (not ids) for o, ids in zip(offsets, kept, strict=True)),
        tokens=sum(map(len, whole)),
        tokens_read=read,
        target_cut=sum(map(len, texts)) - sum(rooms),
    )
    return Encoded(
        source=_enclosed(body, tokenizer, limits.source_tokens, limits.keep_end),
        starts=tuple(starts),
        targets=tuple(
            _enclosed(ids, tokenizer, limits.summary_tokens, limits.keep_end) for ids in texts
        ),
        coverage=coverage,
        id=example.id,
    )


def _utterance_ids(utterance: Utterance, tokenizer: Tokenizer) -> list[int]:
    """The speaker's placeholder, where there is one, then the text."""
    return tokenizer.encode(f"{utterance.speaker} {utterance.text}")


def _room(length: int, limit: int | None, keep_end: bool) -> int:
    """How many of ``length`` ids fit beside begin (and end, where it is kept in a cut)."""
    return length if limit is None else min(length, limit - 1 - int(keep_end))


def _enclosed(
    ids: Sequence[int], tokenizer: Tokenizer, limit: int | None, keep_end: bool
) -> tuple[int, ...]:
    """Begin + ids + end, cut to ``limit``."""
    room = _room(len(ids), limit, keep_end)
    return (tokenizer.bos_id, *ids[:room], tokenizer.eos_id)[:limit]
