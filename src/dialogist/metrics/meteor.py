"""METEOR by NLTK, with synonyms of WordNet, where WordNet is at hand: nothing is downloaded.

WordNet is NLTK's corpus, or Debian's package ``wordnet-base``, which lacks two files that METEOR
does not need.

Lavie and Agarwal 2007, as ``nltk.translate.meteor_score`` has it (alpha 0.9, beta 3, gamma 0.5).
Words are NLTK's, sentence by sentence, as in Hugging Face's ``evaluate``; sentences are
`split_sentences`', for NLTK's own splitter wants data too. English only. Scores are 0-100.
"""

import contextlib
import io
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import nltk
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.data import FileSystemPathPointer
from nltk.stem.porter import PorterStemmer
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.meteor_score import single_meteor_score

from dialogist.errors import DataError
from dialogist.metrics.base import Case, Column, mean_column
from dialogist.language.tokens import split_sentences

DEBIAN = Path("/usr/share/wordnet")
"""Where Debian's and Ubuntu's package ``wordnet-base`` lies."""

_REMEMBERED = 100_000  # words
_LEXICOGRAPHERS = 45  # files of WordNet 3, lexnames(5WN)


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
                reader: Any = _Reader(found, None)
            self.version = str(reader.get_version())
        except Exception as error:  # whatever a damaged file makes of it
            raise DataError(f"METEOR: WordNet in {found} cannot be read: {error!r}") from None
        self.synsets = lru_cache(_REMEMBERED)(reader.synsets)


class _Reader(WordNetCorpusReader):  # type: ignore[misc]
    """NLTK's, without what METEOR does not use: lexicographers' files, other versions' synsets."""

    def open(self, file: str) -> Any:
        """A file of WordNet."""
        try:
            return super().open(file)
        except OSError:
            if file != "lexnames":
                raise
            return io.StringIO("".join(f"{i:02d}\tfile{i}\t0\n" for i in range(_LEXICOGRAPHERS)))

    def map_wn(self, version: str = "wordnet") -> None:
        """No mapping: it is for other languages, and wants WordNet as NLTK's corpus."""


def _folder() -> Any:
    """Where NLTK finds WordNet, as a folder or a zip file; or Debian's."""
    if DEBIAN.is_dir() and str(DEBIAN) not in nltk.data.path:
        nltk.data.path.append(str(DEBIAN))  # NLTK reads nothing outside of its folders
    for name in ("corpora/wordnet", "corpora/wordnet.zip/wordnet/"):
        with contextlib.suppress(LookupError):
            return nltk.data.find(name)
    if (DEBIAN / "data.noun").is_file():
        return FileSystemPathPointer(str(DEBIAN))
    raise DataError(
        "METEOR needs WordNet, which is not on this machine: put NLTK's corpora/wordnet into a "
        "folder that NLTK_DATA names (where there is a network: python -m nltk.downloader "
        "wordnet, or on Debian apt install wordnet-base), or leave meteor out"
    )
