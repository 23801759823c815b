"""Spans: the part of an utterance that carries what a statement says."""

import re
from collections.abc import Sequence

from dialogist.engine.evidence.terms import Span
from dialogist.text.tokens import sentence_spans

# A comma between digits is no border; Chinese marks have no space behind them.
_BORDER = re.compile(
    r"[,;:–—]\s+|[，；：、]|\s-+\s|\n+|\s(?=(?:but|because|so|and)\s)", re.IGNORECASE
)
_SHORTEST = 12  # characters of a clause; a shorter one goes with its neighbour
_WHOLE = 60  # characters: a sentence up to this is not taken apart
_PART = 0.25  # of what is shared: a clause with less of it does not lengthen the span


def span_of(text: str, shared: Sequence[tuple[Span, float]]) -> Span:
    """Where in ``text`` the shared terms stand: from the first clause that tells to the last one.

    ``shared``: place and worth of each. Without any it is all of the text, white space left out.
    """
    clauses = _clauses(text)
    if not shared or len(clauses) < 2:
        return _stripped(text, 0, len(text))
    worths = [sum(w for (a, _), w in shared if start <= a < end) for start, end in clauses]
    least = _PART * sum(worths)
    telling = [i for i, worth in enumerate(worths) if worth and worth >= least]
    telling = telling or [max(range(len(worths)), key=worths.__getitem__)]
    return _stripped(text, clauses[telling[0]][0], clauses[telling[-1]][1])


def _clauses(text: str) -> list[Span]:
    """Sentences, long ones in clauses; each reaches to where the next begins."""
    starts = [0]
    for start, end in sentence_spans(text):  # the first may begin behind white space
        if text[:start].strip():
            starts.append(start)
        if end - start <= _WHOLE:
            continue
        for border in _BORDER.finditer(text, start, end):
            if border.end() - starts[-1] >= _SHORTEST and end - border.end() >= _SHORTEST:
                starts.append(border.end())
    return list(zip(starts, (*starts[1:], len(text)), strict=True))


def _stripped(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), start + len(part.rstrip())
