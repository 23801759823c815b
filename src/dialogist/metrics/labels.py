"""BLEU and ROUGE of label sequences, such as key points: each label is one token.

Liu et al., KDD 2019, section 4.2: ROUGE-1 and -2 are recall, ROUGE-L is F1. Scores are 0-100, and
None where there is nothing to find: a mean over a corpus leaves these out, so that a system that
makes no mistake has 100.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rouge_score import rouge_scorer, tokenizers

from dialogist.metrics.bleu import Bleu, BleuCounts


class _Spaces(tokenizers.Tokenizer):  # type: ignore[misc]
    def tokenize(self, text: str) -> list[str]:
        return text.split()


@dataclass(frozen=True, slots=True)
class LabelScore:
    """One sequence beside one reference.

    ``rouge1`` and ``rouge2`` are None where the reference has no label, or no two; ``rougeL`` where
    both sequences are empty.
    """

    rouge1: float | None
    rouge2: float | None
    rougeL: float | None


class LabelScorer:
    """Scores sequences of the given labels.

    ``longest``: the length of the longest reference. BLEU looks at n-grams up to 4, and of shorter
    ones where no reference has four labels.
    """

    def __init__(self, labels: Sequence[str], longest: int) -> None:
        # Numbers for labels: a label may hold spaces.
        self._numbers = {label: str(i) for i, label in enumerate(labels)}
        self._rouge = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=_Spaces())
        self.bleu = Bleu("none", orders=max(1, min(4, longest)))

    def score(self, found: Sequence[str], wanted: Sequence[str]) -> LabelScore:
        """ROUGE of ``found`` beside the reference ``wanted``."""
        scores = self._rouge.score(self._text(wanted), self._text(found))
        return LabelScore(
            rouge1=100 * scores["rouge1"].recall if wanted else None,
            rouge2=100 * scores["rouge2"].recall if len(wanted) > 1 else None,
            rougeL=100 * scores["rougeL"].fmeasure if wanted or found else None,
        )

    def count(self, found: Sequence[str], references: Sequence[Sequence[str]]) -> BleuCounts:
        """What BLEU needs to know."""
        return self.bleu.count(self._text(found), [self._text(one) for one in references])

    def _text(self, labels: Sequence[str]) -> str:
        return " ".join(self._numbers[label] for label in labels)
