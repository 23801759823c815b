"""`compose`: what was said of a dialogue's windows becomes its `Summary`."""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from dialogist.baselines.extractive import lexrank_scores
from dialogist.data.entities import EntityKey, compared, find_entities
from dialogist.engine.bundle import Bundle
from dialogist.engine.drafts import Draft, SearchedWindow
from dialogist.engine.judging import faults, judged, warnings_of
from dialogist.engine.options import SummaryOptions
from dialogist.engine.segmenting import SegmentedDialogue
from dialogist.engine.token_offsets import parts_of
from dialogist.records import Entity, Example, Statement, Summary
from dialogist.text.contractions import expanded
from dialogist.text.porter import stem_of
from dialogist.text.tokens import FUNCTION_WORDS, NEGATION, count_words, split_sentences, words_in
from dialogist.tokenizers.special_tokens import entity_kind, readable_entity

# Merging: what was said of the windows of a long dialogue becomes one summary.
#
# Sentences are chosen, never rewritten: a model would have to summarise summaries, which it has not
# learned, and a rewritten sentence has lost the utterances it rests on. Duplicates are folded into
# their first place; then, level by level, neighbours give up their least central sentences, so that
# every part of a dialogue of hours keeps its say.


MERGED_AT_ONCE = 4
"""How many neighbouring windows, then groups of windows, are looked at together."""

MANY = 4
"""How many times the wanted words are far too many."""

SEGMENT = 25
"""Words of each segment's share: about a sentence or two."""

ALIKE = 0.7
"""Sentences that share this part of the words of the shorter one say the same."""


_UNSPACED = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef][\"'”’]*$")


@dataclass(frozen=True, slots=True)
class SummarySentence:
    """A sentence: of which window and which part (key point) of what was said there.

    ``text`` is stripped. ``start`` and ``end`` are its characters in the part's stripped text as
    the model wrote it.
    """

    text: str
    window: int = 0
    part: int = 0
    label: str = ""
    start: int = 0
    end: int = 0


def summary_sentences(text: str, window: int, part: int, label: str) -> list[SummarySentence]:
    """The sentences of one part, with their places in its text."""
    found: list[SummarySentence] = []
    text, place = text.strip(), 0
    for sentence in split_sentences(text, small=True):
        start = text.find(sentence, place)
        place = start + len(sentence)
        found.append(SummarySentence(sentence, window, part, label, start, place))
    return found


def gap_behind(text: str) -> str:
    """What stands between a sentence and the next one: nothing in Chinese and Japanese."""
    return "" if _UNSPACED.search(text) else " "


def fold(said: Sequence[SummarySentence]) -> list[SummarySentence]:
    """Without sentences that another window has said already."""
    kept: list[SummarySentence] = []
    content: list[_Content] = []
    holding: dict[str, list[int]] = defaultdict(list)  # a stem's sentences, by number
    for one in said:
        words = _Content.of(one.text)
        shared = Counter(number for stem in words.stems for number in holding[stem])
        if any(
            kept[number].window != one.window and words.says_what(content[number], stems)
            for number, stems in shared.items()
        ):
            continue
        for stem in words.stems:
            holding[stem].append(len(kept))
        kept.append(one)
        content.append(words)
    return kept


def choose(said: Sequence[SummarySentence], words: int) -> list[SummarySentence]:
    """The most telling sentences with at most ``words`` words, in order; at least one.

    While there are far too many, `MERGED_AT_ONCE` neighbouring windows at a time give up half of
    their words; then the dialogue is taken in as many segments as there is room for, and each has
    its share.
    """
    kept, size = list(said), MERGED_AT_ONCE
    last = max((one.window for one in said), default=0) + 1
    while _length(kept) > MANY * words and size < last:
        groups = _grouped(kept, size)
        halves = [_length(kept[place] for place in group) / 2 for group in groups]
        kept = _thinned(kept, size, halves)
        size *= MERGED_AT_ONCE
    if _length(kept) <= words:
        return kept
    segments = max(1, min(last, words // SEGMENT))
    size = ceil(last / segments)
    shares = [words / segments] * len(_grouped(kept, size))
    kept = _thinned(kept, size, shares)
    return kept if _length(kept) <= words else _thinned(kept, last, [words])


def _grouped(said: Sequence[SummarySentence], size: int) -> list[list[int]]:
    """The places of the sentences of each ``size`` windows."""
    groups: dict[int, list[int]] = {}
    for place, one in enumerate(said):
        groups.setdefault(one.window // size, []).append(place)
    return list(groups.values())


def _thinned(
    said: Sequence[SummarySentence], size: int, words: Sequence[float]
) -> list[SummarySentence]:
    """The most central sentences of each group, as many words as it may keep, and one at least."""
    kept: set[int] = set()
    for group, room in zip(_grouped(said, size), words, strict=True):
        ranks = lexrank_scores([said[place].text for place in group])
        left, first = room, True
        for _, place in sorted(zip(ranks, group, strict=True), key=lambda pair: -pair[0]):
            own = count_words(said[place].text)
            if own <= left or first:
                kept.add(place)
                left -= own
                first = False
    return [one for place, one in enumerate(said) if place in kept]


def _length(said: Iterable[SummarySentence]) -> int:
    return sum(count_words(one.text) for one in said)


@dataclass(frozen=True, slots=True)
class _Content:
    """The stems of a sentence's content words, and whether it denies anything."""

    stems: frozenset[str]
    denies: bool

    @classmethod
    def of(cls, text: str) -> "_Content":
        words = frozenset(word.casefold() for word in words_in(text))
        stems = frozenset(map(stem_of, words - FUNCTION_WORDS)) or words
        return cls(stems, NEGATION.search(text) is not None)

    def says_what(self, other: "_Content", shared: int) -> bool:
        """Whether both say the same; ``shared`` stems are in both."""
        least = ALIKE * max(1, min(len(self.stems), len(other.stems)))
        return shared >= least and self.denies == other.denies


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


@dataclass(frozen=True, slots=True)
class Composed:
    """A summary, and where in what was written its sentences stand."""

    summary: Summary
    said: tuple[SummarySentence, ...] = ()


def compose(
    bundle: Bundle,
    reading: SegmentedDialogue,
    written: Sequence[SearchedWindow],
    options: SummaryOptions,
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
        reading: SegmentedDialogue,
        written: Sequence[SearchedWindow],
        options: SummaryOptions,
    ) -> None:
        self.bundle, self.reading = bundle, reading
        self.written, self.options = written, options
        self.pack = bundle.preparation.pack

    def said(self) -> list[SummarySentence]:
        """All sentences of all windows."""
        return [
            replace(sentence, text=self._expanded(sentence.text))
            for number, window in enumerate(self.written)
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

    def sized(self, said: Sequence[SummarySentence]) -> list[SummarySentence]:
        """As many sentences as the wished length allows."""
        asked, several = self.options, len(self.written) > 1
        limits = [] if asked.words is None else [asked.words]
        if asked.length == "short":
            own = sum(count_words(one.text) for one in said)
            limits.append(SHORTEST if several else int(SHORT * own))
        if asked.length == "medium" and several:
            limits.append(MEDIUM)
        return choose(said, min(limits)) if limits and said else list(said)

    def parts(self, said: Sequence[SummarySentence], whole: bool) -> list[tuple[str, str]]:
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

    def _parts(self, window: SearchedWindow, draft: Draft | None = None) -> list[tuple[str, str]]:
        written = self._written(window, draft)
        return [(label, self._expanded(text)) for label, text in written]

    def _expanded(self, text: str) -> str:
        """Without contractions behind names, where the preparation restores written English."""
        config = self.bundle.preparation.config
        if config.case == "kept" or config.language != "en":
            return text
        return expanded(text, frozenset(self.reading.dialogue.speakers))

    def _written(self, window: SearchedWindow, draft: Draft | None = None) -> list[tuple[str, str]]:
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
