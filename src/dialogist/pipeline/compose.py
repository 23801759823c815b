"""What was said of a dialogue's windows becomes its `Summary`, with status and warnings."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.checks.evidence import DIGITS, find_evidence
from dialogist.data.entities import EntityKey, compared, find_entities
from dialogist.metrics.faithfulness import FindingKind, findings
from dialogist.model_folder.bundle import Bundle
from dialogist.model_folder.options import SummaryOptions
from dialogist.pipeline.drafts import (
    Draft,
    Window,
    ends_of,
    parts_of,
    reader,
    token_ranges,
    violations,
)
from dialogist.pipeline.isolation import shortness
from dialogist.pipeline.windows import (
    SegmentedDialogue,
    SummarySentence,
    deduplicate,
    gap_behind,
    select_sentences,
    summary_sentences,
)
from dialogist.records import (
    Coverage,
    Entity,
    EvidenceSpan,
    Example,
    Statement,
    Status,
    Summary,
    Warning,
    WarningKind,
)
from dialogist.language.chat_spelling import expanded
from dialogist.language.tokens import (
    count_words,
    counted,
)
from dialogist.tokenizers.special_tokens import entity_kind, readable_entity

# What a summary says of itself: its status, and warnings with the place they are about.


_MESSAGES: dict[FindingKind, tuple[WarningKind, str]] = {
    "name": ("name", "'{}' is not in the dialogue"),
    "speaker": ("speaker", "nobody in the dialogue is called '{}'"),
    "number": ("number", "the dialogue does not bear out '{}'"),
    "entity": ("entity", "the dialogue does not bear out '{}'"),
    "swap": ("swap", "who does what may be mixed up here: '{}'"),
    "negation": ("negation", "this may deny what the dialogue does not: '{}'"),
}


def rejected(reading: SegmentedDialogue, model: str) -> Summary:
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
    unsaid: Sequence[str],
    options: SummaryOptions,
) -> Iterator[Warning]:
    """Everything to know before trusting a summary; ``unsaid`` was left out of it."""
    yield from _of_input(reading)
    if not summary.coverage.complete:
        yield Warning("truncated", _unread(summary.coverage))
    yield from _of_search(reading.windows)
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


def assign_status(summary: Summary, reading: SegmentedDialogue, options: SummaryOptions) -> Summary:
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


def _of_search(windows: Sequence[Window]) -> Iterator[Warning]:
    drafts = [window.drafts[0] for window in windows if window.drafts]
    if not all(draft.finished for draft in drafts):
        yield Warning("cut", "the summary reached max_tokens and stops there")
    if not all(draft.planned for draft in drafts):
        prefix = any(draft.whole is not None for draft in drafts)
        limit = "max_tokens before its plan ended" if prefix else "max_key_points"
        yield Warning("plan_cut", f"the summary reached {limit} and stops there")


# `compose`: what was said of a dialogue's windows becomes its `Summary`.


# The values of a dialogue: where said, what the model saw instead, what the summary has.


def entities_of(reading: SegmentedDialogue, summary: str) -> Iterator[Entity]:
    """Phone numbers, times, amounts ... in the order they were said."""
    masks = _masks(reading.example)
    for number, utterance in enumerate(reading.dialogue.utterances):
        for span in find_entities(utterance.text):
            said = utterance.text[span.start : span.end]
            yield Entity(
                kind=span.kind,
                text=said,
                utterance=number,
                start=span.start,
                end=span.end,
                mask=masks.get(compared(span.kind, said), ""),
                in_summary=_holds(summary, said),
            )


def _masks(example: Example) -> dict[EntityKey, str]:
    """What stood for each value, as people are shown it; none where entities stay text."""
    return {
        compared(entity_kind(character), said): readable_entity(character)
        for character, said in example.entities.items()
    }


def _holds(text: str, value: str) -> bool:
    """Whether the text has the value by itself: not ``5`` for its ``15``."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


SHORT = 0.6
"""A short summary has at most this part of the words of a medium one."""

SHORTEST, MEDIUM = 60, 150
"""Words at most of a short and of a medium summary of a dialogue read in windows."""


def compose(
    bundle: Bundle, reading: SegmentedDialogue, options: SummaryOptions
) -> tuple[Summary, tuple[SummarySentence, ...]]:
    """The summary of one dialogue whose windows were searched, and where its sentences stand.

    Evidence and timings are still missing.
    """
    composer = _Composer(bundle, reading, options)
    said = composer.said()
    kept, removed = composer.safe(said)
    chosen, more = composer.safe(composer.sized(deduplicate(kept)))
    parts = composer.parts(chosen, whole=len(chosen) == len(said))
    text = "".join(part for _, part in parts)
    alternatives, left_out = composer.alternatives()
    summary = Summary(
        text=text,
        id=reading.dialogue.id,
        score=_score([w.drafts[0] for w in reading.windows if w.drafts]),
        key_points=tuple(_key_points(parts)),
        sentences=tuple(_located(text, chosen)),
        coverage=reading.coverage,
        entities=tuple(entities_of(reading, text)),
        alternatives=alternatives,
        model=bundle.name,
    )
    unsaid = [*(one.text for one in (*removed, *more)), *left_out]
    warnings = tuple(warnings_of(summary, reading, unsaid, options))
    summary = assign_status(replace(summary, warnings=warnings), reading, options)
    return summary, tuple(chosen)


class _Composer:
    def __init__(self, bundle: Bundle, reading: SegmentedDialogue, options: SummaryOptions) -> None:
        self.bundle, self.reading = bundle, reading
        self.windows, self.options = reading.windows, options
        self.pack = bundle.preparation.pack

    def said(self) -> list[SummarySentence]:
        """All sentences of all windows."""
        return [
            replace(sentence, text=self._expanded(sentence.text))
            for number, window in enumerate(self.windows)
            for place, (label, text) in enumerate(self._written(window))
            for sentence in self._labelled(
                summary_sentences(text, number, place, label), text.strip()
            )
        ]

    def _labelled(self, said: Sequence[SummarySentence], text: str) -> Sequence[SummarySentence]:
        """By the rules of the model's pack where it writes no key points (KDD'19, section 4.2)."""
        if self.pack is None or all(one.label for one in said):
            return said
        found = self.pack.analyse_sentences(text)
        starts = [sentence.start for sentence in found]
        labels = [found[bisect_right(starts, one.start) - 1].label for one in said]
        return [replace(one, label=label) for one, label in zip(said, labels, strict=True)]

    def safe(
        self, said: Sequence[SummarySentence]
    ) -> tuple[list[SummarySentence], list[SummarySentence]]:
        """Sentences without fault, and those with one that search could not mend."""
        kept, removed = list(said), list[SummarySentence]()
        while self.options.safe and kept:
            text = "".join(part for _, part in self.parts(kept, whole=False))
            found = violations(text, self.reading.dialogue)
            wrong = {
                number
                for number, place in enumerate(_located(text, kept))
                if any(place.start < one.end and one.start < place.end for one in found)
            }
            if not wrong:
                break
            removed += [kept[i] for i in sorted(wrong)]
            kept = [one for i, one in enumerate(kept) if i not in wrong]
        return kept, removed

    def sized(self, said: Sequence[SummarySentence]) -> list[SummarySentence]:
        """As many sentences as the wished length allows."""
        asked, several = self.options, len(self.windows) > 1
        limits = [] if asked.words is None else [asked.words]
        if asked.length == "short":
            own = sum(count_words(one.text) for one in said)
            limits.append(SHORTEST if several else int(SHORT * own))
        if asked.length == "medium" and several:
            limits.append(MEDIUM)
        return select_sentences(said, min(limits)) if limits and said else list(said)

    def parts(self, said: Sequence[SummarySentence], whole: bool) -> list[tuple[str, str]]:
        """(label, text) of each part; joined, the texts are the summary.

        What one window says is left as it was written if nothing of it is missing (``whole``).
        """
        if whole and len(self.windows) == 1:
            parts = self._parts(self.windows[0])
            if self.pack is None or any(label for label, _ in parts):
                return parts
            text = "".join(text for _, text in parts)
            return [(part.label, part.text) for part in self.pack.analyse(text)]
        found: list[tuple[str, str]] = []
        last: tuple[int, int, str] | None = None
        for one in said:
            gap = gap_behind(found[-1][1]) if found else ""
            if last == (one.window, one.part, one.label):
                found[-1] = (one.label, found[-1][1] + gap + one.text)
            else:
                found.append((one.label, gap + one.text))
            last = (one.window, one.part, one.label)
        return found

    def alternatives(self) -> tuple[tuple[str, ...], list[str]]:
        """The other hypotheses of a dialogue that was read in one, and those that are unsafe."""
        if len(self.windows) != 1:
            return (), []
        [window] = self.windows
        drafts = (self._parts(window, draft) for draft in window.drafts[1:])
        texts = ["".join(text for _, text in parts) for parts in drafts]
        if not self.options.safe:
            return tuple(texts), []
        wrong = [text for text in texts if violations(text, self.reading.dialogue)]
        return tuple(text for text in texts if text not in wrong), wrong

    def _parts(self, window: Window, draft: Draft | None = None) -> list[tuple[str, str]]:
        written = self._written(window, draft)
        return [(label, self._expanded(text)) for label, text in written]

    def _expanded(self, text: str) -> str:
        """Without contractions behind names, where the preparation restores written English."""
        config = self.bundle.preparation.config
        if config.case == "kept" or config.language != "en":
            return text
        return expanded(text, frozenset(self.reading.dialogue.speakers))

    def _written(self, window: Window, draft: Draft | None = None) -> list[tuple[str, str]]:
        if not window.drafts:
            return []
        chosen = draft or window.drafts[0]
        return parts_of(self.bundle, chosen, window.example, window.encoded)


def _key_points(parts: Sequence[tuple[str, str]]) -> Iterator[Statement]:
    place = 0
    for label, text in parts:
        if label:
            yield Statement(text, place, place + len(text), label)
        place += len(text)


def _located(text: str, said: Sequence[SummarySentence]) -> Iterator[Statement]:
    place = 0
    for one in said:
        start = text.find(one.text, place)
        place = start + len(one.text)
        yield Statement(one.text, start, place, one.label)


def _score(drafts: Sequence[Draft]) -> float | None:
    """The mean log-probability of a token over all windows."""
    tokens = sum(draft.tokens for draft in drafts)
    return sum(draft.mean_log_prob * draft.tokens for draft in drafts) / tokens if tokens else None


# Statements get the utterances they rest on, and how sure the model was of them.


Probabilities: TypeAlias = NDArray[np.float32]
"""(T,) natural logarithms of the probabilities of a sentence's tokens."""


def attach_evidence(
    bundle: Bundle, reading: SegmentedDialogue, summary: Summary, said: Sequence[SummarySentence]
) -> Summary:
    """A summary with evidence and confidence; ``said``: where its sentences stand."""
    count = len(reading.dialogue.utterances)
    traces = [_trace(bundle, reading.windows[one.window], one, count) for one in said]
    texts = [sentence.text for sentence in summary.sentences]
    evidence = find_evidence(reading.dialogue, texts, [attended for attended, _ in traces])
    sure = [log_probs for _, log_probs in traces]
    sentences = tuple(
        replace(sentence, evidence=spans, confidence=_confidence([own]))
        for sentence, spans, own in zip(summary.sentences, evidence, sure, strict=True)
    )
    key_points = tuple(_key_point(point, sentences, sure) for point in summary.key_points)
    coverage = replace(summary.coverage, use=_use(evidence, count))
    return replace(summary, sentences=sentences, key_points=key_points, coverage=coverage)


def _trace(
    bundle: Bundle, window: Window, said: SummarySentence, utterances: int
) -> tuple[NDArray[np.float32], Probabilities]:
    """Where the model looked for one sentence, (U,), and how sure it was of its tokens."""
    attention = window.attention
    assert attention is not None  # it was asked for
    part = window.drafts[0].parts[said.part]
    ends = ends_of(part.tokens, reader(bundle, window.example, window.encoded))
    [span] = token_ranges(ends, [(said.start, said.end)])
    log_probs = attention.parts[said.part].log_probs[slice(*span)]
    return attention.mean(said.part, span, utterances), log_probs


def _key_point(
    point: Statement, sentences: Sequence[Statement], sure: Sequence[Probabilities]
) -> Statement:
    inside = [i for i, one in enumerate(sentences) if point.start <= one.start < point.end]
    spans = _best(span for i in inside for span in sentences[i].evidence)
    return replace(point, evidence=spans, confidence=_confidence([sure[i] for i in inside]))


def _confidence(sure: Sequence[Probabilities]) -> float | None:
    """The geometric mean of the tokens' probabilities; None without any."""
    log_probs = np.concatenate(sure) if sure else np.zeros(0)
    return round(float(np.exp(log_probs.mean())), DIGITS) if len(log_probs) else None


def _best(spans: Iterable[EvidenceSpan]) -> tuple[EvidenceSpan, ...]:
    """Each place once, with its highest score, the best first."""
    best: dict[tuple[int, int, int], EvidenceSpan] = {}
    for span in sorted(spans, key=lambda s: (-s.score, s.utterance, s.start)):
        best.setdefault((span.utterance, span.start, span.end), span)
    return tuple(best.values())


def _use(evidence: Sequence[Sequence[EvidenceSpan]], utterances: int) -> tuple[float, ...]:
    """Each utterance's share of all scores."""
    scores = np.zeros(utterances)
    for spans in evidence:
        for span in spans:
            scores[span.utterance] += span.score
    total = scores.sum()
    return tuple((scores / total).round(DIGITS).tolist()) if total > 0 else ()
