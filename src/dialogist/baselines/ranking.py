"""Which utterances are in the middle of what is said: PageRank over how alike they are.

    texts -> words -> (U, U) likeness -> rank, one number for each text

TextRank (Mihalcea & Tarau 2004) and LexRank (Erkan & Radev 2004) differ in the likeness alone. The
units are utterances, so text without punctuation is ranked as well; words are those of
`text.words`, a Chinese character being one. There is no list of stop words: it would be another one
for each language.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dialogist.text.words import words_of

Floats = NDArray[np.float64]

_DAMPING = 0.85  # both papers
_DIGITS = 9  # ranks that differ by less are equal: rounding must not choose between twins
_WORDS_AT_ONCE = 4_096  # columns of the (U, words) tables


def textrank_scores(texts: Sequence[str]) -> list[float]:
    """The rank of every text; higher is more central.

    Likeness (section 4.1): the distinct words that two texts share, by the logarithms of
    both lengths; 0 between two texts of one word, where these are 0.
    """
    words = [_words(text) for text in texts]
    lengths = np.log([max(1, len(each)) for each in words])
    shared = _products(words, np.ones(len(_vocabulary(words))), count_once=True)
    both = lengths[:, None] + lengths[None, :]
    alike = np.divide(shared, both, out=np.zeros_like(shared), where=both > 0)
    np.fill_diagonal(alike, 0.0)
    return _rank(alike)


def lexrank_scores(texts: Sequence[str]) -> list[float]:
    """The rank of every text; higher is more central.

    Likeness (equation 1): the cosine of tf-idf vectors, of a text with itself, too, and without a
    threshold ("continuous"). The paper takes idf from a collection; here a dialogue is all there
    is: log(1 + U / texts that hold the word).
    """
    words = [_words(text) for text in texts]
    vocabulary = _vocabulary(words)
    holders = np.zeros(len(vocabulary))
    for each in words:
        holders[[vocabulary[word] for word in set(each)]] += 1
    idf = np.log1p(len(texts) / holders)
    products = _products(words, idf**2, count_once=False)
    sizes = np.sqrt(np.diag(products))
    both = sizes[:, None] * sizes[None, :]
    return _rank(np.divide(products, both, out=np.zeros_like(products), where=both > 0))


def _words(text: str) -> list[str]:
    return words_of(text.casefold())


def _vocabulary(words: Sequence[Sequence[str]]) -> dict[str, int]:
    return {word: i for i, word in enumerate(dict.fromkeys(w for each in words for w in each))}


def _products(words: Sequence[Sequence[str]], weights: Floats, count_once: bool) -> Floats:
    """(U, U) inner products of the texts' vectors: (distinct) words counted, times weights.

    Made piece by piece of the vocabulary, in order of first use: one long text must not cost U
    times its words.
    """
    vocabulary = _vocabulary(words)
    rows = np.repeat(np.arange(len(words)), [len(each) for each in words])
    columns = np.array([vocabulary[word] for each in words for word in each], dtype=np.int64)
    total = np.zeros((len(words), len(words)))
    for begin in range(0, len(vocabulary), _WORDS_AT_ONCE):
        width = min(_WORDS_AT_ONCE, len(vocabulary) - begin)
        here = (columns >= begin) & (columns < begin + width)
        table = np.zeros((len(words), width))
        np.add.at(table, (rows[here], columns[here] - begin), 1.0)
        if count_once:
            table = np.minimum(table, 1.0)
        table *= weights[begin : begin + width]
        total += table @ table.T
    return total


def _rank(alike: Floats) -> list[float]:
    """Weighted PageRank of (U, U) likeness: ws = 1 - d + d * (column-normalised likeness) @ ws.

    Solved, not iterated: there is no tolerance to choose. A text that is like no other has 1 - d.
    """
    sums = alike.sum(axis=0)
    moves = np.divide(alike, sums, out=np.zeros_like(alike), where=sums > 0)
    count = len(alike)
    ranks = np.linalg.solve(np.eye(count) - _DAMPING * moves, np.full(count, 1 - _DAMPING))
    rounded: list[float] = np.round(ranks, _DIGITS).tolist()
    return rounded
