import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.errors import UsageError
from dialogist.metrics.base import Case
from dialogist.metrics.rouge import Rouge, RougeS

texts = st.lists(st.sampled_from(["cat", "dog", "sat", "mat", "hat"]), max_size=12).map(" ".join)


def f1(prediction, *references, distance=4, kind="S", best=""):
    metric = RougeS(distance)
    place = [column.key for column in metric.columns].index(f"rouge{kind}.{best}f1")
    return metric.measure(Case(prediction, references))[2 * place]


def test_lins_example():
    """Lin 2004, section 5: the third has one pair of six, the fourth two, the second three."""
    reference = "police killed the gunman"
    assert f1("police kill the gunman", reference) == pytest.approx(100)  # our words are stemmed
    assert f1("police ended the gunman", reference) == pytest.approx(100 * 3 / 6)
    assert f1("the gunman ended police", reference) == pytest.approx(100 * 1 / 6)
    assert f1("the gunman police killed", reference) == pytest.approx(100 * 2 / 6)


def test_single_words_count_in_su_alone():
    assert f1("gunman the killed police", "police killed the gunman") == 0
    # Lin: 0 of 6 pairs, all 4 pairs with the beginning.
    assert f1("gunman the killed police", "police killed the gunman", kind="SU") == pytest.approx(
        40
    )
    assert f1("cat", "cat") == 0
    assert f1("cat", "cat", kind="SU") == 100


def test_the_distance_is_words_in_between():
    assert f1("cat dog sat", "cat sat", distance=0) == 0
    # Three pairs of three words, one of two words: P 1/3, R 1.
    assert f1("cat dog sat", "cat sat", distance=1) == pytest.approx(50)
    with pytest.raises(UsageError, match="-1 words"):
        RougeS(-1)


@given(texts, texts)
def test_with_no_distance_it_is_rouge_2(one, other):
    expected = Rouge().score(one, [other]).average["rouge2"].f1
    assert f1(one, other, distance=0) == pytest.approx(expected)


@given(texts)
def test_a_text_beside_itself(text):
    assert f1(text, text, kind="SU") == pytest.approx(100 if text else 0)


def test_average_and_best_reference():
    both = ("cat dog", "sat mat")
    assert f1("cat dog", *both) == 50
    assert f1("cat dog", *both, best="max.") == 100


def test_chinese_and_other_processes():
    metric = pickle.loads(pickle.dumps(RougeS(2)))
    assert "at most 2 words" in metric.signature
    assert metric.measure(Case("订单", ("订单",)))[:2] == [100, 1]
