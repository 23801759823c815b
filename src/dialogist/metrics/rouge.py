"""ROUGE: 1, 2, L and Lsum as ``rouge-score``, S and SU, and the variant of ``py-rouge``."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise

from dialogist.errors import UsageError
from dialogist.metrics.base import Case, Column, average_and_best, mean_column
from dialogist.metrics.ngram_overlap import (
    Memory,
    RougeWords,
    Triple,
    lcs_length,
    lcs_positions,
    positions,
    shared,
    triple,
)
from dialogist.language.tokens import split_sentences

# ROUGE-1/2/L/Lsum (Lin 2004), equal to Google's ``rouge-score``, for any script, and quick.
#
# For English the numbers are those of ``rouge-score`` 0.1.2, digit by digit (tested), with and
# without its stemmer; how words of other scripts are told apart stands in `RougeWords`. Texts are
# split into sentences for Lsum by `split_sentences`. Scores are 0-100.
#
# Several references are averaged, and the best one by F1 is taken, type by type, in the same pass.

ROUGE_TYPES = ("rouge1", "rouge2", "rougeL", "rougeLsum")
_PARTS = {"precision": " P", "recall": " R", "f1": ""}
"""The parts of a `Triple`, and what their titles have behind the type's."""

_ROUGE_TITLES = dict(zip(ROUGE_TYPES, ("R1", "R2", "RL", "RLsum"), strict=True))

_SAME_AS = "rouge-score 0.1.2"
_REMEMBERED_TEXTS = 20_000  # references; systems are scored one after the other on the same ones


class Rouge:
    """Scores predictions against one or more references each; a `Metric`.

    ``stemmer`` False: words count as they are written.
    """

    name = "rouge"
    signature = (
        f"{_SAME_AS} | stemmer | any-script tokenizer | references: average, best | F1 x 100"
    )
    columns = tuple(
        mean_column(f"{kind}.{best}{part}", f"{_ROUGE_TITLES[kind]}{title}{of}", "higher")
        for best, of in (("", ""), ("max.", " max"))
        for kind in ROUGE_TYPES
        for part, title in _PARTS.items()
    )

    def __init__(self, stemmer: bool = True) -> None:
        self._words = RougeWords(stemmer)
        self._reference = lru_cache(_REMEMBERED_TEXTS)(self._read)
        if not stemmer:
            self.signature = type(self).signature.replace("stemmer", "no stemmer")

    def __reduce__(self) -> tuple[type["Rouge"], tuple[bool]]:
        return type(self), (self._words.stemmer,)  # what it remembers stays behind

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        read = self._read(case.prediction)
        found = [_scores_of(read, self._reference(reference)) for reference in case.references]
        kinds = [average_and_best(triples) for triples in zip(*found, strict=True)]
        both = zip(*kinds, strict=True)  # the average of every type, then the best one
        return [n for each in both for triple in each for value in triple for n in (value, 1.0)]

    def _read(self, text: str) -> "_Text":
        return _Text([self._words(sentence) for sentence in split_sentences(text)])


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


def _scores_of(text: _Text, reference: _Text) -> list[Triple]:
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


# ROUGE-S and ROUGE-SU: pairs of words in their order, with gaps (Lin 2004, section 5).
#
# A pair counts where at most ``distance`` words stand between its two. SU counts single words as
# well: as Lin has it, each is a pair with a mark at the beginning of the text. (ROUGE-1.5.5 leaves
# the last word out there.) Words are those of `Rouge`. Scores are 0-100.

_REMEMBERED_PAIRS = 5_000  # references


class RougeS:
    """ROUGE-S and ROUGE-SU of any number of references; a `Metric`.

    Raises:
        UsageError: ``distance`` is negative.
    """

    name = "rouge-s"

    def __init__(self, distance: int = 4, stemmer: bool = True) -> None:
        if distance < 0:
            raise UsageError(f"ROUGE-S: a distance of {distance} words; give 0 or more")
        self.distance = distance
        self._words = RougeWords(stemmer)
        self._reference = lru_cache(_REMEMBERED_PAIRS)(self._read)

    def __reduce__(self) -> tuple[type["RougeS"], tuple[int, bool]]:
        return type(self), (self.distance, self._words.stemmer)

    @property
    def signature(self) -> str:
        """How the figures came about."""
        stemmer = "stemmer" if self._words.stemmer else "no stemmer"
        return (
            f"ROUGE-S and -SU, Lin 2004 | at most {self.distance} words between | {stemmer} | "
            "any-script tokenizer of ROUGE | references: average, best | F1 x 100"
        )

    @property
    def columns(self) -> tuple[Column, ...]:
        """S, then SU; of each the average over references, then the best one."""
        return tuple(
            mean_column(
                f"rouge{kind}.{best}{part}", f"R-{kind}{self.distance}{title}{of}", "higher"
            )
            for kind in ("S", "SU")
            for best, of in (("", ""), ("max.", " max"))
            for part, title in _PARTS.items()
        )

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        read = self._read(case.prediction)
        references = [self._reference(text) for text in case.references]
        return [
            number
            for kind in (0, 1)
            for found in average_and_best(
                [_pair_scores(read[kind], one[kind]) for one in references]
            )
            for value in found
            for number in (value, 1.0)
        ]

    def _read(self, text: str) -> tuple[Counter[tuple[str, ...]], Counter[tuple[str, ...]]]:
        """Pairs; pairs and single words."""
        words = self._words(text)
        pairs: Counter[tuple[str, ...]] = Counter(
            (word, other)
            for i, word in enumerate(words)
            for other in words[i + 1 : i + 2 + self.distance]
        )
        return pairs, pairs + Counter((word,) for word in words)


def _pair_scores(text: Counter[tuple[str, ...]], reference: Counter[tuple[str, ...]]) -> Triple:
    return triple(shared(text, reference), text.total(), reference.total())


# ``py-rouge`` by Diego999: ROUGE as in the tables of the DialogSum and SAMSum papers.
#
# The settings are theirs: ``limit_length=True, length_limit=100`` words, ``apply_avg=True,
# alpha=.5, weight_factor=1.2, stemming=True``. They matter more than most systems differ:
#
# * The exponent 1/1.2 is meant for ROUGE-W. Through the package's code it reaches ROUGE-L as well,
#   and lifts lead-3 from 21 to 28 (DialogSum dev): never put this ROUGE-L beside another.
# * A text is one line, as in the files that these papers score: line ends are white space here. The
#   package takes each line for a sentence, which adds 2.5 to the ROUGE-L of lead-3, a turn a line.
# * Several references are one sum: counts of all are added up before precision, recall and F1.
# * Words are ASCII letters and digits, stemmed as in ROUGE-1.5.5, with its table of exceptions.
#
# The numbers are ``py-rouge`` 1.1's own of texts on one line (tested), but that a text shorter than
# an n-gram has none of them, not -1. Scores are 0-100.

_WEIGHT = 1.2
_LENGTH_LIMIT = 100  # words

_TITLES = {"rouge1": "R1", "rouge2": "R2", "rougeL": "RL w1.2", "rougeW": "RW w1.2"}
_OTHERS = re.compile("[^a-z0-9]")
_REMEMBERED_LINES = 20_000  # references


class PyRouge:
    """ROUGE-1, -2, -L and -W as ``py-rouge`` has them; a `Metric`."""

    name = "py-rouge"
    signature = (
        f"py-rouge 1.1 | stemming | first {_LENGTH_LIMIT} words | alpha 0.5 | "
        f"weight factor {_WEIGHT}, of L too | one line | references: counts added up | F1 x 100"
    )
    columns = tuple(
        mean_column(f"py-rouge.{kind}.{part}", f"py-rouge {title}{of}", "higher")
        for kind, title in _TITLES.items()
        for part, of in _PARTS.items()
    )

    def __init__(self) -> None:
        # NLTK brings SciPy, which takes a second: not where another metric is wanted.
        from nltk.stem.porter import PorterStemmer
        from nltk.tokenize import NLTKWordTokenizer

        stem = PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM).stem
        tokenize = NLTKWordTokenizer().tokenize
        self._tokens = Memory(lambda word: _tokens(word, tokenize, stem))
        self._reference = lru_cache(_REMEMBERED_LINES)(self._read)

    def __reduce__(self) -> tuple[type["PyRouge"], tuple[()]]:
        return type(self), ()

    def reads(self, script: str) -> bool:
        """Whether it can tell words of a script apart: of Latin alone, and without accents."""
        return script == "latin"

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        text = self._read(case.prediction)
        beside = [_line_scores(text, self._reference(one)) for one in case.references]
        counts = [tuple(map(sum, zip(*kind, strict=True))) for kind in zip(*beside, strict=True)]
        exponents = (1.0, 1.0, 1 / _WEIGHT, 1 / _WEIGHT)
        return [
            number
            for (size, of, common), exponent in zip(counts, exponents, strict=True)
            for value in _scores(size, of, common, exponent)
            for number in (value, 1.0)
        ]

    def _read(self, text: str) -> "_LineText":
        words = text.split()[:_LENGTH_LIMIT]
        return _LineText(
            [token for w in words for part in _split(w) for token in self._tokens[part]]
        )


class _LineText:
    """A text, counted."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.size = len(words)
        self.counted = Counter(words)
        self.pairs = Counter(pairwise(words))
        self.places = positions(words)


def _split(word: str) -> list[str]:
    return _OTHERS.sub(" ", word.lower()).split()


def _tokens(
    part: str, tokenize: Callable[[str], list[str]], stem: Callable[[str], str]
) -> tuple[str, ...]:
    """What NLTK's tokenizer makes of letters and digits (gonna: gon, na), stemmed.

    "cannot" must not become two words; py-rouge hides it in underscores meanwhile.
    """
    hidden = part.replace("cannot", "_cannot_")
    stems = [
        token if len(token) <= 3 else _exceptions().get(token) or stem(token)
        for token in tokenize(hidden)
    ]
    return tuple(one.replace("_cannot_", "cannot") for one in stems)


@cache
def _exceptions() -> dict[str, str]:
    table = resources.files("dialogist") / "assets" / "py-rouge-stems.txt"
    lines = table.read_text(encoding="utf-8").splitlines()
    return dict(line.split("|") for line in lines if not line.startswith("#"))


def _line_scores(text: _LineText, reference: _LineText) -> list[tuple[float, float, float]]:
    """For R1, R2, RL, RW: size of the text, of the reference, and of what they share."""
    size, of = text.size, reference.size
    return [
        (size, of, shared(text.counted, reference.counted)),
        (text.pairs.total(), reference.pairs.total(), shared(text.pairs, reference.pairs)),
        (size, of, lcs_length(reference.places, of, text.words)),
        # Twice to the power, which the package does to the reference alone.
        (size**_WEIGHT, (of**_WEIGHT) ** _WEIGHT, _weighted_common(text.words, reference.words)),
    ]


def _scores(size: float, of: float, common: float, exponent: float) -> tuple[float, float, float]:
    precision = (common / size) ** exponent if size else 0.0
    recall = (common / of) ** exponent if of else 0.0
    if not precision or not recall:
        return 100 * precision, 100 * recall, 0.0
    f1 = precision * recall / (0.5 * precision + 0.5 * recall)
    return 100 * precision, 100 * recall, 100 * f1


def _weighted_common(words: Sequence[str], reference: Sequence[str]) -> float:
    """The weighted longest common subsequence: n words of the reference in a row count n ** 1.2."""
    total, run = 0.0, 0
    for hit in (*_weighted_hits(reference, words), False):
        if hit:
            run += 1
        else:
            total += run**_WEIGHT
            run = 0
    return total


def _weighted_hits(reference: Sequence[str], words: Sequence[str]) -> list[bool]:
    """Which words of the reference are in the weighted longest common subsequence.

    Lin 2004, section 4, read out of the table from its end.
    """
    width = len(words)
    values, runs = [0.0] * (width + 1), [0] * (width + 1)  # a run: matches in a row so far
    upward = []  # for each word of the reference, where the way back leads to the word before it
    for word in reference:
        above, runs_above = values, runs
        values, runs, up = [0.0] * (width + 1), [0] * (width + 1), bytearray(width + 1)
        for j, other in enumerate(words):
            if word == other:
                run = runs_above[j]
                values[j + 1] = above[j] + (run + 1) ** _WEIGHT - run**_WEIGHT
                runs[j + 1] = run + 1
            else:
                up[j + 1] = above[j + 1] >= values[j]
                values[j + 1] = max(above[j + 1], values[j])
        upward.append(up)
    hits, i, j = [False] * len(reference), len(reference), width
    while i and j:
        if reference[i - 1] == words[j - 1]:
            i, j = i - 1, j - 1
            hits[i] = True
        elif upward[i - 1][j]:
            i -= 1
        else:
            j -= 1
    return hits
