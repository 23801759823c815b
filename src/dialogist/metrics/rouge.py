"""ROUGE-1/2/L/Lsum by Google's ``rouge-score`` with stemmer, and a tokenizer that reads any script.

For English the numbers are ``rouge-score``'s own. Its tokenizer drops everything but ASCII letters
and digits, so Chinese would score 0: here each CJK character is a token and a run of letters of
another non-Latin script is a word. Scores are 0-100.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from statistics import fmean

from rouge_score import rouge_scorer, tokenizers

from dialogist.text.sentences import split_sentences

TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LATIN = "\u0000-\u024f"
_PIECE = re.compile(rf"[{_CJK}]|(?:(?![{_CJK}{_LATIN}_])\w)+|[{_LATIN}]+")


class AnyScriptTokenizer(tokenizers.Tokenizer):  # type: ignore[misc]
    """``rouge-score``'s default tokenizer for Latin text; characters or words elsewhere."""

    def __init__(self) -> None:
        self._latin = tokenizers.DefaultTokenizer(use_stemmer=True)

    def tokenize(self, text: str) -> list[str]:
        """Lower-cased, stemmed tokens."""
        if text.isascii():
            return list(self._latin.tokenize(text))
        tokens: list[str] = []
        for piece in _PIECE.findall(text):
            latin = piece[0] <= "\u024f"
            tokens += self._latin.tokenize(piece) if latin else [piece.lower()]
        return tokens


@dataclass(frozen=True, slots=True)
class PRF:
    """Precision, recall and their harmonic mean, 0-100."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True, slots=True)
class RougeScore:
    """One prediction's scores by ROUGE type: averaged over its references, and the best one's."""

    average: dict[str, PRF]
    maximum: dict[str, PRF]


class Rouge:
    """Scores predictions against one or more references each."""

    signature = f"rouge-score {version('rouge-score')} | stemmer | any-script tokenizer | F1 x 100"

    def __init__(self) -> None:
        self._scorer = rouge_scorer.RougeScorer(list(TYPES), tokenizer=AnyScriptTokenizer())

    def score(self, prediction: str, references: Sequence[str]) -> RougeScore:
        """Scores of one prediction.

        Raises:
            ValueError: there is no reference.
        """
        if not references:
            raise ValueError("ROUGE needs at least one reference")
        found = [self._one(prediction, reference) for reference in references]
        return RougeScore(
            average={t: _mean([scores[t] for scores in found]) for t in TYPES},
            maximum={t: max((s[t] for s in found), key=lambda prf: prf.f1) for t in TYPES},
        )

    def _one(self, prediction: str, reference: str) -> dict[str, PRF]:
        # rougeLsum works on sentences, one a line; the other types do not see line ends.
        lines = ["\n".join(split_sentences(text)) for text in (reference, prediction)]
        scores = self._scorer.score(*lines)
        return {
            t: PRF(100 * s.precision, 100 * s.recall, 100 * s.fmeasure) for t, s in scores.items()
        }


def corpus_f1(scores: Sequence[RougeScore], *, best_reference: bool = False) -> dict[str, float]:
    """The mean F1 of every type over a corpus (``best_reference``: against the best one each)."""
    chosen = [s.maximum if best_reference else s.average for s in scores]
    return {t: fmean(s[t].f1 for s in chosen) if chosen else 0.0 for t in TYPES}


def _mean(scores: Sequence[PRF]) -> PRF:
    return PRF(
        fmean(s.precision for s in scores),
        fmean(s.recall for s in scores),
        fmean(s.f1 for s in scores),
    )
