"""Tests of metrics.bleu."""

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dialogist.errors import MissingExtraError
from dialogist.metrics.base import Case, reads
from dialogist.metrics.bleu import Bleu, Chrf, LabelScore, LabelScorer

VOCABULARY = ["the", "The", "cat", "sat", "on", "a", "mat.", "订单", "询问，", "3.5", "don't"]
words = st.lists(st.sampled_from(VOCABULARY), max_size=12)
texts = words.map(" ".join)


def corpus(metric: Bleu, predictions: list[str], references: list[list[str]]) -> float:
    pairs = zip(predictions, references, strict=True)
    return figure(metric, [metric.count(p, several) for p, several in pairs])


def figure(metric: Bleu, counts: list[list[float]]) -> float:
    return float(np.nan_to_num(metric.columns[0].figure(np.array(counts).sum(0)[None])[0]))


@pytest.mark.parametrize("tokens", ["13a", "zh", "none"])
@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=6))
def test_one_reference_equals_sacrebleu(tokens, pairs):
    predictions, references = map(list, zip(*pairs, strict=True))
    theirs = BLEU(lowercase=True, tokenize=tokens, force=True)
    expected = theirs.corpus_score(predictions, [references]).score
    found = corpus(Bleu(tokens), predictions, [[r] for r in references])
    assert found == pytest.approx(expected, abs=1e-9)


def test_by_hand():
    # 4 of 5 words, 3 of 4 pairs, 2 of 3 triples, 1 of 2 fours: the fourth root of 1/5.
    assert corpus(Bleu("none"), ["a b c d e"], [["a b c d x"]]) == pytest.approx(100 * 0.2**0.25)
    # All right but too short: 4 words for 5, exp(1 - 5/4).
    assert corpus(Bleu("none"), ["a b c d"], [["a b c d e"]]) == pytest.approx(77.8801, abs=1e-4)


def test_references_are_averaged_not_picked_from():
    """Half of what it says is in the mean reference; picking would find all of it, or more."""
    both = [["a b c d", "w x y z"]]
    assert corpus(Bleu("none"), ["a b c d"], both) == pytest.approx(50)
    assert BLEU(tokenize="none").corpus_score(["a b c d"], [["a b c d"], ["w x y z"]]).score > 99


def test_a_dialogue_weighs_the_same_however_many_references_it_has():
    predictions = ["a b c d", "p q r s"]
    once = corpus(Bleu("none"), predictions, [["a b c d"], ["e f g h"]])
    often = corpus(Bleu("none"), predictions, [["a b c d"] * 5, ["e f g h"]])
    assert once == pytest.approx(often)


def test_case_does_not_count_and_chinese_goes_by_characters():
    assert corpus(Bleu("13a"), ["THE CAT SAT THERE"], [["the cat sat there"]]) == pytest.approx(100)
    counts = Bleu("zh").count("用户询问ABC订单。", ["用户询问订单。"])
    assert counts[-2:] == [8, 7]  # ABC is one
    assert counts[0] == 7
    assert Bleu("13a").count("用户询问ABC订单。", ["用户"])[-2] == 1


def test_nothing_to_score():
    metric = Bleu("none")
    assert corpus(metric, [""], [["a b c d"]]) == 0
    assert corpus(metric, ["a b c"], [["a b c"]]) == 0  # no four words: as sacrebleu has it
    assert corpus(Bleu("none", orders=3), ["a b c"], [["a b c"]]) == pytest.approx(100)


def test_signature_says_how():
    assert Bleu("zh", orders=2).signature.startswith("BLEU-2 | nrefs:1|case:lc|eff:no|tok:zh|")


def test_without_sacrebleu(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.bleu", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*sacrebleu"):
        Bleu("13a")


def figures(metric: Bleu, rows: list[list[float]]) -> list[float]:
    (column,) = metric.columns
    return column.figure(np.array(rows, dtype=np.float64)).tolist()


@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_numbers_add_up_to_the_corpus(pairs):
    metric = Bleu("13a")
    numbers = [metric.measure(Case(prediction, (text,))) for prediction, text in pairs]
    (column,) = metric.columns
    assert {len(row) for row in numbers} == {column.width}
    predictions, references = map(list, zip(*pairs, strict=True))
    expected = BLEU(lowercase=True, force=True).corpus_score(predictions, [references]).score
    (found,) = figures(metric, [np.sum(numbers, axis=0).tolist()])
    assert found == pytest.approx(expected, abs=1e-9) or (np.isnan(found) and not expected)


def test_resampled_figures_are_one_by_one():
    metric = Bleu("none")
    rows = [list(metric.measure(Case(p, ("a b c d e",)))) for p in ("a b c d x", "e d c b a", "")]
    found = figures(metric, [*rows, [0] * 10])
    assert found[0] == pytest.approx(100 * 0.2**0.25)
    assert found[1] > found[2] == 0  # something without four words in a row is smoothed
    assert np.isnan(found[3])  # no output at all


def test_scripts_and_other_processes():
    assert Bleu("zh").reads("cjk")
    assert not Bleu("13a").reads("cjk")
    assert not Bleu("zh").reads("thai")
    assert Bleu("13a").reads("cyrillic")
    copy = pickle.loads(pickle.dumps(Bleu("zh")))
    case = Case("用户询问", ("用户",))
    assert copy.measure(case) == Bleu("zh").measure(case)
    assert pickle.loads(pickle.dumps(copy.columns))[0].key == "bleu"


METRIC = Chrf()
chrf_texts = st.lists(
    st.sampled_from(["the", "The", "cat", "sat", "mat.", "订单", "询问，", "3.5", "don't", "x"]),
    max_size=8,
).map(" ".join) | st.text(max_size=15)


def chrf(*pairs: tuple[str, tuple[str, ...]]) -> float:
    rows = [METRIC.measure(Case(prediction, several)) for prediction, several in pairs]
    (column,) = METRIC.columns
    assert {len(row) for row in rows} == {column.width}
    return float(column.figure(np.array(rows, dtype=np.float64).sum(0)[None])[0])


@given(st.lists(st.tuples(chrf_texts, chrf_texts), min_size=1, max_size=5))
def test_one_reference_equals_sacrebleu_chrf(pairs):
    found = chrf(*((prediction, (text,)) for prediction, text in pairs))
    predictions, references = map(list, zip(*pairs, strict=True))
    expected = CHRF().corpus_score(predictions, [references]).score
    assert found == pytest.approx(expected, abs=1e-9) or (np.isnan(found) and not expected)


def test_by_hand_chrf():
    # One letter of two shared, no pair: P and R are 1/2 and 0, their means 1/4.
    assert chrf(("ab", ("ac",))) == pytest.approx(25)
    assert chrf(("a b c", ("abc",))) == pytest.approx(100)  # spaces play no part
    assert chrf(("", ("abc",))) == 0
    assert np.isnan(chrf(("", ("",))))


def test_counts_are_averaged_over_references():
    assert chrf(("ab", ("ab", "xy"))) == pytest.approx(50)
    once = chrf(("ab", ("ab", "xy")), ("cd", ("cd",)))
    often = chrf(("ab", ("ab", "xy") * 4), ("cd", ("cd",)))
    assert once == pytest.approx(often)


def test_any_script_other_processes_signature():
    assert reads(METRIC, "cjk")
    copy = pickle.loads(pickle.dumps(METRIC))
    assert copy.measure(Case("订单", ("订单",))) == METRIC.measure(Case("订单", ("订单",)))
    assert METRIC.signature.startswith("chrF2 | nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|")


def test_without_sacrebleu_chrf(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.chrf", None)
    with pytest.raises(MissingExtraError, match=r"chrF.*pip install .*sacrebleu"):
        Chrf()


LABELS = ("User approval", "User disapproval", "Solution", "End")
A, D, S, E = LABELS
SCORER = LabelScorer(LABELS, longest=6)
sequences = st.lists(st.sampled_from(LABELS), min_size=2, max_size=6)


def test_by_hand_labels():
    # Wanted S A E, found A E E: 2 of 3 labels; of S-A and A-E the second; common A E.
    score = SCORER.score([A, E, E], [S, A, E])
    assert score.rouge1 == pytest.approx(100 * 2 / 3)
    assert score.rouge2 == pytest.approx(50)
    assert score.rougeL == pytest.approx(100 * 2 / 3)
    # Recall does not mind what is too much, F1 does: common S E of 4 found and 2 wanted.
    score = SCORER.score([S, A, D, E], [S, E])
    assert (score.rouge1, score.rouge2) == (100, 0)
    assert score.rougeL == pytest.approx(100 * 4 / 6)


def test_a_label_is_one_token():
    """Approval and disapproval share a word, and nothing else."""
    assert SCORER.score([D], [A]) == LabelScore(0, None, 0)


def test_what_cannot_be_found_is_none():
    assert SCORER.score([], []) == LabelScore(None, None, None)
    assert SCORER.score([A], []) == LabelScore(None, None, 0)
    assert SCORER.score([], [A]) == LabelScore(0, None, 0)
    assert SCORER.score([], [A, E]) == LabelScore(0, 0, 0)


@given(sequences)
def test_the_same_sequence_has_100(labels):
    assert SCORER.score(labels, labels) == LabelScore(100, 100, 100)


def test_bleu_of_labels():
    bleu = SCORER.bleu
    assert figure(bleu, [SCORER.count([S, A, E, D], [[S, A, E, D]])]) == pytest.approx(100)
    # Four labels of five right, in order: as words a b c d x.
    counts = SCORER.count([S, A, E, D, S], [[S, A, E, D, E]])
    assert figure(bleu, [counts]) == pytest.approx(100 * 0.2**0.25)


@pytest.mark.parametrize(("longest", "orders"), [(0, 1), (1, 1), (3, 3), (4, 4), (9, 4)])
def test_ngrams_are_no_longer_than_references(longest, orders):
    assert LabelScorer(LABELS, longest).bleu.orders == orders
