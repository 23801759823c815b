"""BLEU, chrF (by ``sacrebleu``), and BLEU and ROUGE of label sequences."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np

from dialogist.errors import needs_extra
from dialogist.metrics.base import UNSPACED, Case, Column, Floats
from dialogist.metrics.ngram_overlap import SequenceT, lcs_length, positions, shared, triple

# Corpus BLEU by ``sacrebleu`` (the extra ``eval``); several references are averaged.
#
# Papineni et al. 2002. With one reference to each prediction the figure is ``sacrebleu``'s own.
# Standard BLEU lets a prediction pick its n-grams from all references at once, which rewards
# whoever has more of them; here what a prediction shares with each reference is counted alone and
# the counts are averaged, so each dialogue weighs the same. Scores are 0-100.


class Bleu:
    """Counts prediction by prediction, and scores a corpus of counts; a `Metric`.

    ``tokens``: ``13a`` splits as the WMT does, ``zh`` the same with each Chinese character by
    itself, ``none`` at white space alone. Case is ignored, as ROUGE ignores it. ``orders``: the
    longest n-grams; a corpus of predictions that holds none of these has 0.

    Raises:
        MissingExtraError: sacrebleu is not installed.
    """

    name = "bleu"

    def __init__(self, tokens: Literal["13a", "zh", "none"], orders: int = 4) -> None:
        self.tokens = tokens
        self.orders = orders
        # A model may write spaces before full stops: no warning about it.
        self._bleu: Any = _sacrebleu()(
            lowercase=True, tokenize=tokens, max_ngram_order=orders, force=True
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """One: its numbers are n-grams shared, n-grams said, the two lengths."""
        figure = partial(_bleu_figures, self.orders)
        return (Column("bleu", f"BLEU-{self.orders}", "higher", 2 * self.orders + 2, figure),)

    @property
    def signature(self) -> str:
        """``sacrebleu``'s own signature."""
        self._bleu.corpus_score(["a"], [["a"]])  # it does not know nrefs before
        own = self._bleu.get_signature().format()
        return f"BLEU-{self.orders} | {own} | counts averaged over references"

    def reads(self, script: str) -> bool:
        """Whether it can tell words of a script apart: where white space does, and in Chinese."""
        return script not in UNSPACED or (script == "cjk" and self.tokens == "zh")

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        return self.count(case.prediction, case.references)

    def count(self, prediction: str, references: Sequence[str]) -> list[float]:
        """What a prediction shares with its references, one or more: the numbers of `columns`."""
        found = [self._bleu.corpus_score([prediction], [[text]]) for text in references]
        shared = (fmean(score.counts[n] for score in found) for n in range(self.orders))
        lengths = (found[0].sys_len, fmean(score.ref_len for score in found))
        return [*shared, *found[0].totals, *lengths]


def _bleu_figures(orders: int, sums: Floats) -> Floats:
    """(R, 2 * orders + 2) -> (R,) BLEU, NaN where there is nothing at all."""
    compute = _sacrebleu().compute_bleu
    found = [
        compute(
            correct=row[:orders],
            total=row[orders : 2 * orders],
            sys_len=round(row[-2]),
            ref_len=round(row[-1]),  # it takes no fraction
            smooth_method="exp",
            max_ngram_order=orders,
        ).score
        if any(row)
        else np.nan
        for row in sums.tolist()
    ]
    return np.array(found, dtype=np.float64)


def _sacrebleu() -> Any:
    """The class ``BLEU``, of an optional package."""
    with needs_extra("BLEU", "eval"):
        from sacrebleu.metrics.bleu import BLEU
    return BLEU


# chrF2 of a corpus by ``sacrebleu``'s counting (the extra ``eval``), for any language.
#
# Popović 2015: F-score of character n-grams, 1 to 6, recall weighing twice; white space and words
# play no part. With one reference to each prediction the figure is ``sacrebleu``'s own (tested);
# with several, counts are averaged as those of `Bleu` are. Scores are 0-100, case matters.

ORDERS = 6
BETA = 2


class Chrf:
    """Character n-grams; a `Metric`.

    Raises:
        MissingExtraError: sacrebleu is not installed.
    """

    name = "chrf"

    def __init__(self) -> None:
        with needs_extra("chrF", "eval"):
            from sacrebleu.metrics.chrf import CHRF
            from sacrebleu.metrics.helpers import extract_all_char_ngrams
        self._ngrams: Any = extract_all_char_ngrams
        self._chrf: Any = CHRF(char_order=ORDERS, beta=BETA)

    @property
    def columns(self) -> tuple[Column, ...]:
        """One: its numbers are, by order, n-grams said, of the reference, and shared."""
        return (Column("chrf", f"chrF{BETA}", "higher", 3 * ORDERS, _chrf_figures),)

    @property
    def signature(self) -> str:
        """``sacrebleu``'s own signature."""
        self._chrf.corpus_score(["a"], [["a"]])  # it does not know nrefs before
        return (
            f"chrF{BETA} | {self._chrf.get_signature().format()} | counts averaged over references"
        )

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


def _chrf_figures(sums: Floats) -> Floats:
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


# BLEU and ROUGE of label sequences, such as key points: each label is one token.
#
# Liu et al., KDD 2019, section 4.2: ROUGE-1 and -2 are recall, ROUGE-L is F1. Scores are 0-100, and
# None where there is nothing to find: a mean over a corpus leaves these out, so that a system that
# makes no mistake has 100.


class LabelScore(NamedTuple):
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

    def count(self, found: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
        """What BLEU needs to know."""
        return self.bleu.count(self._text(found), [self._text(one) for one in references])

    def _text(self, labels: Sequence[str]) -> str:
        return " ".join(self._numbers[label] for label in labels)


def _recall(found: Sequence[SequenceT], wanted: Sequence[SequenceT]) -> float | None:
    if not wanted:
        return None
    return 100 * shared(Counter(found), Counter(wanted)) / len(wanted)
