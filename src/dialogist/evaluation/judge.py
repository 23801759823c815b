"""`Judge`: a system's summaries beside human ones, by their words and by their key points.

    dialogues, rule pack -> Judge      a system's summaries -> Judge.figures -> Figures

Liu et al., KDD 2019, section 4.2: BLEU, ROUGE-1 and -2 as recall, ROUGE-L as F1; of a summary's
words (Chinese: characters), and of its key points, each being one token. A system that writes by
key points says which they are; of all others, and of the references, the rules find them.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean

from dialogist.data.keypoints import RulePack, section_of
from dialogist.evaluation.figures import (
    Figures,
    Judged,
    KeyFacts,
    Pair,
    Quality,
    ReferenceFigures,
    by_key_points,
    by_utterances,
)
from dialogist.metrics.bleu import Bleu
from dialogist.metrics.labels import LabelScore, LabelScorer
from dialogist.metrics.rouge import Rouge
from dialogist.records import Dialogue, Summary
from dialogist.text.words import words_of

_SENTENCE_ENDS = frozenset(".!?…。！？；\n")
_STOPPED = "and stops there"  # how a summarizer's warnings say that a summary is cut


class Judge:
    """Scores systems on ``dialogues``, which all have a reference; ``pack`` None: no key points.

    Raises:
        MissingExtraError: sacrebleu is not installed.
    """

    def __init__(self, dialogues: Sequence[Dialogue], pack: RulePack | None) -> None:
        self.dialogues = dialogues
        self.pack = pack
        # BLEU must be told; ROUGE takes Chinese by characters anyway.
        self.chinese = is_chinese(dialogues) if pack is None else pack.language == "zh"
        self._references = [references_of(dialogue) for dialogue in dialogues]
        self._wanted = [
            [self._by_rules(text, dialogue) for text in texts]
            for dialogue, texts in zip(dialogues, self._references, strict=True)
        ]
        self._rouge = Rouge()
        self._bleu = Bleu("zh" if self.chinese else "13a")
        longest = max(len(labels) for several in self._wanted for labels in several)
        self._labels = LabelScorer(() if pack is None else pack.labels, longest)

    @property
    def unit(self) -> str:
        """What lengths are counted in."""
        return "characters" if self.chinese else "words"

    def signatures(self) -> dict[str, str]:
        """How each figure came about, to the version."""
        kinds = "R1 and R2 recall, RL F1 | x 100"
        rouge = Rouge.signature.removesuffix("F1 x 100")
        signatures = {"bleu": self._bleu.signature, "rouge": f"{rouge}{kinds}"}
        if self.pack is not None:
            signatures["key_points_bleu"] = f"{self._labels.bleu.signature} | a label is a token"
            signatures["key_points_rouge"] = f"{rouge}{kinds}".replace(
                "stemmer | any-script tokenizer", "a label is a token"
            )
        return signatures

    def references(self) -> ReferenceFigures:
        """What the references are like."""
        return ReferenceFigures(
            dialogues=len(self.dialogues),
            references=fmean(map(len, self._references)),
            length=fmean(fmean(map(_length, texts)) for texts in self._references),
            key_points=fmean(fmean(map(len, w)) for w in self._wanted) if self.pack else None,
        )

    def figures(self, summaries: Sequence[Summary]) -> Figures:
        """Score one system's summaries of the dialogues, in their order."""
        own = self._knows_own_labels(summaries)
        judged = [self._judge(i, summary, own) for i, summary in enumerate(summaries)]
        texts = [summary.text for summary in summaries]
        words = [[pair.words for pair in one.pairs] for one in judged]
        return Figures(
            dialogues=len(judged),
            summaries=Quality.of(words, self._bleu.score(one.bleu for one in judged)),
            key_points=self._key_points(judged),
            key_points_from=None if self.pack is None else "system" if own else "rules",
            key_points_by_rules=self._key_points_by_rules(texts) if own else None,
            key_facts=KeyFacts.of(judged) if self.pack and self.pack.key_facts else None,
            length=fmean(map(_length, texts)),
            empty=sum(not words_of(text) for text in texts),
            cut=sum(any(_STOPPED in text for text in s.warnings) for s in summaries),
            partial=sum(summary.status == "partial" for summary in summaries),
            unpunctuated=sum(bool(words_of(t)) and _SENTENCE_ENDS.isdisjoint(t) for t in texts),
            by_key_points=by_key_points(judged) if self.pack else (),
            by_utterances=by_utterances(judged),
        )

    def _knows_own_labels(self, summaries: Iterable[Summary]) -> bool:
        """Whether the system says its key points, all being labels of this pack."""
        said = {part.label for summary in summaries for part in summary.key_points}
        return self.pack is not None and bool(said) and said <= set(self.pack.labels)

    def _judge(self, number: int, summary: Summary, own: bool) -> Judged:
        dialogue = self.dialogues[number]
        references, wanted = self._references[number], self._wanted[number]
        found = (
            tuple(part.label for part in summary.key_points)
            if own
            else self._by_rules(summary.text, dialogue)
        )
        return Judged(
            utterances=len(dialogue.utterances),
            pairs=tuple(
                self._pair(self._words(summary.text, reference), found, labels)
                for reference, labels in zip(references, wanted, strict=True)
            ),
            bleu=self._bleu.count(summary.text, references),
            key_point_bleu=self._labels.count(found, wanted) if self.pack else None,
            found_facts=self._facts(found),
        )

    def _words(self, text: str, reference: str) -> LabelScore:
        scores = self._rouge.score(text, [reference]).average
        return LabelScore(scores["rouge1"].recall, scores["rouge2"].recall, scores["rougeL"].f1)

    def _pair(self, words: LabelScore, found: Sequence[str], wanted: tuple[str, ...]) -> Pair:
        facts = self._facts(wanted)
        return Pair(
            words=words,
            key_points=self._labels.score(found, wanted) if self.pack else None,
            key_facts=self._labels.score(self._facts(found), facts).rougeL,
            wanted=wanted,
            wanted_facts=facts,
        )

    def _by_rules(self, text: str, dialogue: Dialogue) -> tuple[str, ...]:
        if self.pack is None or not words_of(text):
            return ()  # "...." is about nothing, not about the default
        return tuple(part.label for part in self.pack.analyse(text, section_of(dialogue)))

    def _facts(self, labels: Iterable[str]) -> tuple[str, ...]:
        facts = () if self.pack is None else self.pack.key_facts
        return tuple(label for label in labels if label in facts)

    def _key_points(self, judged: Sequence[Judged]) -> Quality | None:
        if self.pack is None:
            return None
        scores = [[pair.key_points for pair in one.pairs if pair.key_points] for one in judged]
        counts = (one.key_point_bleu for one in judged if one.key_point_bleu)
        return Quality.of(scores, self._labels.bleu.score(counts))

    def _key_points_by_rules(self, texts: Sequence[str]) -> Quality:
        found = [self._by_rules(text, d) for text, d in zip(texts, self.dialogues, strict=True)]
        pairs = list(zip(found, self._wanted, strict=True))
        scores = [[self._labels.score(labels, w) for w in several] for labels, several in pairs]
        counts = (self._labels.count(labels, several) for labels, several in pairs)
        return Quality.of(scores, self._labels.bleu.score(counts))


def references_of(dialogue: Dialogue) -> list[str]:
    """The references that say something."""
    return [text for text in dialogue.references if text.strip()]


def is_chinese(dialogues: Iterable[Dialogue]) -> bool:
    """Whether most words of the references are single characters of Chinese, Japanese, Korean."""
    words = [w for d in dialogues for text in references_of(d) for w in words_of(text)]
    return 2 * sum(len(word) == 1 and not word.isascii() for word in words) > len(words)


def _length(text: str) -> int:
    return len(words_of(text))
