"""TextRank and LexRank beside what the papers' formulas give by hand, and on what people type."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.baselines import extractive
from dialogist.baselines.extractive import lexrank_scores, textrank_scores

RANKINGS = (textrank_scores, lexrank_scores)


def iterated(alike):
    """PageRank as the papers have it: sums of what the others give, again and again."""
    ranks = [1.0] * len(alike)
    out = [sum(row) for row in alike]
    for _ in range(300):
        ranks = [
            0.15 + 0.85 * sum(alike[j][i] / out[j] * ranks[j] for j in range(len(alike)) if out[j])
            for i in range(len(alike))
        ]
    return ranks


def test_textrank_is_the_papers_formula():
    texts = ["the cat sat here", "the cat ran", "a dog ran off with the cat", "hm", "yes, yes"]
    words = [["the", "cat", "sat", "here"], ["the", "cat", "ran"]]
    words += [["a", "dog", "ran", "off", "with", "the", "cat"], ["hm"], ["yes", "yes"]]
    alike = [
        [
            len(set(one) & set(other)) / (math.log(len(one)) + math.log(len(other)))
            if i != j and set(one) & set(other)
            else 0.0
            for j, other in enumerate(words)
        ]
        for i, one in enumerate(words)
    ]
    found = textrank_scores(texts)
    assert found == pytest.approx(iterated(alike), abs=1e-8)
    assert found[1] == max(found)  # shares most for its length
    assert found[3] == found[4] == pytest.approx(0.15)  # like no other


def test_lexrank_is_the_papers_formula():
    words = [["the", "cat", "cat"], ["the", "cat", "ran"], ["dogs"], []]
    texts = [" ".join(each) for each in words]
    every = sorted({word for each in words for word in each})
    idf = {w: math.log(1 + 4 / sum(w in each for each in words)) for w in every}
    vectors = np.array([[each.count(w) * idf[w] for w in every] for each in words])
    sizes = np.linalg.norm(vectors, axis=1)
    sizes[sizes == 0] = 1
    alike = (vectors / sizes[:, None]) @ (vectors / sizes[:, None]).T
    found = lexrank_scores(texts)
    assert found == pytest.approx(iterated(alike.tolist()), abs=1e-8)
    assert found[2] == pytest.approx(1)  # alone, but like itself
    assert found[3] == pytest.approx(0.15)


@pytest.mark.parametrize("rank", RANKINGS)
def test_chinese_is_ranked_by_characters(rank):
    found = rank(["我的订单没有到", "您好", "您的订单明天送到", "订单今天没有送到吗"])
    assert found[1] == min(found)
    assert len(set(found)) == 4


@pytest.mark.parametrize("rank", RANKINGS)
def test_twins_have_the_same_rank(rank):
    texts = ["so we meet at the station", "no", "so we meet at the station", "at the station then"]
    found = rank(texts * 7)
    assert len({found[i] for i in range(0, 28, 4)} | {found[i] for i in range(2, 28, 4)}) == 1


@pytest.mark.parametrize("rank", RANKINGS)
@pytest.mark.parametrize(
    "texts", [[], [""], ["😀", "", "..."], ["a"], ["a", "a"], ["\ud800 x", "x"]]
)
def test_little_or_nothing_to_rank(rank, texts):
    found = rank(texts)
    assert len(found) == len(texts)
    assert all(math.isfinite(score) for score in found)


@pytest.mark.parametrize("rank", RANKINGS)
def test_a_vocabulary_in_pieces_is_one_vocabulary(rank, monkeypatch):
    texts = ["we talk about a trip to Rome", "to Rome by train", "a train is late", "about Rome"]
    whole = rank(texts)
    monkeypatch.setattr(extractive, "_WORDS_AT_ONCE", 3)
    assert rank(texts) == whole


@given(st.lists(st.text(max_size=30), max_size=8))
def test_any_text_is_ranked(texts):
    for rank in RANKINGS:
        assert all(0.14 < score < len(texts) + 1 for score in rank(texts))
