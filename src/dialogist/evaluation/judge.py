"""`Judge`: a system's summaries beside human ones, by their words and by their key points.

    dialogues, rule pack -> Judge      a system's summaries -> Judge.score -> Scores, Figures

Liu et al., KDD 2019, section 4.2: BLEU, ROUGE-1 and -2 as recall, ROUGE-L as F1; of a summary's
words (Chinese: characters), and of its key points, each being one token. A system that writes by
key points says which they are; of all others, and of the references, the rules find them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean

from dialogist.data.keypoints import RulePack, section_of
from dialogist.evaluation.figures import (
    Figures,
    KeyFacts,
    Quality,
    ReferenceFigures,
    Sizes,
    by_key_points,
    by_utterances,
)
from dialogist.evaluation.key_points import KeyPoints, find_labels
from dialogist.evaluation.outputs.output import Output, says_own_labels, spoken
from dialogist.evaluation.scoring.score import OnDone, score
from dialogist.evaluation.scoring.scores import Scores
from dialogist.metrics.base import Metric
from dialogist.metrics.bleu import Bleu
from dialogist.metrics.rouge import Rouge
from dialogist.records import Dialogue, Summary
from dialogist.text.words import words_of

_SENTENCE_ENDS = frozenset(".!?…。！？；\n")


class Judge:
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
        self._references = [spoken(dialogue.references) for dialogue in dialogues]
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
            empty=sum(not words_of(text) for text in texts),
            cut=sum(one.is_cut for one in summaries),
            partial=sum(one.status == "truncated" for one in summaries),
            unpunctuated=sum(bool(words_of(t)) and _SENTENCE_ENDS.isdisjoint(t) for t in texts),
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
    return by_characters(text for one in dialogues for text in spoken(one.references))


def by_characters(texts: Iterable[str]) -> bool:
    """Whether most words of some texts are such characters."""
    words = [word for text in texts for word in words_of(text)]
    return 2 * sum(len(word) == 1 and not word.isascii() for word in words) > len(words)


def _length(text: str) -> int:
    return len(words_of(text))
