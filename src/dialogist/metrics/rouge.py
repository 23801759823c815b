"""ROUGE-1/2/L/Lsum (Lin 2004), equal to Google's ``rouge-score``, for any script, and quick.

For English the numbers are those of ``rouge-score`` 0.1.2, digit by digit (tested), with and
without its stemmer; how words of other scripts are told apart stands in `rouge_words`. Texts are
split into sentences for Lsum by `split_sentences`. Scores are 0-100.

Several references are averaged, and the best one by F1 is taken, type by type, in the same pass.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from dialogist.metrics.base import Case, mean_column
from dialogist.metrics.overlap import (
    Triple,
    lcs_length,
    lcs_positions,
    positions,
    shared,
    triple,
)
from dialogist.metrics.references import average_and_best
from dialogist.metrics.rouge_words import RougeWords
from dialogist.text.sentences import split_sentences

TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
PARTS = {"precision": " P", "recall": " R", "f1": ""}
"""The parts of a `PRF`, and what their titles have behind the type's."""

TITLES = dict(zip(TYPES, ("R1", "R2", "RL", "RLsum"), strict=True))

_SAME_AS = "rouge-score 0.1.2"
_REMEMBERED = 20_000  # references; systems are scored one after the other on the same ones


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
    """Scores predictions against one or more references each; a `Metric`.

    ``stemmer`` False: words count as they are written.
    """

    name = "rouge"
    signature = (
        f"{_SAME_AS} | stemmer | any-script tokenizer | references: average, best | F1 x 100"
    )
    columns = tuple(
        mean_column(f"{kind}.{best}{part}", f"{TITLES[kind]}{title}{of}", "higher")
        for best, of in (("", ""), ("max.", " max"))
        for kind in TYPES
        for part, title in PARTS.items()
    )

    def __init__(self, stemmer: bool = True) -> None:
        self._words = RougeWords(stemmer)
        self._reference = lru_cache(_REMEMBERED)(self._read)
        if not stemmer:
            self.signature = type(self).signature.replace("stemmer", "no stemmer")

    def __reduce__(self) -> tuple[type["Rouge"], tuple[bool]]:
        return type(self), (self._words.stemmer,)  # what it remembers stays behind

    def reads(self, script: str) -> bool:
        """Whether it can tell words of a script (`scripts`) apart: of every one."""
        return True

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        average, maximum = self._both(case.prediction, case.references)
        return [n for triple in average + maximum for value in triple for n in (value, 1.0)]

    def score(self, prediction: str, references: Sequence[str]) -> RougeScore:
        """Scores of one prediction.

        Raises:
            ValueError: there is no reference.
        """
        average, maximum = self._both(prediction, references)
        return RougeScore(
            average={t: PRF(*triple) for t, triple in zip(TYPES, average, strict=True)},
            maximum={t: PRF(*triple) for t, triple in zip(TYPES, maximum, strict=True)},
        )

    def _both(
        self, prediction: str, references: Sequence[str]
    ) -> tuple[list[Triple], list[Triple]]:
        """Average and best, by type."""
        if not references:
            raise ValueError("ROUGE needs at least one reference")
        read = self._read(prediction)
        found = [_beside(read, self._reference(reference)) for reference in references]
        kinds = [average_and_best(triples) for triples in zip(*found, strict=True)]
        return [average for average, _ in kinds], [best for _, best in kinds]

    def _read(self, text: str) -> "_Text":
        return _Text([self._words(sentence) for sentence in split_sentences(text)])


def corpus_f1(scores: Sequence[RougeScore], *, best_reference: bool = False) -> dict[str, float]:
    """The mean F1 of every type over a corpus (``best_reference``: against the best one each)."""
    chosen = [s.maximum if best_reference else s.average for s in scores]
    return {t: fmean(s[t].f1 for s in chosen) if chosen else 0.0 for t in TYPES}


class _Text:
    """A text, counted; where its words stand is found out when it is a reference."""

    __slots__ = ("_places", "pairs", "sentences", "size", "words", "words_counted")

    def __init__(self, sentences: list[list[str]]) -> None:
        self.sentences = [words for words in sentences if words]
        self.words = [word for words in self.sentences for word in words]
        self.size = len(self.words)
        self.words_counted = Counter(self.words)
        self.pairs = Counter(pairwise(self.words))
        self._places: list[dict[str, int]] | None = None

    @property
    def places(self) -> list[dict[str, int]]:
        """`positions` of the whole text, then of every sentence if there are several."""
        if self._places is None:
            parts = [self.words, *(self.sentences if len(self.sentences) > 1 else ())]
            self._places = [positions(part) for part in parts]
        return self._places


def _beside(text: _Text, reference: _Text) -> list[Triple]:
    """Precision, recall and F1 of every type."""
    size, of = text.size, reference.size
    common = lcs_length(reference.places[0], of, text.words)
    # The subsequence of two single sentences is a matching already: nothing is counted twice.
    single = len(text.sentences) == len(reference.sentences) == 1
    union = common if single else _union(text, reference)
    return [
        triple(shared(text.words_counted, reference.words_counted), size, of),
        triple(shared(text.pairs, reference.pairs), size - 1, of - 1),
        triple(common, size, of),
        triple(union, size, of),
    ]


def _union(text: _Text, reference: _Text) -> int:
    """Words of the reference in a common subsequence with any sentence of the text.

    Lin 2004, section 3.2, but no word counts more often than the text has it, as in ROUGE-1.5.5.
    """
    if not text.sentences or not reference.sentences:
        return 0
    places = reference.places[1:] or reference.places
    counts: Counter[str] = Counter()
    for words, where in zip(reference.sentences, places, strict=True):
        hits = 0
        for sentence in text.sentences:
            hits |= lcs_positions(where, len(words), sentence)
        while hits:
            lowest = hits & -hits
            counts[words[lowest.bit_length() - 1]] += 1
            hits ^= lowest
    return shared(counts, text.words_counted)
