"""`compose`: what was said of a dialogue's windows becomes its `Summary`."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Draft
from dialogist.engine.entities import entities_of
from dialogist.engine.judging import judged, warnings_of
from dialogist.engine.merging import Said, choose, fold, gap_behind, sentences_of
from dialogist.engine.options import SummaryOptions
from dialogist.engine.reading import Reading
from dialogist.engine.safety import faults
from dialogist.engine.saying import parts_of
from dialogist.engine.written import Written
from dialogist.records import Statement, Summary
from dialogist.text.contractions import expanded
from dialogist.text.words import count_words

SHORT = 0.6
"""A short summary has at most this part of the words of a medium one."""

SHORTEST, MEDIUM = 60, 150
"""Words at most of a short and of a medium summary of a dialogue read in windows."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A summary, and where in what was written its sentences stand."""

    summary: Summary
    said: tuple[Said, ...] = ()


def compose(
    bundle: Bundle, reading: Reading, written: Sequence[Written], options: SummaryOptions
) -> Composed:
    """The summary of one dialogue, still without evidence and timings."""
    composer = _Composer(bundle, reading, written, options)
    said = composer.said()
    kept, removed = composer.safe(said)
    chosen, more = composer.safe(composer.sized(fold(kept)))
    parts = composer.parts(chosen, whole=len(chosen) == len(said))
    text = "".join(part for _, part in parts)
    alternatives, left_out = composer.alternatives()
    summary = Summary(
        text=text,
        id=reading.dialogue.id,
        score=_score([w.drafts[0] for w in written if w.drafts]),
        key_points=tuple(_key_points(parts)),
        sentences=tuple(_located(text, chosen)),
        coverage=reading.coverage,
        entities=tuple(entities_of(reading, text)),
        alternatives=alternatives,
        model=bundle.name,
    )
    unsaid = [*(one.text for one in (*removed, *more)), *left_out]
    warnings = tuple(warnings_of(summary, reading, written, unsaid, options))
    return Composed(judged(replace(summary, warnings=warnings), reading, options), tuple(chosen))


class _Composer:
    def __init__(
        self,
        bundle: Bundle,
        reading: Reading,
        written: Sequence[Written],
        options: SummaryOptions,
    ) -> None:
        self.bundle, self.reading = bundle, reading
        self.written, self.options = written, options
        self.pack = bundle.preparation.pack

    def said(self) -> list[Said]:
        """All sentences of all windows."""
        return [
            replace(sentence, text=self._expanded(sentence.text))
            for number, window in enumerate(self.written)
            for place, (label, text) in enumerate(self._written(window))
            for sentence in self._labelled(sentences_of(text, number, place, label), text.strip())
        ]

    def _labelled(self, said: Sequence[Said], text: str) -> Sequence[Said]:
        """By the rules of the model's pack where it writes no key points (KDD'19, section 4.2)."""
        if self.pack is None or all(one.label for one in said):
            return said
        found = self.pack.analyse_sentences(text)
        starts = [sentence.start for sentence in found]
        labels = [found[bisect_right(starts, one.start) - 1].label for one in said]
        return [replace(one, label=label) for one, label in zip(said, labels, strict=True)]

    def safe(self, said: Sequence[Said]) -> tuple[list[Said], list[Said]]:
        """Sentences without fault, and those with one that search could not mend."""
        kept, removed = list(said), list[Said]()
        while self.options.safe and kept:
            text = "".join(part for _, part in self.parts(kept, whole=False))
            found = faults(text, self.reading.dialogue)
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

    def sized(self, said: Sequence[Said]) -> list[Said]:
        """As many sentences as the wished length allows."""
        asked, several = self.options, len(self.written) > 1
        limits = [] if asked.words is None else [asked.words]
        if asked.length == "short":
            own = sum(count_words(one.text) for one in said)
            limits.append(SHORTEST if several else int(SHORT * own))
        if asked.length == "medium" and several:
            limits.append(MEDIUM)
        return choose(said, min(limits)) if limits and said else list(said)

    def parts(self, said: Sequence[Said], whole: bool) -> list[tuple[str, str]]:
        """(label, text) of each part; joined, the texts are the summary.

        What one window says is left as it was written if nothing of it is missing (``whole``).
        """
        if whole and len(self.written) == 1:
            parts = self._parts(self.written[0])
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
        if len(self.written) != 1:
            return (), []
        [window] = self.written
        drafts = (self._parts(window, draft) for draft in window.drafts[1:])
        texts = ["".join(text for _, text in parts) for parts in drafts]
        if not self.options.safe:
            return tuple(texts), []
        wrong = [text for text in texts if faults(text, self.reading.dialogue)]
        return tuple(text for text in texts if text not in wrong), wrong

    def _parts(self, window: Written, draft: Draft | None = None) -> list[tuple[str, str]]:
        written = self._written(window, draft)
        return [(label, self._expanded(text)) for label, text in written]

    def _expanded(self, text: str) -> str:
        """Without contractions behind names, where the preparation restores written English."""
        config = self.bundle.preparation.config
        if config.case == "kept" or config.language != "en":
            return text
        return expanded(text, frozenset(self.reading.dialogue.speakers))

    def _written(self, window: Written, draft: Draft | None = None) -> list[tuple[str, str]]:
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


def _located(text: str, said: Sequence[Said]) -> Iterator[Statement]:
    place = 0
    for one in said:
        start = text.find(one.text, place)
        place = start + len(one.text)
        yield Statement(one.text, start, place, one.label)


def _score(drafts: Sequence[Draft]) -> float | None:
    """The mean log-probability of a token over all windows."""
    tokens = sum(draft.tokens for draft in drafts)
    return sum(draft.mean_log_prob * draft.tokens for draft in drafts) / tokens if tokens else None
