"""ROUGE by Google's ``rouge-score`` and BLEU by ``sacrebleu``. All figures are 0-100."""

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from statistics import fmean

import numpy as np
from nltk.stem.porter import PorterStemmer
from rouge_score.rouge_scorer import RougeScorer
from rouge_score.tokenizers import Tokenizer
from sacrebleu.metrics.bleu import BLEU

from dialogist.language.tokens import split_sentences
from dialogist_lab.evaluation.metric import (
    CJK,
    Case,
    Floats,
    Metric,
    MetricColumn,
    mean_of,
    triple_columns,
)

ROUGE_TYPES = {"rouge1": "R1", "rouge2": "R2", "rougeL": "RL", "rougeLsum": "RLsum"}
"""The kinds of ROUGE, and what tables call them."""

_LATIN = "\u0000-\u024f"
_PIECE = re.compile(rf"[{CJK}]|(?:(?![{CJK}{_LATIN}_])\w)+|[{_LATIN}]+")
_WORD = re.compile("[a-z0-9]+")


class RougeWords(Tokenizer):  # type: ignore[misc]
    """``rouge-score``'s words, for any script: its own tokenizer finds none in Chinese.

    Latin text gives exactly its words (accents split a word there, too). A CJK character is a word,
    and so is a run of letters of any other script.
    """

    def __init__(self) -> None:
        stem = PorterStemmer().stem
        self._stem = lru_cache(200_000)(lambda word: stem(word) if len(word) > 3 else word)
        self._known = lru_cache(50_000)(self._words)  # texts are compared more than once

    def tokenize(self, text: str) -> list[str]:
        """The words of a text."""
        return self._known(text)

    def _words(self, text: str) -> list[str]:
        words: list[str] = []
        for piece in [text] if text.isascii() else _PIECE.findall(text):
            latin = piece[:1] <= _LATIN[-1]
            words += _WORD.findall(piece.lower()) if latin else [piece.lower()]
        return [self._stem(word) for word in words]


class Rouge(Metric):
    """ROUGE-1, -2, -L and -Lsum: precision, recall and F1, means over the references."""

    name = "rouge"
    signature = (
        "rouge-score 0.1.2 | stemmer | any-script tokenizer | mean over references | F1 x 100"
    )
    columns = tuple(c for kind, title in ROUGE_TYPES.items() for c in triple_columns(kind, title))

    def __init__(self) -> None:
        self._scorer = RougeScorer(list(ROUGE_TYPES), tokenizer=RougeWords())

    def measure(self, case: Case) -> Sequence[float]:
        prediction = "\n".join(split_sentences(case.prediction))
        by_reference = [
            self._scorer.score("\n".join(split_sentences(text)), prediction)
            for text in case.references
        ]
        triples = ([scores[kind] for scores in by_reference] for kind in ROUGE_TYPES)
        means = (100 * fmean(part) for each in triples for part in zip(*each, strict=True))
        return [number for mean in means for number in mean_of(mean)]


class Bleu(Metric):
    """Corpus BLEU-4, lower-cased; counts are averaged over several references.

    With one reference the figure is ``sacrebleu``'s. Standard BLEU would let an output pick n-grams
    from all references, which rewards dialogues that have more of them. ``chinese``: each Chinese
    character is a word. ``orders``: the longest n-grams.
    """

    name = "bleu"

    def __init__(self, chinese: bool = False, orders: int = 4, tokenize: str = "13a") -> None:
        tokenize = "zh" if chinese else tokenize
        self._bleu = BLEU(lowercase=True, tokenize=tokenize, max_ngram_order=orders, force=True)
        self._orders = orders
        self._bleu.corpus_score(["a"], [["a"]])  # before, it knows no signature
        self.signature = f"{self._bleu.get_signature().format()} | counts averaged over references"
        self.only_latin = not chinese
        figure = partial(_bleu_figures, orders)
        self.columns = (
            MetricColumn("bleu", f"BLEU-{orders}", width=2 * orders + 2, figure=figure),
        )

    def measure(self, case: Case) -> Sequence[float]:
        """N-grams shared by order, n-grams said by order, length, and the references' length."""
        by_reference = [
            self._bleu.corpus_score([case.prediction], [[text]]) for text in case.references
        ]
        shared = [fmean(score.counts[n] for score in by_reference) for n in range(self._orders)]
        lengths = (by_reference[0].sys_len, fmean(score.ref_len for score in by_reference))
        return [*shared, *by_reference[0].totals, *lengths]


def _bleu_figures(orders: int, sums: Floats) -> Floats:
    """(R, 2 * orders + 2) -> (R,) BLEU, NaN where there is nothing at all."""
    figures = [
        BLEU.compute_bleu(
            correct=row[:orders],
            total=row[orders : 2 * orders],
            sys_len=round(row[-2]),
            ref_len=round(row[-1]),
            smooth_method="exp",
            max_ngram_order=orders,
        ).score
        if any(row)
        else np.nan
        for row in sums.tolist()
    ]
    return np.array(figures, dtype=np.float64)
