"""Figures are functions of sums: means, ratios, and whatever is left out."""

import numpy as np
import pytest

from dialogist.evaluation.scoring.scores import Scores
from dialogist.metrics.base import Column, mean_column, mean_of, percentage


def made(*values: float | None) -> Scores:
    columns = (
        mean_column("a.mean", "A", "higher"),
        Column("b.share", "B", "lower", 2, percentage),
    )
    numbers = [[*mean_of(value), 1.0, 4.0] for value in values]
    return Scores("x", tuple(map(str, range(len(values)))), columns, np.array(numbers), {})


def test_a_mean_leaves_out_what_has_no_value() -> None:
    scores = made(10, None, 40)
    assert scores.figure("a.mean") == 25
    assert np.array_equal(scores.each("a.mean"), [10, np.nan, 40], equal_nan=True)


def test_a_share_is_a_ratio_of_sums() -> None:
    assert made(1, 2).figure("b.share") == 25


def test_nothing_to_measure_is_nan() -> None:
    assert np.isnan(made(None, None).figure("a.mean"))


def test_resampling_counts_outputs_as_often_as_they_are_drawn() -> None:
    counts = np.array([[3, 0, 1], [0, 0, 0]], dtype=float)
    found = made(10, 20, 50).resampled("a.mean", counts)
    assert found[0] == 20
    assert np.isnan(found[1])


def test_numbers_of_another_width_are_refused() -> None:
    columns = (mean_column("a.mean", "A", "higher"),)
    with pytest.raises(ValueError, match="shape"):
        Scores("x", ("1",), columns, np.zeros((1, 3)), {})


def test_a_column_is_found_by_its_key() -> None:
    scores = made(1)
    assert "a.mean" in scores
    assert "rouge1.f1" not in scores
    assert scores.column("b.share").better == "lower"
