"""Dialogues whose important words are marked, and whether a summary holds what they say.

A line of a file is a dialogue: ``id``, ``turns`` (speaker, text) and ``statements``, each with
``key`` (whether a summary must hold it), ``spans`` (turn, exact words), perhaps ``fact`` (in plain
words) and ``type``; what a later turn changes has the type ``stale``. A key statement is a fact.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dialogist.errors import DataError
from dialogist.highlights.candidates import Candidate, candidates_of
from dialogist.language.reading import Reading, terms_of
from dialogist.records import Dialogue, Utterance
from dialogist_lab.asset_training import is_validation, records_of

_HELD = 0.6  # of the letters of each span of a fact
_TOUCHED = 0.2  # of the letters of a span: less of it is in a unit by accident

Spans = tuple[Mapping[int, float], ...]
"""Of each span, which units hold what share of its letters."""


@dataclass(frozen=True, slots=True)
class Fact:
    """What a summary must hold: where it is said, and the content words that a reader looks for.

    ``terms`` are those of the fact in plain words, as far as the dialogue says them; of the spans
    where it is not in plain words.
    """

    spans: Spans
    terms: frozenset[str]

    def covered(self, terms: Collection[str]) -> float:
        """The share of its content words that a text with these has."""
        return len(self.terms.intersection(terms)) / len(self.terms) if self.terms else 0.0

    def is_told_by(self, units: Collection[int]) -> bool:
        """Whether one of these units says a part of it."""
        return any(span.get(i, 0.0) > _TOUCHED for span in self.spans for i in units)


@dataclass(frozen=True, slots=True)
class MarkedDialogue:
    """A dialogue, its facts, and the spans that a later turn changes.

    ``knows_key``, ``knows_stale``: whether what matters and what is stale is marked. ``times``: how
    often it is learned from an epoch.
    """

    id: str
    reading: Reading
    candidates: list[Candidate]
    facts: tuple[Fact, ...]
    stale: tuple[Spans, ...]
    knows_key: bool = True
    knows_stale: bool = True
    times: int = 1

    @property
    def words(self) -> int:
        """How many words are said."""
        return sum(unit.words for unit in self.reading.units)


def holds(spans: Spans, units: Collection[int]) -> bool:
    """Whether these units say all of some spans."""
    return all(sum(share for i, share in span.items() if i in units) >= _HELD for span in spans)


def needed(spans: Spans, candidates: Sequence[Candidate]) -> list[int]:
    """The numbers of the fewest candidates that hold some spans; none where they cannot."""
    shares = [
        [span.get(unit, 0.0) for span in spans for unit in candidate.units]
        for candidate in candidates
    ]
    chosen = [i for i, each in enumerate(shares) if max(each, default=0.0) > _TOUCHED]
    if not holds(spans, _units(chosen, candidates)):
        chosen = [i for i, each in enumerate(shares) if any(each)]
    if not holds(spans, _units(chosen, candidates)):
        return []
    for i in sorted(chosen, key=lambda i: sum(shares[i])):
        rest = [j for j in chosen if j != i]
        if holds(spans, _units(rest, candidates)):
            chosen = rest
    return chosen


def _units(numbers: Sequence[int], candidates: Sequence[Candidate]) -> set[int]:
    return {unit for i in numbers for unit in candidates[i].units}


def read_marked(path: Path, validation: bool | None = None) -> list[MarkedDialogue]:
    """The dialogues of a file: all, or those for validation, or the others.

    Raises:
        DataError: a span is not in its turn; names the record.
    """
    records = [(record, f"{path}:{n}") for n, record in enumerate(records_of(path), 1)]
    types = {statement.get("type") for record, _ in records for statement in record["statements"]}
    return [
        replace(marked_of(record, where), knows_stale="stale" in types)
        for record, where in records
        if validation in (None, is_validation(record["id"]))
    ]


def marked_of(record: Any, where: str) -> MarkedDialogue:
    """The dialogue of a record; ``where`` names it in errors."""
    turns = record["turns"]
    reading = Reading(Dialogue(tuple(Utterance(speaker, text) for speaker, text in turns)))
    heard = set().union(*reading.terms)
    names = frozenset(terms_of(" ".join(speaker for speaker, _ in turns)))
    facts, stale = [], []
    for statement in record["statements"]:
        spans = list(_spans(statement["spans"], turns, where))
        if statement.get("key"):
            plain = statement.get("fact", statement.get("text", ""))
            words = plain or " ".join(turns[t][1][a:b] for t, a, b in spans)
            terms = frozenset(heard.intersection(terms_of(words)) - names)
            facts.append(Fact(tuple(_shares(reading, span) for span in spans), terms))
        elif statement.get("type") == "stale":
            stale += [(_shares(reading, span),) for span in spans]
    return MarkedDialogue(record["id"], reading, candidates_of(reading), tuple(facts), tuple(stale))


def _spans(
    spans: Sequence[tuple[int, str]], turns: Sequence[tuple[str, str]], where: str
) -> Iterator[tuple[int, int, int]]:
    for turn, words in spans:
        place = turns[turn][1].find(words)
        if place < 0:
            raise DataError(f"{where}: turn {turn} does not have '{words}'")
        yield turn, place, place + len(words)


def _shares(reading: Reading, span: tuple[int, int, int]) -> dict[int, float]:
    turn, start, end = span
    return {
        i: (min(end, unit.end) - max(start, unit.start)) / (end - start)
        for i, unit in enumerate(reading.units)
        if unit.turn == turn and min(end, unit.end) > max(start, unit.start)
    }
