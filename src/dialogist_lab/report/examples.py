"""Examples: best, median and worst outputs, and where systems differ most, with words marked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dialogist.evaluation.system_outputs import Output
from dialogist.metrics.base import Floats
from dialogist.records import Dialogue
from dialogist_lab.report.marking import Marker, Piece, Spot
from dialogist_lab.report.model import Shown, Subject
from dialogist_lab.report.verdict import MAIN

FindSpots = Callable[[Output], Sequence[Spot]]
"""What of an output the dialogue does not support."""

_SCORES = {"rouge1.f1": "R1", "rouge2.f1": "R2", "rougeL.f1": "RL"}
_SHOWN = 6  # systems beside each other


@dataclass(frozen=True, slots=True)
class Said:
    """What a system said; ``scores`` are told as text, ``unsupported`` is what is wrong with it."""

    system: str
    number: int
    pieces: tuple[Piece, ...]
    scores: str
    unsupported: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """A dialogue, its references, and what the systems said about it.

    In a reference those words are marked that no system shown has.
    """

    id: str
    dialogue: Dialogue | None
    references: tuple[tuple[Piece, ...], ...]
    said: tuple[Said, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Examples that were chosen in one way."""

    title: str
    about: str
    examples: tuple[Example, ...]


def choose(subject: Subject, count: int, spots: FindSpots) -> list[Choice]:
    """The first system's ``count`` best, median and worst outputs, and the largest differences."""
    systems = [one for one in subject.systems if MAIN in one.scores][:_SHOWN]
    if not systems or not count:
        return []
    lead = systems[0]
    each = lead.scores.each(MAIN)
    order = sorted(range(len(each)), key=lambda i: (-np.nan_to_num(each[i]), i))
    chosen = [*_by_rank(order, count, lead.name), *_apart(systems, count)]
    maker = _Maker(systems, Marker(), spots)
    return [
        Choice(title, about, tuple(maker.example(i) for i in places))
        for title, about, places in chosen
        if places
    ]


def _by_rank(
    order: Sequence[int], count: int, name: str
) -> Iterator[tuple[str, str, Sequence[int]]]:
    by = f"by ROUGE-L of {name}"
    best, rest = order[:count], order[count:]
    middle, worst = rest[: max(0, len(rest) - count)], rest[max(0, len(rest) - count) :]
    start = max(0, len(middle) - count) // 2
    yield "Best", f"The {len(best)} highest {by}.", best
    yield "Median", f"In the middle {by}.", middle[start : start + count]
    yield "Worst", f"The {len(worst)} lowest {by}, the lowest first.", worst[::-1]


def _apart(systems: Sequence[Shown], count: int) -> Iterator[tuple[str, str, Sequence[int]]]:
    if len(systems) > 1:
        table: Floats = np.stack([one.scores.each(MAIN) for one in systems])
        gaps = np.nan_to_num(table.max(axis=0) - table.min(axis=0))
        order = sorted(range(len(gaps)), key=lambda i: (-gaps[i], i))
        places = [i for i in order[:count] if gaps[i] > 0]
        yield "Where systems differ most", "The largest gaps in ROUGE-L.", places


@dataclass(frozen=True, slots=True)
class _Maker:
    systems: Sequence[Shown]
    marker: Marker
    spots: FindSpots

    def example(self, place: int) -> Example:
        outputs = [one.outputs[place] for one in self.systems]
        first = outputs[0]
        texts = [output.prediction for output in outputs]
        return Example(
            id=first.id,
            dialogue=first.dialogue,
            references=tuple(tuple(self.marker.marked(text, texts)) for text in first.references),
            said=tuple(
                self._said(one, output, place)
                for one, output in zip(self.systems, outputs, strict=True)
            ),
        )

    def _said(self, system: Shown, output: Output, place: int) -> Said:
        found = self.spots(output)
        scores = (
            f"{title} {system.scores.each(key)[place]:.1f}"
            for key, title in _SCORES.items()
            if key in system.scores
        )
        return Said(
            system=system.name,
            number=system.number,
            pieces=tuple(self.marker.marked(output.prediction, output.references, found)),
            scores=", ".join(scores),
            unsupported=tuple(dict.fromkeys(spot.why for spot in found)),
        )
