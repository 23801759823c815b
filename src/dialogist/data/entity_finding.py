"""Finding entities in a text: from left to right, the longest first, none overlapping."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dialogist.data.entity_rules import AFTER, BEFORE, RULES
from dialogist.tokenizers.special_tokens import entity_placeholders

Search = Callable[[str, int], re.Match[str] | None]

_ROUNDS = 5  # a second one hardly ever finds anything, further ones are for strange texts
_TAKEN = entity_placeholders()[0]
_SHORTEST_KNOWN = 4  # letters and digits: "order 12" must not make an entity of every 12
_MOST_KNOWN = 128  # more could hardly all get a mask, and each is looked for at every place


@dataclass(frozen=True, slots=True)
class Span:
    """A mention: ``text[start:end]``, of which kind, and whether a word before it told so."""

    start: int
    end: int
    kind: str
    cued: bool = False


def find_entities(text: str, known: re.Pattern[str] | None = None) -> list[Span]:
    """All entities of a text from left to right, no two overlapping.

    Of those that begin first the longest is taken, of equally long ones that of the first rule;
    ``known`` values (see `known_values`) come before all rules.
    """
    every: list[Span] = []
    for _ in range(_ROUNDS):
        found = list(_sweep(text, _finders(text, known)))
        every += found
        if not found:
            break
        # What lies between two entities is looked at again with these out of the way.
        text = _without(text, found)
    return sorted(every, key=lambda span: span.start)


def known_values(texts: Sequence[str], spans: Sequence[Sequence[Span]]) -> re.Pattern[str] | None:
    """A pattern for the first values that a word told, wherever they stand without that word."""
    surfaces = dict.fromkeys(
        text[span.start : span.end]
        for text, found in zip(texts, spans, strict=True)
        for span in found
        if span.cued
    )
    telling = [s for s in surfaces if sum(map(str.isalnum, s)) >= _SHORTEST_KNOWN]
    if not telling:
        return None
    longest_first = sorted(telling[:_MOST_KNOWN], key=lambda s: (-len(s), s))
    return re.compile(f"{BEFORE}(?P<v>{'|'.join(map(re.escape, longest_first))}){AFTER}")


class _Finder:
    """One rule on its way through a text; keeps its next match, so no part is searched twice."""

    def __init__(self, kind: str, cued: bool, search: Search) -> None:
        self.kind = kind
        self.cued = cued
        self._search = search
        self._next: Span | None = Span(-1, -1, kind)

    def from_on(self, text: str, position: int) -> Span | None:
        """The rule's first match that begins at ``position`` or later."""
        if self._next is not None and self._next.start < position:
            found = self._search(text, position)
            self._next = found and Span(found.start("v"), found.end("v"), self.kind, self.cued)
        return self._next


def _without(text: str, spans: Sequence[Span]) -> str:
    """The text with masks over the spans, as long as before."""
    pieces = []
    end = 0
    for span in spans:
        pieces += [text[end : span.start], _TAKEN * (span.end - span.start)]
        end = span.end
    return "".join([*pieces, text[end:]])


def _finders(text: str, known: re.Pattern[str] | None) -> list[_Finder]:
    """The rules that the text can match at all."""
    finders = [_Finder("ORDER", False, known.search)] if known is not None else []
    return finders + [_Finder(r.kind, r.cued, r.search) for r in RULES if r.needs.search(text)]


def _sweep(text: str, finders: Sequence[_Finder]) -> Iterator[Span]:
    position = 0
    while True:
        found = [span for f in finders if (span := f.from_on(text, position)) is not None]
        if not found:
            return
        best = min(found, key=lambda span: (span.start, -span.end))  # the first rule of equals
        yield best
        position = best.end
