"""Corpus BLEU by ``sacrebleu`` (the extra ``eval``); several references are averaged.

Papineni et al. 2002. With one reference to each prediction the figure is
``sacrebleu``'s own. Standard BLEU lets a prediction pick its n-grams from all references at once,
which rewards whoever has more of them; here what a prediction shares with each reference is counted
alone and the counts are averaged, so each dialogue weighs the same. Scores are 0-100.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from dialogist.errors import MissingExtraError


@dataclass(frozen=True, slots=True)
class BleuCounts:
    """What BLEU needs to know of one prediction, by order of the n-grams, from 1.

    ``shared`` and ``reference_length`` are means over its references.
    """

    shared: tuple[float, ...]
    total: tuple[int, ...]
    length: int
    reference_length: float


class Bleu:
    """Counts prediction by prediction, and scores a corpus of counts.

    ``tokens``: ``13a`` splits as the WMT does, ``zh`` the same with each Chinese character by
    itself, ``none`` at white space alone. Case is ignored, as ROUGE ignores it. ``orders``: the
    longest n-grams; a corpus of predictions that holds none of these has 0.

    Raises:
        MissingExtraError: sacrebleu is not installed.
    """

    def __init__(self, tokens: Literal["13a", "zh", "none"], orders: int = 4) -> None:
        try:
            from sacrebleu.metrics.bleu import BLEU
        except ImportError:
            raise MissingExtraError("BLEU", "eval") from None
        self.orders = orders
        # A model may write spaces before full stops: no warning about it.
        self._bleu: Any = BLEU(lowercase=True, tokenize=tokens, max_ngram_order=orders, force=True)

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
        every, orders = list(counts), range(self.orders)
        score: float = self._bleu.compute_bleu(
            correct=[sum(one.shared[n] for one in every) for n in orders],
            total=[sum(one.total[n] for one in every) for n in orders],
            sys_len=sum(one.length for one in every),
            ref_len=round(sum(one.reference_length for one in every)),  # it takes no fraction
            smooth_method=self._bleu.smooth_method,
            max_ngram_order=self.orders,
        ).score
        return score

    @property
    def signature(self) -> str:
        """``sacrebleu``'s own signature."""
        self._bleu.corpus_score(["a"], [["a"]])  # it does not know nrefs before
        own = self._bleu.get_signature().format()
        return f"BLEU-{self.orders} | {own} | counts averaged over references"
