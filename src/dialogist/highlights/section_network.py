"""A network that reads a dialogue and says which pieces of it to tell, and under which section.

The first layers of BERT's encoder (Devlin et al. 2019) read the dialogue, whole or in windows. A
candidate is the mean of its tokens and the first of them. `dialogist_lab.sections` trains it on
what readers filed.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dialogist.highlights.candidates import Candidate, candidates_of
from dialogist.language.reading import Reading, reading_of
from dialogist.language.wordpiece import END, FIRST, onnx_session, piece_ids
from dialogist.records import Dialogue

Matrix: TypeAlias = NDArray[np.float32]

BUNDLED_SECTIONS = Path(__file__).parent.parent / "assets" / "highlights" / "sections.onnx"
BUNDLED_SPEECH = BUNDLED_SECTIONS.with_name("speech.onnx")
"""For transcripts without punctuation."""

SECTIONS = (
    "issue", "done", "outcome", "decisions", "actions", "questions", "medication", "advice",
)  # fmt: skip
"""What a candidate may be told under: the sources of forms that the network knows."""
OUTPUTS = ("told", *SECTIONS, "owner", "stale")
"""``told``: the best summary has it; ``owner``: the first who speaks in it is who does it;
``stale``: something later changes it."""

_WINDOW = 500  # tokens
_LABEL, _CLAUSE = 8, 120  # tokens of a speaker's name, and of a clause
_SHARED = 3  # the part of a window that the next one begins with is one of so many


class SectionWindow(NamedTuple):
    """What the network reads at a time: token ids (T,), of candidates which share each token is of
    their mean (C, T), and their first tokens (C,)."""

    ids: NDArray[np.int64]
    shares: Matrix
    firsts: NDArray[np.int64]


class SectionChances(NamedTuple):
    """The candidates of a dialogue, and how likely each is what: (C, `OUTPUTS`)."""

    candidates: Sequence[Candidate]
    chances: Matrix

    def of(self, output: str) -> Matrix:
        """(C,): how likely the candidates are one of `OUTPUTS`."""
        return self.chances[:, OUTPUTS.index(output)]

    def of_units(self, output: str) -> dict[int, float]:
        """How likely the units of candidates are one of `OUTPUTS`."""
        chances = self.of(output).tolist()
        return {
            unit: chances[n] for n, candidate in enumerate(self.candidates) for unit in candidate
        }


def section_windows(
    reading: Reading, candidates: Sequence[Candidate]
) -> Iterator[tuple[list[int], SectionWindow]]:
    """The windows of a dialogue, each with the numbers of its candidates."""
    clauses = [piece_ids(unit.text)[:_CLAUSE] or [END] for unit in reading.units]
    speakers = {unit.speaker for unit in reading.units}
    labels = {s: piece_ids(f"{reading.label(s)}:")[:_LABEL] for s in speakers}
    begins = {turn[0] for turn in reading.turns}
    heads = [
        [END, *labels[unit.speaker]] if n in begins else [] for n, unit in enumerate(reading.units)
    ]
    begin = 0
    while begin < len(clauses):
        ids, places, number = [FIRST], dict[int, range](), begin
        while number < len(clauses) and len(ids) + len(heads[number] + clauses[number]) <= _WINDOW:
            ids += heads[number]
            places[number] = range(len(ids), len(ids) + len(clauses[number]))
            ids += clauses[number]
            number += 1
        within = [
            n for n, candidate in enumerate(candidates) if any(unit in places for unit in candidate)
        ]
        shares = np.zeros((len(within), len(ids)), np.float32)
        for row, n in zip(shares, within, strict=True):
            row[[token for unit in candidates[n] for token in places.get(unit, ())]] = 1
        if within:
            firsts = shares.argmax(1)
            shares /= shares.sum(1, keepdims=True)
            yield within, SectionWindow(np.array(ids), shares, firsts)
        if number == len(clauses):
            return
        begin = max(begin + 1, number - (number - begin) // _SHARED)


class SectionNetwork:
    """The network of a file of ONNX."""

    def __init__(self, path: Path = BUNDLED_SECTIONS) -> None:
        self._session = onnx_session(path)

    def read(self, reading: Reading) -> SectionChances:
        """What a dialogue's candidates are; of windows that share one the mean."""
        candidates = candidates_of(reading)
        chances = np.zeros((len(candidates), len(OUTPUTS)), np.float32)
        seen = np.zeros((len(candidates), 1), np.float32)
        for numbers, window in section_windows(reading, candidates):
            chances[numbers] += self._session.run(None, window._asdict())[0]
            seen[numbers] += 1
        chances /= np.maximum(seen, 1)
        return SectionChances(candidates, chances)


@cache
def section_network(path: Path = BUNDLED_SECTIONS) -> SectionNetwork:
    """One that the package holds, read once."""
    return SectionNetwork(path)


def section_chances(dialogue: Dialogue) -> SectionChances:
    """What the bundled network says of a dialogue, asked once."""
    if "sections" not in dialogue.cache:
        reading = reading_of(dialogue)
        network = section_network(BUNDLED_SPEECH if reading.is_unmarked else BUNDLED_SECTIONS)
        dialogue.cache["sections"] = network.read(reading)
    known: SectionChances = dialogue.cache["sections"]
    return known
