"""BLEU and ROUGE of label sequences, such as key points: each label is one token.

Liu et al., KDD 2019, section 4.2: ROUGE-1 and -2 are recall, ROUGE-L is F1. Scores are 0-100, and
None where there is nothing to find: a mean over a corpus leaves these out, so that a system that
makes no mistake has 100.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dialogist.metrics.bleu import Bleu, BleuCounts
from dialogist.metrics.overlap import Token, lcs_length, positions, shared, triple


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
        self.bleu = Bleu("none", orders=max(1, min(4, longest)))

    def score(self, found: Sequence[str], wanted: Sequence[str]) -> LabelScore:
        """ROUGE of ``found`` beside the reference ``wanted``."""
        common = lcs_length(positions(wanted), len(wanted), found)
        return LabelScore(
            rouge1=_recall(found, wanted),
            rouge2=_recall(list(pairwise(found)), list(pairwise(wanted))),
            rougeL=triple(common, len(found), len(wanted))[2] if wanted or found else None,
        )

    def count(self, found: Sequence[str], references: Sequence[Sequence[str]]) -> BleuCounts:
        """What BLEU needs to know."""
        return self.bleu.count(self._text(found), [self._text(one) for one in references])

    def _text(self, labels: Sequence[str]) -> str:
        return " ".join(self._numbers[label] for label in labels)


def _recall(found: Sequence[Token], wanted: Sequence[Token]) -> float | None:
    if not wanted:
        return None
    return 100 * shared(Counter(found), Counter(wanted)) / len(wanted)
