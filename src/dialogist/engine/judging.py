"""What a summary says of itself: its status, and warnings with the place they are about."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dialogist.engine.legible import shortness
from dialogist.engine.options import SummaryOptions
from dialogist.engine.reading import Reading
from dialogist.engine.written import Written
from dialogist.metrics.faithfulness import FindingKind, findings
from dialogist.records import Coverage, Status, Summary, Warning, WarningKind
from dialogist.text.listing import counted
from dialogist.text.words import count_words

_MESSAGES: dict[FindingKind, tuple[WarningKind, str]] = {
    "name": ("name", "'{}' is not in the dialogue"),
    "speaker": ("speaker", "nobody in the dialogue is called '{}'"),
    "number": ("number", "the dialogue does not bear out '{}'"),
    "entity": ("entity", "the dialogue does not bear out '{}'"),
    "swap": ("swap", "who does what may be mixed up here: '{}'"),
    "negation": ("negation", "this may deny what the dialogue does not: '{}'"),
}


def refused(reading: Reading, model: str) -> Summary:
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
    reading: Reading,
    written: Sequence[Written],
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


def judged(summary: Summary, reading: Reading, options: SummaryOptions) -> Summary:
    """The summary with its status, the gravest that holds."""
    status, reason = _status(summary, reading, options)
    return replace(summary, status=status, reason=reason)


def _status(summary: Summary, reading: Reading, options: SummaryOptions) -> tuple[Status, str]:
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


def _of_input(reading: Reading) -> Iterator[Warning]:
    yield from (Warning("input", note) for note in reading.example.notes)


def _of_search(written: Sequence[Written]) -> Iterator[Warning]:
    drafts = [window.drafts[0] for window in written if window.drafts]
    if not all(draft.finished for draft in drafts):
        yield Warning("cut", "the summary reached max_tokens and stops there")
    if not all(draft.planned for draft in drafts):
        prefix = any(draft.whole is not None for draft in drafts)
        limit = "max_tokens before its plan ended" if prefix else "max_key_points"
        yield Warning("plan_cut", f"the summary reached {limit} and stops there")
