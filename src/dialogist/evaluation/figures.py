"""A system's figures, as in Table 4 and Figures 3 and 4 of the Leader-Writer paper (KDD 2019).

What `judge` says of each output is summed up here. With several references every figure is the
mean over them, and each dialogue weighs the same. Figures are 0-100.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from dialogist.metrics.bleu import BleuCounts
from dialogist.metrics.labels import LabelScore
from dialogist.records import JSON

KEY_POINTS = tuple(range(1, 11))
"""Where the bins of Figure 4(a) and (b) begin: reference key points."""

UTTERANCES = (1, 6, 11, 16, 21, 31, 41)
"""Where the bins of Figure 4(c) and (d) begin: utterances of the dialogue."""


@dataclass(frozen=True, slots=True)
class Pair:
    """An output beside one reference: its words, its key points, its key facts.

    ``key_points`` is None without a rule pack, ``key_facts`` where neither side has a key fact.
    """

    words: LabelScore
    key_points: LabelScore | None
    key_facts: float | None
    wanted: tuple[str, ...]
    wanted_facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """An output beside all the references of its dialogue; ``found_facts`` are its key facts."""

    utterances: int
    pairs: tuple[Pair, ...]
    bleu: BleuCounts
    key_point_bleu: BleuCounts | None
    found_facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Quality:
    """One half of a row of Table 4; None where no dialogue has anything to find."""

    bleu: float
    rouge1_recall: float | None
    rouge2_recall: float | None
    rougeL_f1: float | None

    @classmethod
    def of(cls, scores: Sequence[Sequence[LabelScore]], bleu: float) -> "Quality":
        """From the scores beside each reference of each dialogue."""
        return cls(
            bleu=bleu,
            rouge1_recall=_mean([s.rouge1 for s in several] for several in scores),
            rouge2_recall=_mean([s.rouge2 for s in several] for several in scores),
            rougeL_f1=_mean([s.rougeL for s in several] for several in scores),
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
    def of(cls, judged: Sequence[Judged]) -> "KeyFacts":
        """Sum up."""
        has = [(bool(j.found_facts), bool(p.wanted_facts)) for j in judged for p in j.pairs]
        scores = [[pair.key_facts for pair in one.pairs] for one in judged]
        return cls(
            rougeL_f1=_mean(scores),
            scored=sum(any(score is not None for score in several) for several in scores),
            missed=has.count((False, True)),
            invented=has.count((True, False)),
            neither=has.count((False, False)),
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


def by_key_points(judged: Iterable[Judged]) -> tuple[Bin, ...]:
    """Figure 4(a) and (b): each output by the key points of each of its references."""
    return _binned(KEY_POINTS, ((len(p.wanted), [p]) for one in judged for p in one.pairs))


def by_utterances(judged: Iterable[Judged]) -> tuple[Bin, ...]:
    """Figure 4(c) and (d): each output by the utterances of its dialogue."""
    return _binned(UTTERANCES, ((one.utterances, one.pairs) for one in judged))


def _binned(
    starts: Sequence[int], outputs: Iterable[tuple[int, Sequence[Pair]]]
) -> tuple[Bin, ...]:
    """Outputs by size; bins begin at ``starts``, the first takes what is smaller, too."""
    found: list[list[Sequence[Pair]]] = [[] for _ in starts]
    for size, pairs in outputs:
        found[max(0, sum(size >= start for start in starts) - 1)].append(pairs)
    ends = [*(start - 1 for start in starts[1:]), None]
    return tuple(
        Bin(
            first=start,
            last=end,
            count=len(several),
            summaries=_mean([p.words.rougeL for p in pairs] for pairs in several) or 0.0,
            key_points=_mean(_label_scores(pairs) for pairs in several),
        )
        for start, end, several in zip(starts, ends, found, strict=True)
        if several
    )


def _label_scores(pairs: Sequence[Pair]) -> Iterator[float | None]:
    return (pair.key_points.rougeL for pair in pairs if pair.key_points is not None)


def _mean(scores: Iterable[Iterable[float | None]]) -> float | None:
    """The mean over dialogues of the mean over references; None is left out of both."""
    told = [[score for score in several if score is not None] for several in scores]
    means = [fmean(several) for several in told if several]
    return fmean(means) if means else None
