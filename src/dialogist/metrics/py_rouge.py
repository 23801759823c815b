"""``py-rouge`` by Diego999: ROUGE as in the tables of the DialogSum and SAMSum papers.

The settings are theirs: ``limit_length=True, length_limit=100`` words, ``apply_avg=True,
alpha=.5, weight_factor=1.2, stemming=True``. They matter more than most systems differ:

* The exponent 1/1.2 is meant for ROUGE-W. Through the package's code it reaches ROUGE-L as well,
  and lifts lead-3 from 21 to 28 (DialogSum dev): never put this ROUGE-L beside another.
* A text is one line, as in the files that these papers score: line ends are white space here. The
  package takes each line for a sentence, which adds 2.5 to the ROUGE-L of lead-3, a turn a line.
* Several references are one sum: counts of all are added up before precision, recall and F1.
* Words are ASCII letters and digits, stemmed as in ROUGE-1.5.5, with its table of exceptions.

The numbers are ``py-rouge`` 1.1's own of texts on one line (tested), but that a text shorter than
an n-gram has none of them, not -1. Scores are 0-100.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise

from nltk.stem.porter import PorterStemmer
from nltk.tokenize import NLTKWordTokenizer

from dialogist.metrics.base import Case, mean_column
from dialogist.metrics.overlap import lcs_length, positions, shared
from dialogist.metrics.rouge import PARTS
from dialogist.metrics.rouge_words import Memory

WEIGHT = 1.2
LONGEST = 100  # words

_TITLES = {"rouge1": "R1", "rouge2": "R2", "rougeL": "RL w1.2", "rougeW": "RW w1.2"}
_OTHERS = re.compile("[^a-z0-9]")
_REMEMBERED = 20_000  # references


class PyRouge:
    """ROUGE-1, -2, -L and -W as ``py-rouge`` has them; a `Metric`."""

    name = "py-rouge"
    signature = (
        f"py-rouge 1.1 | stemming | first {LONGEST} words | alpha 0.5 | weight factor {WEIGHT}, "
        "of L too | one line | references: counts added up | F1 x 100"
    )
    columns = tuple(
        mean_column(f"py-rouge.{kind}.{part}", f"py-rouge {title}{of}", "higher")
        for kind, title in _TITLES.items()
        for part, of in PARTS.items()
    )

    def __init__(self) -> None:
        porter = PorterStemmer(PorterStemmer.ORIGINAL_ALGORITHM)
        self._tokens = Memory(lambda word: _tokens(word, porter))
        self._reference = lru_cache(_REMEMBERED)(self._read)

    def __reduce__(self) -> tuple[type["PyRouge"], tuple[()]]:
        return type(self), ()

    def reads(self, script: str) -> bool:
        """Whether it can tell words of a script apart: of Latin alone, and without accents."""
        return script == "latin"

    def measure(self, case: Case) -> Sequence[float]:
        """The numbers of `columns`."""
        text = self._read(case.prediction)
        beside = [_beside(text, self._reference(one)) for one in case.references]
        counts = [tuple(map(sum, zip(*kind, strict=True))) for kind in zip(*beside, strict=True)]
        exponents = (1.0, 1.0, 1 / WEIGHT, 1 / WEIGHT)
        return [
            number
            for (size, of, common), exponent in zip(counts, exponents, strict=True)
            for value in _scores(size, of, common, exponent)
            for number in (value, 1.0)
        ]

    def _read(self, text: str) -> "_Text":
        words = text.split()[:LONGEST]
        return _Text([token for w in words for part in _split(w) for token in self._tokens[part]])


class _Text:
    """A text, counted."""

    def __init__(self, words: list[str]) -> None:
        self.words = words
        self.size = len(words)
        self.counted = Counter(words)
        self.pairs = Counter(pairwise(words))
        self.places = positions(words)


def _split(word: str) -> list[str]:
    return _OTHERS.sub(" ", word.lower()).split()


def _tokens(part: str, porter: PorterStemmer) -> tuple[str, ...]:
    """What NLTK's tokenizer makes of letters and digits (gonna: gon, na), stemmed.

    "cannot" must not become two words; py-rouge hides it in underscores meanwhile.
    """
    hidden = part.replace("cannot", "_cannot_")
    stems = [
        token if len(token) <= 3 else _exceptions().get(token) or porter.stem(token)
        for token in NLTKWordTokenizer().tokenize(hidden)
    ]
    return tuple(stem.replace("_cannot_", "cannot") for stem in stems)


@cache
def _exceptions() -> dict[str, str]:
    table = resources.files("dialogist") / "assets" / "py-rouge-stems.txt"
    lines = table.read_text(encoding="utf-8").splitlines()
    return dict(line.split("|") for line in lines if not line.startswith("#"))


def _beside(text: _Text, reference: _Text) -> list[tuple[float, float, float]]:
    """For R1, R2, RL, RW: size of the text, of the reference, and of what they share."""
    size, of = text.size, reference.size
    return [
        (size, of, shared(text.counted, reference.counted)),
        (text.pairs.total(), reference.pairs.total(), shared(text.pairs, reference.pairs)),
        (size, of, lcs_length(reference.places, of, text.words)),
        # Twice to the power, which the package does to the reference alone.
        (size**WEIGHT, (of**WEIGHT) ** WEIGHT, _weighted_common(text.words, reference.words)),
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
            total += run**WEIGHT
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
                values[j + 1] = above[j] + (run + 1) ** WEIGHT - run**WEIGHT
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
