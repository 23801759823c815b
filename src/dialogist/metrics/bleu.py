"""Corpus BLEU by ``sacrebleu`` (the extra ``eval``); several references are averaged.

Papineni et al. 2002. With one reference to each prediction the figure is
``sacrebleu``'s own. Standard BLEU lets a prediction pick its n-grams from all references at once,
which rewards whoever has more of them; here what a prediction shares with each reference is counted
alone and the counts are averaged, so each dialogue weighs the same. Scores are 0-100.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Any, Literal

import numpy as np

from dialogist.errors import MissingExtraError
from dialogist.metrics.base import Case, Column, Floats
from dialogist.metrics.scripts import UNSPACED


@dataclass(frozen=True, slots=True)
class BleuCounts:
    """What BLEU needs to know of one prediction, by order of the n-grams, from 1.

    ``shared`` and ``reference_length`` are means over the references.
    """

    shared: tuple[float, ...]
    total: tuple[int, ...]
    length: int
    reference_length: float


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
        figure = partial(_figures, self.orders)
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
        counts = self.count(case.prediction, case.references)
        return [*counts.shared, *counts.total, counts.length, counts.reference_length]

    def count(self, prediction: str, references: Sequence[str]) -> BleuCounts:
        """What a prediction shares with its references, one or more."""
        found = [self._bleu.corpus_score([prediction], [[text]]) for text in references]
        return BleuCounts(
            shared=tuple(fmean(score.counts[n] for score in found) for n in range(self.orders)),
            total=tuple(found[0].totals),
            length=found[0].sys_len,
            reference_length=fmean(score.ref_len for score in found),
        )

    def score(self, counts: Iterable[BleuCounts]) -> float:
        """BLEU of a corpus; 0 where there is nothing."""
        every = [[*c.shared, *c.total, c.length, c.reference_length] for c in counts]
        if not every:
            return 0.0
        return float(np.nan_to_num(_figures(self.orders, np.array(every).sum(0)[None])[0]))


def _figures(orders: int, sums: Floats) -> Floats:
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
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise MissingExtraError("BLEU", "eval") from None
    return BLEU
