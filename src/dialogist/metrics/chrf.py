"""chrF2 of a corpus by ``sacrebleu``'s counting (the extra ``eval``), for any language.

Popović 2015: F-score of character n-grams, 1 to 6, recall weighing twice; white space and words
play no part. With one reference to each prediction the figure is ``sacrebleu``'s own (tested);
with several, counts are averaged as those of `Bleu` are. Scores are 0-100, case matters.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dialogist.errors import MissingExtraError
from dialogist.metrics.base import Case, Column, Floats
from dialogist.metrics.overlap import shared

ORDERS = 6
BETA = 2


class Chrf:
    """Character n-grams; a `Metric`.

    Raises:
        MissingExtraError: sacrebleu is not installed.
    """

    name = "chrf"

    def __init__(self) -> None:
        try:
            from sacrebleu.metrics.chrf import CHRF
            from sacrebleu.metrics.helpers import extract_all_char_ngrams
        except ImportError:
            raise MissingExtraError("chrF", "eval") from None
        self._ngrams: Any = extract_all_char_ngrams
        self._chrf: Any = CHRF(char_order=ORDERS, beta=BETA)

    @property
    def columns(self) -> tuple[Column, ...]:
        """One: its numbers are, by order, n-grams said, of the reference, and shared."""
        return (Column("chrf", f"chrF{BETA}", "higher", 3 * ORDERS, _figures),)

    @property
    def signature(self) -> str:
        """``sacrebleu``'s own signature."""
        self._chrf.corpus_score(["a"], [["a"]])  # it does not know nrefs before
        return (
            f"chrF{BETA} | {self._chrf.get_signature().format()} | counts averaged over references"
        )

    def reads(self, script: str) -> bool:
        """Whether it can read a script: every one."""
        return True

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        said = self._ngrams(case.prediction, ORDERS, False)
        every = [_counts(said, self._ngrams(text, ORDERS, False)) for text in case.references]
        return [sum(counts) / len(every) for counts in zip(*every, strict=True)]


def _counts(said: Sequence[Counter[str]], wanted: Sequence[Counter[str]]) -> list[int]:
    return [
        number
        for one, other in zip(said, wanted, strict=True)
        # sacrebleu does not count what is said where the reference has no such n-gram.
        for number in (one.total() if other else 0, other.total(), shared(one, other))
    ]


def _figures(sums: Floats) -> Floats:
    """(R, 18) -> (R,) chrF, NaN where there is nothing at all.

    Precision and recall are means over the orders that both sides have.
    """
    said, wanted, both = (sums[:, i::3] for i in range(3))  # each (R, 6)
    has = (said > 0) & (wanted > 0)
    orders = np.maximum(has.sum(1), 1)
    precision = np.where(has, both / np.where(has, said, 1), 0).sum(1) / orders
    recall = np.where(has, both / np.where(has, wanted, 1), 0).sum(1) / orders
    weighted = BETA**2 * precision + recall
    score = (1 + BETA**2) * precision * recall / np.where(weighted > 0, weighted, 1)
    found: Floats = np.where(sums.any(1), 100 * score, np.nan)
    return found
