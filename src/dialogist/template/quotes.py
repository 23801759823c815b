"""What was said, as it is shown beside a statement: an utterance, or the cited stretch of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialogist.records import EvidenceSpan, Utterance
from dialogist.template.filled import Cited

_LONGEST = 160  # characters of an utterance that is shown whole
_ROUND = 60  # characters kept on each side of a cited stretch
_MOST = 400  # characters of a stretch


@dataclass(frozen=True, slots=True)
class Quote:
    """Words of utterance ``number``, counted from 0."""

    number: int
    speaker: str
    text: str

    def is_within(self, text: str) -> bool:
        """Whether a text has these words, whatever stands between them."""
        return _bare(self.text) in _bare(text)


def cited_of(utterances: Sequence[Utterance]) -> dict[int, Cited]:
    """All utterances by number."""
    return {n: Cited(n, one.speaker, one.text) for n, one in enumerate(utterances)}


def quotes_of(
    evidence: Sequence[EvidenceSpan], said: Mapping[int, Cited], most: int, whole: bool = True
) -> tuple[Quote, ...]:
    """The best utterances of some evidence, each once; not ``whole``: what is cited of them."""
    cited: dict[int, list[tuple[int, int]]] = {}
    for span in evidence:
        if span.utterance in said:
            cited.setdefault(span.utterance, []).append((span.start, span.end))
    return tuple(
        Quote(number, said[number].speaker, shown_of(said[number].text, places, whole))
        for number, places in list(cited.items())[:most]
    )


def shown_of(text: str, places: Sequence[tuple[int, int]], whole: bool) -> str:
    """What is shown of an utterance: what stands around its best place, or the places alone."""
    if whole:
        return excerpt(text, *places[0])
    parts, end = "", 0
    for start, stop in sorted(places):
        begin = max(start, end)
        if begin < stop:
            between = text[end:begin].strip()
            gap = " ..." if any(map(str.isalnum, between)) else between
            parts += f"{gap if parts else ''} {text[begin:stop].strip()}"
            end = stop
    return parts.strip()


def _bare(text: str) -> str:
    """Return the letters and digits of a text."""
    return "".join(filter(str.isalnum, text.casefold()))


def excerpt(text: str, start: int, end: int) -> str:
    """The text, or where it is long what stands around ``start`` to ``end``, cut between words."""
    if len(text) <= _LONGEST:
        return text
    end = min(end, start + _MOST)
    left, right = max(0, start - _ROUND), min(len(text), end + _ROUND)
    if left > 0:
        left = text.find(" ", left, start) + 1 or start
    if right < len(text):
        space = text.rfind(" ", end, right)
        right = space if space > 0 else end
    return f"{'...' if left > 0 else ''}{text[left:right]}{'...' if right < len(text) else ''}"
