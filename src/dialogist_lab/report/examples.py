"""Examples in a report: marked texts, unsupported spots, and what a run wrote as it learned."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from operator import attrgetter
from typing import Any

import numpy as np

from dialogist.errors import DataError
from dialogist.evaluation.system_outputs import Output
from dialogist.files import reading
from dialogist.metrics.base import Floats
from dialogist.metrics.faithfulness import FindingKind, findings
from dialogist.metrics.ngram_overlap import RougeWords
from dialogist.records import Dialogue
from dialogist.language.tokens import words_in
from dialogist.training.run_logs import RunLogs
from dialogist_lab.report.report_tables import MAIN
from dialogist_lab.report.subject import Run, ShownSystem, Subject

_TAG = "#"


@dataclass(frozen=True, slots=True)
class Spot:
    """A part of a text, from ``start`` to before ``end``, and why it is marked."""

    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A run of text that is marked in one way; ``why`` is empty where it is supported."""

    text: str
    alone: bool = False
    why: str = ""


_keys = RougeWords()


def marked(text: str, others: Sequence[str], spots: Iterable[Spot] = ()) -> list[TextPiece]:
    """The text in pieces: joined, they are the text.

    ``others``: a word is `TextPiece.alone` if none of these has it as often. ``spots`` lie in the
    text; a word that one begins in is marked as a whole by it.
    """
    left: Counter[str] = Counter()
    for other in others:  # word by word, as `_take` does: apostrophes must not tell sides apart
        left |= Counter(key for word in words_in(other) for key in _keys(word))
    return _merged(list(_pieces(text, left, sorted(spots, key=lambda spot: spot.start))))


def _pieces(text: str, left: Counter[str], spots: Sequence[Spot]) -> Iterator[TextPiece]:
    end = 0
    for start, word in _places(text):
        if start > end:
            yield TextPiece(text[end:start], why=_why(spots, end, start))
        end = start + len(word)
        yield TextPiece(word, _take(word, left), _why(spots, start, end))
    if end < len(text):
        yield TextPiece(text[end:], why=_why(spots, end, len(text)))


def _take(word: str, left: Counter[str]) -> bool:
    """Whether the other side has no such word left; one that is there is used up."""
    lacking = False
    for key in _keys(word):
        lacking |= left[key] <= 0
        left[key] -= 1
    return lacking


def _places(text: str) -> Iterator[tuple[int, str]]:
    """Where each word begins; the marks of a tag, as in ``#Person1#``, belong to it."""
    end = 0
    for word in words_in(text):
        start = text.index(word, end)
        stop = start + len(word)
        start -= text[end:start].endswith(_TAG)
        end = stop + text.startswith(_TAG, stop)
        yield start, text[start:end]


def _why(spots: Sequence[Spot], start: int, end: int) -> str:
    return next((spot.why for spot in spots if spot.start < end and spot.end > start), "")


def _merged(pieces: Sequence[TextPiece]) -> list[TextPiece]:
    """Neighbours of one marking as one; what is between two that agree goes with them."""
    marking = attrgetter("alone", "why")
    kept: list[TextPiece] = []
    for piece, following in zip_longest(pieces, pieces[1:]):
        between = bool(kept) and not words_in(piece.text)
        if between and following and marking(kept[-1]) == marking(following):
            piece = replace(following, text=piece.text)
        kept.append(piece)
    return [
        TextPiece("".join(piece.text for piece in same), *how)
        for how, same in groupby(kept, marking)
    ]


_WHY: Mapping[FindingKind, str] = {
    "name": "a name that the dialogue does not have",
    "speaker": "no speaker of the dialogue",
    "number": "a number that the dialogue does not have",
    "entity": "not in the dialogue",
    "swap": "who did it to whom may be swapped",
    "negation": "denies what the dialogue does not deny",
    "lost_negation": "the dialogue denies this",
}
_LONGEST = 60


def unsupported(output: Output) -> list[Spot]:
    """The findings in an output; none where its dialogue is not known."""
    if output.dialogue is None:
        return []
    spots = []
    for one in findings(output.prediction, output.dialogue):
        text = " ".join(one.text.split())
        shown = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
        spots.append(Spot(one.start, one.end, f"“{shown}”: {_WHY[one.kind]}"))
    return spots


_STEPS = 5  # of one dialogue
_DIALOGUES = 3  # of one run


@dataclass(frozen=True, slots=True)
class TimelineStep:
    """What was written after some updates; ``score`` is ROUGE-L as it was logged, or empty."""

    update: int
    pieces: tuple[TextPiece, ...]
    score: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """One dialogue's summaries as learning went on, and its references."""

    run: str
    id: str
    references: tuple[str, ...]
    steps: tuple[TimelineStep, ...]


def timelines(runs: Sequence[Run]) -> list[Timeline]:
    """Of the first dialogues of every run, some steps from the first to the last.

    Raises:
        DataError: a run's ``samples.jsonl`` is damaged.
    """
    found = []
    for run in runs:
        records = _records(run)
        for identity in list(dict.fromkeys(record["id"] for record in records))[:_DIALOGUES]:
            own = [record for record in records if record["id"] == identity]
            references = tuple(map(str, own[0]["references"]))
            steps = (
                TimelineStep(
                    update=int(record["step"]),
                    pieces=tuple(marked(str(record["prediction"]), references)),
                    score=_score(record),
                )
                for record in [own[i] for i in _some(len(own))]
            )
            found.append(Timeline(run.name, str(identity), references, tuple(steps)))
    return found


def _records(run: Run) -> list[dict[str, Any]]:
    log = RunLogs(run.folder).samples
    try:
        with reading(log.path):
            records: list[dict[str, Any]] = log.read()
        for record in records:
            int(record["step"]), record["id"], record["prediction"], list(record["references"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DataError(f"{log.path}: is damaged: a line is no sample of a run") from None
    return records


def _some(count: int) -> list[int]:
    """The first and the last, and some at equal distances between."""
    return sorted({round(i * (count - 1) / (_STEPS - 1)) for i in range(_STEPS)})


def _score(record: Mapping[str, Any]) -> str:
    scores = record.get("scores")
    value = scores.get("rougeL") if isinstance(scores, dict) else None
    return f"RL {value:.1f}" if isinstance(value, int | float) else ""


FindSpots = Callable[[Output], Sequence[Spot]]
"""What of an output the dialogue does not support."""

_SCORES = {"rouge1.f1": "R1", "rouge2.f1": "R2", "rougeL.f1": "RL"}
_SHOWN = 6  # systems beside each other


@dataclass(frozen=True, slots=True)
class ShownOutput:
    """What a system said; ``scores`` are told as text, ``unsupported`` is what is wrong with it."""

    system: str
    number: int
    pieces: tuple[TextPiece, ...]
    scores: str
    unsupported: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownExample:
    """A dialogue, its references, and what the systems said about it.

    In a reference those words are marked that no system shown has.
    """

    id: str
    dialogue: Dialogue | None
    references: tuple[tuple[TextPiece, ...], ...]
    said: tuple[ShownOutput, ...]


@dataclass(frozen=True, slots=True)
class ExampleChoice:
    """Examples that were chosen in one way."""

    title: str
    about: str
    examples: tuple[ShownExample, ...]


def choose_examples(subject: Subject, count: int, spots: FindSpots) -> list[ExampleChoice]:
    """The first system's ``count`` best, median and worst outputs, and the largest differences."""
    systems = [one for one in subject.systems if MAIN in one.scores][:_SHOWN]
    if not systems or not count:
        return []
    lead = systems[0]
    each = lead.scores.each(MAIN)
    order = sorted(range(len(each)), key=lambda i: (-np.nan_to_num(each[i]), i))
    chosen = [*_by_rank(order, count, lead.name), *_apart(systems, count)]
    return [
        ExampleChoice(title, about, tuple(_example(systems, i, spots) for i in places))
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


def _apart(systems: Sequence[ShownSystem], count: int) -> Iterator[tuple[str, str, Sequence[int]]]:
    if len(systems) > 1:
        table: Floats = np.stack([one.scores.each(MAIN) for one in systems])
        gaps = np.nan_to_num(table.max(axis=0) - table.min(axis=0))
        order = sorted(range(len(gaps)), key=lambda i: (-gaps[i], i))
        places = [i for i in order[:count] if gaps[i] > 0]
        yield "Where systems differ most", "The largest gaps in ROUGE-L.", places


def _example(systems: Sequence[ShownSystem], place: int, spots: FindSpots) -> ShownExample:
    outputs = [one.outputs[place] for one in systems]
    first, texts = outputs[0], [output.prediction for output in outputs]
    said = []
    for system, output in zip(systems, outputs, strict=True):
        found = spots(output)
        scores = (
            f"{title} {system.scores.each(key)[place]:.1f}"
            for key, title in _SCORES.items()
            if key in system.scores
        )
        pieces = tuple(marked(output.prediction, output.references, found))
        unsupported = tuple(dict.fromkeys(spot.why for spot in found))
        said.append(ShownOutput(system.name, system.number, pieces, ", ".join(scores), unsupported))
    references = tuple(tuple(marked(text, texts)) for text in first.references)
    return ShownExample(first.id, first.dialogue, references, tuple(said))
