"""What a summary says of itself: its status, and warnings with the place they are about."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Draft, SearchedWindow, Window
from dialogist.engine.isolation import shortness
from dialogist.engine.options import SummaryOptions
from dialogist.engine.segmenting import SegmentedDialogue
from dialogist.engine.token_offsets import ends_of, parts_of, reader
from dialogist.metrics.faithfulness import Finding, FindingKind, findings
from dialogist.records import Coverage, Dialogue, Status, Summary, Warning, WarningKind
from dialogist.text.tokens import count_words, counted

_MESSAGES: dict[FindingKind, tuple[WarningKind, str]] = {
    "name": ("name", "'{}' is not in the dialogue"),
    "speaker": ("speaker", "nobody in the dialogue is called '{}'"),
    "number": ("number", "the dialogue does not bear out '{}'"),
    "entity": ("entity", "the dialogue does not bear out '{}'"),
    "swap": ("swap", "who does what may be mixed up here: '{}'"),
    "negation": ("negation", "this may deny what the dialogue does not: '{}'"),
}


def refused(reading: SegmentedDialogue, model: str) -> Summary:
    """The summary of a dialogue of which nothing can be said."""
    assert reading.refused is not None
    status, reason = reading.refused
    return Summary(
        text="",
        id=reading.dialogue.id,
        status=status,
        reason=reason,
        coverage=reading.coverage,
        warnings=(*_of_input(reading), Warning("not_read", reason)),
        model=model,
    )


def warnings_of(
    summary: Summary,
    reading: SegmentedDialogue,
    written: Sequence[SearchedWindow],
    unsaid: Sequence[str],
    options: SummaryOptions,
) -> Iterator[Warning]:
    """Everything to know before trusting a summary; ``unsaid`` was left out of it."""
    yield from _of_input(reading)
    if not summary.coverage.complete:
        yield Warning("truncated", _unread(summary.coverage))
    yield from _of_search(written)
    for text in unsaid:
        yield Warning("removed", f"left out, for the dialogue does not bear it out: '{text}'")
    for found in findings(summary.text, reading.dialogue):
        kind, message = _MESSAGES[found.kind]
        yield Warning(kind, message.format(found.text), found.start, found.end, found.text)
    words = options.words
    if words is not None and count_words(summary.text) > words:
        yield Warning(
            "length", f"the shortest whole sentence has more than {counted(words, 'words')}"
        )


def judged(summary: Summary, reading: SegmentedDialogue, options: SummaryOptions) -> Summary:
    """The summary with its status, the gravest that holds."""
    status, reason = _status(summary, reading, options)
    return replace(summary, status=status, reason=reason)


def _status(
    summary: Summary, reading: SegmentedDialogue, options: SummaryOptions
) -> tuple[Status, str]:
    removed = any(warning.kind == "removed" for warning in summary.warnings)
    if not summary.coverage.complete:
        return "truncated", _unread(summary.coverage)
    if short := shortness(reading.dialogue):
        return "too_short", short
    if not summary.text:
        said = "nothing that it bears out was found to say" if removed else "nothing was said"
        return "low_confidence", said
    floor = options.low_confidence
    if floor is not None and summary.score is not None and summary.score < floor:
        return "low_confidence", f"the model was unsure: mean log-probability {summary.score:.2f}"
    return "ok", ""


def _unread(coverage: Coverage) -> str:
    return (
        f"only {coverage.tokens_read} of {coverage.tokens} tokens and "
        f"{coverage.utterances_read} of {coverage.utterances} utterances were read: "
        "the dialogue is longer than this model can take"
    )


def _of_input(reading: SegmentedDialogue) -> Iterator[Warning]:
    yield from (Warning("input", note) for note in reading.example.notes)


def _of_search(written: Sequence[SearchedWindow]) -> Iterator[Warning]:
    drafts = [window.drafts[0] for window in written if window.drafts]
    if not all(draft.finished for draft in drafts):
        yield Warning("cut", "the summary reached max_tokens and stops there")
    if not all(draft.planned for draft in drafts):
        prefix = any(draft.whole is not None for draft in drafts)
        limit = "max_tokens before its plan ended" if prefix else "max_key_points"
        yield Warning("plan_cut", f"the summary reached {limit} and stops there")


# Nothing in a summary that its dialogue does not hold: constraints where they are broken.
#
# Search with all names, numbers and ids of a dialogue as constraints would need the pieces of every
# word. Here search goes on freely, `metrics.faithfulness` looks at what was said, and only what
# the dialogue does not bear out is forbidden, for that dialogue, and searched for again.


ROUNDS = 4
"""How often a window is searched again at most."""

HARD: tuple[FindingKind, ...] = ("name", "speaker", "number", "entity", "oneself")
"""What is kept out: kinds in which the rules are hardly ever wrong (docs/explanation/trust.md)."""

Banned: TypeAlias = tuple[tuple[int, ...], ...]
"""Sequences of token ids that may not be said."""


def faults(text: str, dialogue: Dialogue) -> tuple[Finding, ...]:
    """What of a text the dialogue does not bear out, of the kinds that are kept out."""
    return findings(text, dialogue, HARD)


def clean_first(
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
        found = faults("".join(text for _, text in parts), window.dialogue)
        (other if found else clean).append(draft)
    return (*clean, *other)[:wanted], bool(clean)


def bans_of(bundle: Bundle, window: Window, draft: Draft) -> set[tuple[int, ...]]:
    """The token sequences that spell what is at fault in a draft."""
    found: set[tuple[int, ...]] = set()
    parts = parts_of(bundle, draft, window.example, window.encoded)
    wrong = faults("".join(text for _, text in parts), window.dialogue)
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
