"""A system's figures, as in Table 4 and Figures 3 and 4 of the Leader-Writer paper (KDD 2019).

What was measured of each output (`Scores`) is summed up here. With several references every figure
is the mean over them, and each dialogue weighs the same. Figures are 0-100.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from dialogist.evaluation.scoring.scores import Scores
from dialogist.metrics.base import Floats
from dialogist.records import JSON

KEY_POINTS = tuple(range(1, 11))
"""Where the bins of Figure 4(a) and (b) begin: reference key points."""

UTTERANCES = (1, 6, 11, 16, 21, 31, 41)
"""Where the bins of Figure 4(c) and (d) begin: utterances of the dialogue."""

_FACTS = "key_facts.rougeL.f1"
_COUNTED = ("missed", "invented", "neither")


@dataclass(frozen=True, slots=True)
class Quality:
    """One half of a row of Table 4; None where no dialogue has anything to find."""

    bleu: float
    rouge1_recall: float | None
    rouge2_recall: float | None
    rougeL_f1: float | None

    @classmethod
    def of(cls, scores: Scores, prefix: str = "") -> "Quality":
        """From the columns whose keys begin with ``prefix``: of words, or ``key_points.``."""
        return cls(
            bleu=_told(scores.figure(f"{prefix}bleu")) or 0.0,
            rouge1_recall=_told(scores.figure(f"{prefix}rouge1.recall")),
            rouge2_recall=_told(scores.figure(f"{prefix}rouge2.recall")),
            rougeL_f1=_told(scores.figure(f"{prefix}rougeL.f1")),
        )


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """Figure 3(a): the key-point sequences with nothing in them but the pack's key facts.

    ``rougeL_f1`` is the mean over the ``scored`` dialogues: those where reference or output has a
    key fact. ``missed`` (the reference has some, the output none) and ``invented`` (the other way
    round) count 0 there. Where ``neither`` has one there is nothing to get right: left out. These
    three count pairs of output and reference.
    """

    rougeL_f1: float | None
    scored: int
    missed: int
    invented: int
    neither: int

    @classmethod
    def of(cls, scores: Scores) -> "KeyFacts":
        """From the columns of key facts."""
        count = {name: round(scores.figure(f"key_facts.{name}")) for name in _COUNTED}
        return cls(
            rougeL_f1=_told(scores.figure(_FACTS)),
            scored=int(np.sum(~np.isnan(scores.each(_FACTS)))),
            **count,
        )


@dataclass(frozen=True, slots=True)
class Bin:
    """Figure 4: mean ROUGE-L F1 of the ``count`` outputs whose size is ``first`` to ``last``.

    ``last`` None: no end. ``key_points`` is None without a rule pack.
    """

    first: int
    last: int | None
    count: int
    summaries: float
    key_points: float | None


@dataclass(frozen=True, slots=True)
class Figures:
    """What one system's summaries are worth.

    ``key_points_from``: ``system`` where it writes by key points of its own, ``rules`` where the
    rule pack finds them in its output (section 4.2), None without a rule pack. Of such a system
    ``key_points_by_rules`` says what the rules find in its text: whether it wrote what it planned.
    ``length``: mean words and single Chinese characters, punctuation not counted. ``empty``
    outputs have no word, ``cut`` ones end at a limit of the search, ``partial`` ones are of
    dialogues that the system could not read whole; ``unpunctuated`` ones hold no end of a sentence,
    so that the rules see one sentence only. ``by_key_points`` counts pairs of output and reference,
    ``by_utterances`` dialogues.
    """

    dialogues: int
    summaries: Quality
    key_points: Quality | None
    key_points_from: str | None
    key_points_by_rules: Quality | None
    key_facts: KeyFacts | None
    length: float
    empty: int
    cut: int
    partial: int
    unpunctuated: int
    by_key_points: tuple[Bin, ...]
    by_utterances: tuple[Bin, ...]

    def to_json(self) -> dict[str, JSON]:
        """All fields as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ReferenceFigures:
    """What the systems are measured by: mean ``length`` and ``key_points`` of a reference.

    ``references`` is how many a dialogue has, in the mean.
    """

    dialogues: int
    references: float
    length: float
    key_points: float | None

    def to_json(self) -> dict[str, JSON]:
        """All fields as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Sizes:
    """N outputs or pairs: how large each is, and its ROUGE-L of words and of key points.

    ``sizes`` (N,), ``summaries`` (N,), ``key_points`` (N,) with NaN where there is nothing to find.
    """

    sizes: Sequence[int]
    summaries: Floats
    key_points: Floats

    @classmethod
    def of(cls, scores: Scores, sizes: Sequence[int]) -> "Sizes":
        """The scores' own."""
        nothing = np.full(len(scores.ids), np.nan)
        key = "key_points.rougeL.f1"
        key_points = scores.each(key) if key in scores else nothing
        return cls(sizes, scores.each("rougeL.f1"), key_points)


def by_key_points(pairs: Sizes) -> tuple[Bin, ...]:
    """Figure 4(a) and (b): each output by the key points of each of its references."""
    return tuple(_binned(KEY_POINTS, pairs))


def by_utterances(outputs: Sizes) -> tuple[Bin, ...]:
    """Figure 4(c) and (d): each output by the utterances of its dialogue."""
    return tuple(_binned(UTTERANCES, outputs))


def _binned(starts: Sequence[int], found: Sizes) -> Iterator[Bin]:
    """Bins begin at ``starts``; the first takes what is smaller, too."""
    places = np.searchsorted(starts, found.sizes, side="right").clip(min=1) - 1
    ends = [*(start - 1 for start in starts[1:]), None]
    for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
        inside = places == i
        if inside.any():
            yield Bin(
                first=start,
                last=end,
                count=int(inside.sum()),
                summaries=_mean(found.summaries[inside]) or 0.0,
                key_points=_mean(found.key_points[inside]),
            )


def _mean(values: Floats) -> float | None:
    """NaN is left out."""
    told = values[~np.isnan(values)]
    return float(told.mean()) if len(told) else None


def _told(value: float) -> float | None:
    return None if np.isnan(value) else value
