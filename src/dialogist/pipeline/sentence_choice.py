"""Sentences of a long dialogue's windows that become one summary.

Sentences are chosen, never rewritten: a model would have to summarise summaries, which it has not
learned, and a rewritten sentence has lost the utterances it rests on. Duplicates are folded into
their first place; then, level by level, neighbours give up their least central sentences, so that
every part of a dialogue of hours keeps its say.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from dialogist.baselines.extractive import lexrank_scores
from dialogist.text.porter import stem_of
from dialogist.text.tokens import (
    FUNCTION_WORDS,
    NEGATION,
    count_words,
    split_sentences,
    words_in,
)

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


def deduplicate(said: Sequence[SummarySentence]) -> list[SummarySentence]:
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


def select_sentences(said: Sequence[SummarySentence], words: int) -> list[SummarySentence]:
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
