"""What readers filed of dialogues, as targets of the candidates of a summary.

Two kinds of files, a dialogue a line; ids are those of `dialogist_lab.verifier.judged`.

* corpus/pieces: ``pieces`` that the best summary tells, each with ``spans`` (utterance, start, end)
  and perhaps the ``sections`` of a form that it belongs to, and the ``owner`` of an action. No
  dialogue has pieces without sections and with them.
* corpus/clauses: ``clauses``, each with its utterance, start, end, kind, worth, and perhaps which
  others it ``changes``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dialogist.highlights.candidates import Candidate, candidates_of
from dialogist.highlights.section_network import OUTPUTS, SECTIONS, Matrix
from dialogist.language.reading import Reading, reading_of
from dialogist_lab.asset_training import records_of
from dialogist_lab.verifier.judged import dialogues_of

KINDS = (
    *("issue", "reason", "finding", "advice", "done", "offer", "acceptance", "refusal"),
    *("withdrawal", "decision", "action", "outcome", "question"),
)
"""What clauses do: learned beside, they are many."""
TARGETS = (*OUTPUTS, "worth", *KINDS)
UNKNOWN = -1.0

_STALE, _OWNER = TARGETS.index("stale"), TARGETS.index("owner")
_MARKS = re.compile(r"(?:[.,;:!?…\"“”–—-]+(?=\s|$))|(?<!\S)[\"“”–—-]+")
_MOST = 2  # the worth of what a summary must tell


class FiledDialogue(NamedTuple):
    """A reading with its candidates; of each (C, `TARGETS`) one, nought or `UNKNOWN`."""

    reading: Reading
    candidates: Sequence[Candidate]
    targets: Matrix


def read_filed(files: Iterable[Path], corpus: Path, data: Path | None) -> Iterator[FiledDialogue]:
    """The dialogues of some files; those of public sets only where ``data`` is given.

    Raises:
        DataError: the dialogue of a line is in no file.
    """
    by_name: dict[str, list[Any]] = {}
    for record in chain.from_iterable(map(records_of, files)):
        by_name.setdefault(record.get("dialogue") or f"corpus/{record['id']}", []).append(record)
    known = dialogues_of(list(by_name), corpus, data)
    for name, dialogue in known.items():
        reading = reading_of(dialogue)
        candidates = candidates_of(reading)
        if not candidates:
            continue
        targets = np.full((len(candidates), len(TARGETS)), UNKNOWN, np.float32)
        for record in by_name[name]:
            kind = next(key for key in _FILL if key in record)
            _FILL[kind](targets, reading, candidates, record)
        yield FiledDialogue(reading, candidates, targets)


def as_speech(filed: FiledDialogue) -> FiledDialogue:
    """The same dialogue as speech is often transcribed: without marks, in small letters.

    Its clauses are longer. Each is what those are that it holds, or that hold it, by at least half
    of the characters; it is ``stale`` where most of it is.
    """
    dialogue = filed.reading.dialogue
    said = [
        replace(each, text=_MARKS.sub(lambda mark: " " * len(mark[0]), each.text).lower())
        for each in dialogue.utterances
    ]
    reading = reading_of(replace(dialogue, utterances=tuple(said)))
    candidates = candidates_of(reading)
    parts = [_characters(filed.reading, candidate) for candidate in filed.candidates]
    part_at = {place: n for n, places in enumerate(parts) for place in places}
    known = (filed.targets != UNKNOWN).any(axis=0)
    known[_OWNER] = False
    targets = np.where(known, np.zeros((len(candidates), 1)), UNKNOWN).astype(np.float32)
    for row, candidate in zip(targets, candidates, strict=True):
        places = _characters(reading, candidate)
        shared = Counter(part_at[place] for place in places if place in part_at)
        held = [n for n, count in shared.items() if 2 * count >= min(len(places), len(parts[n]))]
        if held:
            row[:] = filed.targets[held].max(axis=0)
            row[_STALE] = filed.targets[shared.most_common(1)[0][0], _STALE]
    return FiledDialogue(reading, candidates, targets)


def _characters(reading: Reading, candidate: Candidate) -> list[tuple[int, int]]:
    """Where the characters of a candidate stand."""
    units = (reading.units[i] for i in candidate)
    return [(unit.turn, place) for unit in units for place in range(unit.start, unit.end)]


def _fill_pieces(
    targets: Matrix, reading: Reading, candidates: Sequence[Candidate], record: Any
) -> None:
    """A candidate is a piece if most of its units are."""
    holder = _holders(reading, candidates)
    is_filed = any(piece.get("sections") for piece in record["pieces"])
    targets[:, 0] = 0
    if is_filed:
        targets[:, 1 : 1 + len(SECTIONS)] = 0
    for piece in record["pieces"]:
        places = [holder.get((turn, start)) for turn, start, _ in piece["spans"]]
        held = [place for place in places if place is not None]
        if not held:
            continue
        number = max(set(held), key=held.count)
        targets[number, 0] = 1
        for name in piece.get("sections", ()):
            if name in SECTIONS:
                targets[number, OUTPUTS.index(name)] = 1
        if owner := piece.get("owner"):
            first = reading.units[candidates[number][0]].speaker
            targets[number, OUTPUTS.index("owner")] = owner == first


def _fill_clauses(
    targets: Matrix, reading: Reading, candidates: Sequence[Candidate], record: Any
) -> None:
    """A candidate does what its units do; it is stale if one of them is."""
    holder = _holders(reading, candidates)
    place, stale = TARGETS.index("worth"), TARGETS.index("stale")
    targets[:, [place, stale, *range(len(TARGETS) - len(KINDS), len(TARGETS))]] = 0
    numbers = [holder.get((turn, start)) for turn, start, *_ in record["clauses"]]
    for number, (_, _, _, kind, worth, *more) in zip(numbers, record["clauses"], strict=True):
        if number is None:
            continue
        targets[number, place] = max(targets[number, place], worth / _MOST)
        if worth and kind in KINDS:
            targets[number, TARGETS.index(kind, place)] = 1
        for other in (more[0] if more else {}).get("changes", ()):
            changed = numbers[other]
            if changed not in (None, number) and not record["clauses"][other][4]:
                targets[changed, stale] = 1


def _holders(reading: Reading, candidates: Sequence[Candidate]) -> dict[tuple[int, int], int]:
    """The numbers of the candidates that hold units, by where these begin."""
    return {
        (reading.units[unit].turn, reading.units[unit].start): number
        for number, candidate in enumerate(candidates)
        for unit in candidate
    }


_FILL = {"pieces": _fill_pieces, "clauses": _fill_clauses}
