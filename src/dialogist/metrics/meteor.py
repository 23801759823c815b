"""METEOR by NLTK, with synonyms of WordNet, where WordNet is at hand: nothing is downloaded.

Lavie and Agarwal 2007, as ``nltk.translate.meteor_score`` has it (alpha 0.9, beta 3, gamma 0.5).
Words are NLTK's, sentence by sentence, as in Hugging Face's ``evaluate``; sentences are
`split_sentences`', for NLTK's own splitter wants data too. English only. Scores are 0-100.
"""

import contextlib
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.stem.porter import PorterStemmer
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.meteor_score import single_meteor_score

from dialogist.errors import DataError
from dialogist.metrics.base import Case, Column, mean_column
from dialogist.text.tokens import split_sentences

_REMEMBERED = 100_000  # words


class Meteor:
    """METEOR of any number of references: their mean, and the best; a `Metric`.

    Raises:
        DataError: there is no WordNet.
    """

    name = "meteor"
    columns: tuple[Column, ...] = (
        mean_column("meteor", "METEOR", "higher"),
        mean_column("meteor.max.score", "METEOR max", "higher"),
    )

    def __init__(self) -> None:
        self._wordnet = _WordNet()
        self._stemmer = _Stemmer()
        self._tokenizer = NLTKWordTokenizer()

    def __reduce__(self) -> tuple[type["Meteor"], tuple[()]]:
        return type(self), ()

    @property
    def signature(self) -> str:
        """How the figures came about."""
        return (
            f"METEOR, NLTK {nltk.__version__} | WordNet {self._wordnet.version} | alpha 0.9 beta 3 "
            "gamma 0.5 | NLTK words | references: average, best | x 100"
        )

    def reads(self, script: str) -> bool:
        """Whether it can tell words of a script apart: of Latin; its synonyms are English."""
        return script == "latin"

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        words = self._words(case.prediction)
        found = [
            100
            * single_meteor_score(
                self._words(text), words, stemmer=self._stemmer, wordnet=self._wordnet
            )
            for text in case.references
        ]
        return [sum(found) / len(found), 1.0, max(found), 1.0]

    def _words(self, text: str) -> list[str]:
        return [word for one in split_sentences(text) for word in self._tokenizer.tokenize(one)]


class _Stemmer:
    """NLTK's, with a memory."""

    def __init__(self) -> None:
        self.stem = lru_cache(_REMEMBERED)(PorterStemmer().stem)


class _WordNet:
    """What METEOR asks of WordNet, with a memory."""

    def __init__(self) -> None:
        found = _folder()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that it knows English alone
                reader: Any = WordNetCorpusReader(found, None)
            self.version = str(reader.get_version())
        except Exception as error:  # whatever a damaged file makes of it
            raise DataError(f"METEOR: WordNet in {found} cannot be read: {error!r}") from None
        self.synsets = lru_cache(_REMEMBERED)(reader.synsets)


def _folder() -> Any:
    """Where NLTK finds WordNet, as a folder or a zip file."""
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        with contextlib.suppress(LookupError):
            return nltk.data.find(name)
    raise DataError(
        "METEOR needs WordNet, which is not on this machine: put NLTK's corpora/wordnet into a "
        "folder that NLTK_DATA names (where there is a network: python -m nltk.downloader "
        "wordnet), or leave meteor out"
    )
