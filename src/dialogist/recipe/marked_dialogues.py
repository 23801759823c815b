"""Dialogues whose important words are marked, and whether a summary holds what they say.

A line of a file is a dialogue: ``id``, ``turns`` (speaker, text) and ``statements``, each with
``key`` (whether a summary must hold it), ``spans`` (turn, exact words) and perhaps ``type``; what a
later turn changes has the type ``stale``. A key statement is a fact.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

from dialogist.errors import DataError
from dialogist.selection.select import Told, told_of
from dialogist.selection.statements import Candidate

_HELD = 0.6  # of the letters of each span of a fact
_TOUCHED = 0.2  # of the letters of a span: less of it is in a unit by accident
_VALIDATION = 12  # of a hundred dialogues

_Fact = tuple[Mapping[int, float], ...]
"""Of each span, which units hold what share of its letters."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A dialogue, its facts, and the spans that a later turn changes."""

    id: str
    turns: Sequence[tuple[str, str]]
    told: Told
    facts: tuple[_Fact, ...]
    stale: tuple[_Fact, ...]

    @property
    def words(self) -> int:
        """How many words are said."""
        return sum(unit.words for unit in self.told.units)

    @property
    def is_validation(self) -> bool:
        """Whether no shipped selector has learned from it."""
        return crc32(self.id.encode("utf-8")) % 100 < _VALIDATION


def holds(fact: _Fact, units: Collection[int]) -> bool:
    """Whether these units say all of a fact."""
    return all(sum(share for i, share in one.items() if i in units) >= _HELD for one in fact)


def needed(fact: _Fact, candidates: Sequence[Candidate]) -> list[int]:
    """The numbers of the fewest candidates that hold a fact; none where they cannot."""
    shares = [
        sum(share for one in fact for unit, share in one.items() if unit in own.units)
        for own in candidates
    ]
    found = [
        i
        for i, own in enumerate(candidates)
        if any(one.get(unit, 0.0) > _TOUCHED for one in fact for unit in own.units)
    ]
    if not holds(fact, _units(found, candidates)):
        found = [i for i, share in enumerate(shares) if share]
    if not holds(fact, _units(found, candidates)):
        return []
    for i in sorted(found, key=lambda i: shares[i]):
        rest = [j for j in found if j != i]
        if holds(fact, _units(rest, candidates)):
            found = rest
    return found


def _units(numbers: Sequence[int], candidates: Sequence[Candidate]) -> set[int]:
    return {unit for i in numbers for unit in candidates[i].units}


def read_marked(path: Path) -> list[Marked]:
    """The dialogues of a file.

    Raises:
        DataError: a span is not in its turn; names the record.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    return [marked_of(json.loads(line), f"{path}:{n}") for n, line in enumerate(lines, start=1)]


def marked_of(record: Any, where: str) -> Marked:
    """The dialogue of a record; ``where`` names it in errors."""
    turns = [(speaker, text) for speaker, text in record["turns"]]
    told = told_of(turns)
    facts, stale = [], []
    for statement in record["statements"]:
        spans = list(_spans(statement["spans"], turns, where))
        if statement["key"]:
            facts.append(tuple(_shares(told, span) for span in spans))
        elif statement.get("type") == "stale":
            stale += [(_shares(told, span),) for span in spans]
    return Marked(record["id"], turns, told, tuple(facts), tuple(stale))


def _spans(
    spans: Sequence[tuple[int, str]], turns: Sequence[tuple[str, str]], where: str
) -> Iterator[tuple[int, int, int]]:
    for turn, words in spans:
        place = turns[turn][1].find(words)
        if place < 0:
            raise DataError(f"{where}: turn {turn} does not have '{words}'")
        yield turn, place, place + len(words)


def _shares(told: Told, span: tuple[int, int, int]) -> dict[int, float]:
    turn, start, end = span
    return {
        i: (min(end, unit.end) - max(start, unit.start)) / (end - start)
        for i, unit in enumerate(told.units)
        if unit.turn == turn and min(end, unit.end) > max(start, unit.start)
    }
