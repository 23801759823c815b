"""Floors and ceilings: rows that tell what a system's figures are worth.

A model that does not clearly beat a constant sentence, the first utterances, the longest ones and
TextRank is worth nothing. No extract gets beyond the oracle (nearly: it is greedy), and people
measured by each other show how much of a figure is left to win.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dialogist.baselines.extractive import BaselineSystem, ConstantSummary, baseline
from dialogist.engine.summarizer import SummarizerLike
from dialogist.evaluation.report_card import MeasuredSystem, RowKind
from dialogist.evaluation.scoring import Scores
from dialogist.evaluation.system_outputs import Output
from dialogist.evaluation.upper_bounds import Oracle, leave_one_out
from dialogist.records import Dialogue
from dialogist.text.tokens import words_in

_FLOORS = ("lead-3", "longest-3", "textrank-3")

_CONSTANTS = {"constant-dialogsum": ("#person1#",), "constant-tweetsumm": ("customer", "agent")}
"""A sentence that fits any dialogue of a kind, and what half of such references have in them."""

_ENOUGH = 50  # references: of fewer, one that fits itself would count for too much
_AT_MOST = 1_000
_MOST_CENTRAL = "constant-reference"

ScoreThem = Callable[[str, Sequence[Output]], Scores]
ScorePeople = Callable[[Sequence[Output]], Scores | None]


def floors_for(outputs: Sequence[Output]) -> list[BaselineSystem]:
    """The floors for these dialogues, a constant first.

    That is one made for such dialogues or, where there is none, the reference that is most like all
    others: the template that people themselves write by.
    """
    texts = [text for output in outputs for text in output.references]
    folded = [text.casefold() for text in texts]
    named = [
        baseline(name)
        for name, marks in _CONSTANTS.items()
        if 2 * sum(all(mark in text for mark in marks) for text in folded) >= len(folded)
    ]
    if not named and len(texts) >= _ENOUGH:
        named = [ConstantSummary(_MOST_CENTRAL, most_central(texts))]
    return [*named, *map(baseline, _FLOORS)]


def floor_names(outputs: Sequence[Output]) -> list[str]:
    """What the floors for these dialogues are called."""
    return [floor.name for floor in floors_for(outputs)]


def most_central(texts: Sequence[str]) -> str:
    """The text whose mean ROUGE-1 F1 beside the others is highest (of many: of the first ones)."""
    words = [set(words_in(text.casefold())) for text in texts[:_AT_MOST]]
    places = {word: i for i, word in enumerate(sorted(set().union(*words)))}
    held = np.zeros((len(words), len(places)), dtype=np.float32)  # (N, V)
    for row, own in zip(held, words, strict=True):
        row[[places[word] for word in own]] = 1
    sizes = held.sum(axis=1)
    both = np.maximum(sizes[:, None] + sizes[None, :], 1)
    return texts[int((2 * (held @ held.T) / both).mean(axis=1).argmax())]


def floors_and_ceilings(
    outputs: Sequence[Output],
    floors: Collection[BaselineSystem],
    score: ScoreThem,
    score_people: ScorePeople,
) -> Iterator[MeasuredSystem]:
    """The rows for the dialogues of a system's outputs, one after the other.

    Where dialogues are not known there are none but constants and people. ``score`` measures
    outputs as the system's were, ``score_people`` references by each other.
    """
    known = all(output.dialogue is not None for output in outputs)
    for floor in floors:
        if known or isinstance(floor, ConstantSummary):
            yield _entry(RowKind.floor, floor, outputs, score)
    if known:
        yield _entry(RowKind.ceiling, Oracle(), outputs, score)
    people = score_people(outputs)
    if people is not None:
        said = tuple(one for output in outputs for one in leave_one_out(output))
        yield MeasuredSystem(RowKind.ceiling, said, people)


def _entry(
    kind: RowKind, system: SummarizerLike, outputs: Sequence[Output], score: ScoreThem
) -> MeasuredSystem:
    shown = [
        replace(output.dialogue or Dialogue((), output.id), references=output.references)
        for output in outputs
    ]
    said = tuple(
        replace(output, summary=summary, missing=False)
        for output, summary in zip(outputs, system.summarize(shown), strict=True)
    )
    return MeasuredSystem(kind, said, score(system.name, said))
