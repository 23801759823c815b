"""Intervals, tests of differences, agreement."""

import math

import numpy as np
import pytest

from dialogist.errors import UsageError
from dialogist_lab.evaluation import metric
from dialogist_lab.evaluation.judgements import krippendorff_alpha
from dialogist_lab.evaluation.metric import Scores, interval_of, paired_differences


def scores_of(values, system="one", ids=None):
    """Scores with one column: the mean of the values."""
    numbers = np.array([[value, 1.0] for value in values]).reshape(-1, 2)
    names = tuple(ids or map(str, range(len(values))))
    return Scores(system, names, {"f": metric.MetricColumn("f", "F")}, {"f": numbers}, {"m": "v1"})


def test_intervals_hold_95_percent():
    """Of many values that are normal, they are as wide as the normal distribution has them."""
    values = np.random.default_rng(0).normal(10, 3, 200)
    expected = 1.96 * values.std() / math.sqrt(200)
    alone = interval_of(scores_of(values, "a"), "f")
    [paired] = paired_differences([scores_of(values, "a")], scores_of([0] * 200, "b"), "f")
    for interval in (alone, paired):
        assert (interval.high - interval.low) / 2 == pytest.approx(expected, rel=0.1)


def test_no_interval_of_a_single_output_or_none():
    assert math.isnan(interval_of(scores_of([3.0]), "f").low)
    assert interval_of(scores_of([]), "f").text(1) == "-"


def test_equal_outputs_have_an_interval_without_width():
    assert interval_of(scores_of([2.0] * 10), "f") == metric.Interval(2.0, 2.0, 2.0)


def test_the_permutation_test_is_exact_where_there_are_few_swaps():
    """Eight differences of the same sign: 2 of 256 swaps are as extreme."""
    [above] = paired_differences([scores_of(range(1, 9), "a")], scores_of([0] * 8, "b"), "f")
    assert above.p == pytest.approx(2 / 256)
    assert above.difference == 4.5
    assert above.low < 4.5 < above.high
    [none] = paired_differences([scores_of([1, 2] * 4, "a")], scores_of([2, 1] * 4, "b"), "f")
    assert none.p == 1


def test_only_the_same_dialogues_measured_alike_are_compared():
    one = scores_of([1, 2])
    with pytest.raises(UsageError, match="not the same dialogues"):
        paired_differences([scores_of([1, 2], ids=["x", "y"])], one, "f")


@pytest.mark.parametrize(
    ("values", "corrected"),
    [
        ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),  # Holm 1979, by hand
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.02, math.nan], [0.02, math.nan]),
    ],
)
def test_holm(values, corrected):
    assert metric.holm(values) == pytest.approx(corrected, nan_ok=True)


N = math.nan
KRIPPENDORFF = [  # "Computing Krippendorff's Alpha-Reliability", 2011, section C
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]


@pytest.mark.parametrize(("ordered", "alpha"), [(False, 0.743), (True, 0.815)])
def test_alpha_of_krippendorffs_own_example(ordered, alpha):
    table = np.array(KRIPPENDORFF)
    assert krippendorff_alpha(table, ordered) == pytest.approx(alpha, abs=5e-4)


def test_alpha_where_there_is_nothing_to_agree_about():
    assert math.isnan(krippendorff_alpha(np.array([[1.0, 1.0], [1.0, 1.0]]), ordered=True))
    assert math.isnan(krippendorff_alpha(np.array([[1.0, N], [N, 2.0]]), ordered=True))
