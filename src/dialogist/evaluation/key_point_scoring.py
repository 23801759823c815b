"""`KeyPointScorer`: a system's summaries beside human ones, by their words and by their key points.

    dialogues, rule pack -> KeyPointScorer      a system's summaries -> .score -> Scores, Figures

Liu et al., KDD 2019, section 4.2, Table 4, Figures 3 and 4: BLEU, ROUGE-1 and -2 as recall, ROUGE-L
as F1; of a summary's words (Chinese: characters), and of its key points, each being one token. A
system that writes by key points says which they are; of all others, and of the references, the
rules find them. With several references every figure is the mean over them, and each dialogue
weighs the same. Figures are 0-100.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

import numpy as np

from dialogist.data.key_points import RulePack, section_of
from dialogist.evaluation.metric_selection import KeyPoints, by_characters, find_labels
from dialogist.evaluation.scoring import OnDone, Scores, score
from dialogist.evaluation.system_outputs import Output, nonblank, says_own_labels
from dialogist.metrics.base import Floats, Metric
from dialogist.metrics.bleu import Bleu
from dialogist.metrics.rouge import Rouge
from dialogist.records import JSON, Dialogue, Summary
from dialogist.text.tokens import words_in

KEY_POINT_BINS = tuple(range(1, 11))
"""Where the bins of Figure 4(a) and (b) begin: reference key points."""

UTTERANCE_BINS = (1, 6, 11, 16, 21, 31, 41)
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
    return tuple(_binned(KEY_POINT_BINS, pairs))


def by_utterances(outputs: Sizes) -> tuple[Bin, ...]:
    """Figure 4(c) and (d): each output by the utterances of its dialogue."""
    return tuple(_binned(UTTERANCE_BINS, outputs))


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


_SENTENCE_ENDS = frozenset(".!?…。！？；\n")


class KeyPointScorer:
    """Scores systems on ``dialogues``, which all have a reference; ``pack`` None: no key points.

    ``more`` metrics are measured beside those of Table 4.

    Raises:
        MissingExtraError: sacrebleu is not installed.
    """

    def __init__(
        self, dialogues: Sequence[Dialogue], pack: RulePack | None, more: Sequence[Metric] = ()
    ) -> None:
        self.dialogues = dialogues
        self.pack = pack
        # BLEU must be told; ROUGE takes Chinese by characters anyway.
        self.chinese = is_chinese(dialogues) if pack is None else pack.language == "zh"
        self._references = [nonblank(dialogue.references) for dialogue in dialogues]
        self._wanted = [
            [len(self._labels(text, dialogue)) for text in texts]
            for dialogue, texts in zip(dialogues, self._references, strict=True)
        ]
        longest = max(count for counts in self._wanted for count in counts)
        self._bleu = Bleu("zh" if self.chinese else "13a")
        self._key_points = () if pack is None else (KeyPoints(pack, longest),)
        self._by_rules = () if pack is None else (KeyPoints(pack, longest, by_rules=True),)
        own = (Rouge(), self._bleu, *self._key_points)
        names = {metric.name for metric in own}
        self.metrics = (*own, *(metric for metric in more if metric.name not in names))

    @property
    def every(self) -> tuple[Metric, ...]:
        """All that may be measured of a system, also of one that says its own key points."""
        return (*self.metrics, *self._by_rules)

    @property
    def unit(self) -> str:
        """What lengths are counted in."""
        return "characters" if self.chinese else "words"

    def signatures(self) -> dict[str, str]:
        """How each figure came about, to the version."""
        kinds = "R1 and R2 recall, RL F1 | x 100"
        signatures = {
            "bleu": self._bleu.signature,
            "rouge": Rouge.signature.replace("average, best | F1 x 100", f"average | {kinds}"),
        }
        for metric in self._key_points:
            signatures["key_points_bleu"] = f"{metric.bleu.signature} | a label is a token"
            signatures["key_points_rouge"] = f"ROUGE | a label is a token | {kinds}"
        return signatures

    def references(self) -> ReferenceFigures:
        """What the references are like."""
        return ReferenceFigures(
            dialogues=len(self.dialogues),
            references=fmean(map(len, self._references)),
            length=fmean(fmean(map(_length, texts)) for texts in self._references),
            key_points=fmean(map(fmean, self._wanted)) if self.pack else None,
        )

    def outputs(self, summaries: Sequence[Summary]) -> list[Output]:
        """One system's summaries of the dialogues, in their order, beside these."""
        pairs = zip(summaries, self.dialogues, strict=True)
        return [Output.of(summary, dialogue) for summary, dialogue in pairs]

    def score(
        self,
        system: str,
        outputs: Sequence[Output],
        processes: int | None = None,
        on_done: OnDone = lambda done: None,
    ) -> Scores:
        """Measure one system's outputs; raises as `scoring.score`."""
        own = self._by_rules if self._knows_own_labels(outputs) else ()
        return score(system, outputs, (*self.metrics, *own), processes, on_done)

    def figures(self, summaries: Sequence[Summary]) -> Figures:
        """Score one system's summaries of the dialogues, in their order."""
        outputs = self.outputs(summaries)
        return self.sum_up(outputs, self.score("", outputs))

    def sum_up(self, outputs: Sequence[Output], scores: Scores) -> Figures:
        """The figures of outputs that `score` has measured.

        Of people measured by each other, who said several things about each dialogue, there are no
        bins.
        """
        own = self._knows_own_labels(outputs)
        pack = self.pack
        texts = [output.prediction for output in outputs]
        summaries = [output.summary for output in outputs]
        whole = len(outputs) == len(scores.ids) == len(self.dialogues)
        return Figures(
            dialogues=len(scores.ids),
            summaries=Quality.of(scores),
            key_points=Quality.of(scores, "key_points.") if pack else None,
            key_points_from=None if pack is None else "system" if own else "rules",
            key_points_by_rules=Quality.of(scores, "key_points_by_rules.") if own else None,
            key_facts=KeyFacts.of(scores) if pack and pack.key_facts else None,
            length=fmean(map(_length, texts)),
            empty=sum(not words_in(text) for text in texts),
            cut=sum(one.is_cut for one in summaries),
            partial=sum(one.status == "truncated" for one in summaries),
            unpunctuated=sum(bool(words_in(t)) and _SENTENCE_ENDS.isdisjoint(t) for t in texts),
            by_key_points=by_key_points(self._pairs(outputs, scores)) if pack and whole else (),
            by_utterances=by_utterances(self._sizes(scores)) if whole else (),
        )

    def _sizes(self, scores: Scores) -> Sizes:
        return Sizes.of(scores, [len(dialogue.utterances) for dialogue in self.dialogues])

    def _pairs(self, outputs: Sequence[Output], scores: Scores) -> Sizes:
        """Each output beside each of its references: what the scores are, or the mean of."""
        sizes = [count for counts in self._wanted for count in counts]
        if len(sizes) == len(outputs):
            return Sizes.of(scores, sizes)
        pairs = [replace(one, references=(text,)) for one in outputs for text in one.references]
        return Sizes.of(score("", pairs, (Rouge(), *self._key_points), 1), sizes)

    def _knows_own_labels(self, outputs: Iterable[Output]) -> bool:
        labels = None if self.pack is None else self.pack.labels
        return says_own_labels((output.summary for output in outputs), labels)

    def _labels(self, text: str, dialogue: Dialogue) -> tuple[str, ...]:
        return () if self.pack is None else find_labels(self.pack, text, section_of(dialogue))


def is_chinese(dialogues: Iterable[Dialogue]) -> bool:
    """Whether most words of the references are single characters of Chinese, Japanese, Korean."""
    return by_characters(text for one in dialogues for text in nonblank(one.references))


def _length(text: str) -> int:
    return len(words_in(text))
