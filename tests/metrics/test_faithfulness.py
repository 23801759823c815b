"""Figures of a corpus from what was found."""

import pickle
from math import isnan

import numpy as np
import pytest

from dialogist.evaluation.scoring import Scores
from dialogist.metrics.base import Case
from dialogist.metrics.faithfulness import Faithfulness
from dialogist.records import Dialogue

from .dialogue_samples import CHAT, CHINESE


def scores(*pairs: tuple[str, Dialogue | None]) -> Scores:
    metric = pickle.loads(pickle.dumps(Faithfulness()))
    rows = [metric.measure(Case(text, (), of)) for text, of in pairs]
    ids = tuple(map(str, range(len(rows))))
    return Scores("x", ids, metric.columns, np.array(rows), {})


def test_shares_are_of_outputs_and_of_mentions():
    of = scores(
        ("Amanda met Jerry and Bob.", CHAT), ("Amanda met Tom.", CHAT), ("Tom met Bill.", CHAT)
    )
    assert of.figure("faithfulness.name") == pytest.approx(200 / 3)
    assert of.figure("faithfulness.name_each") == pytest.approx(300 / 7)
    assert of.figure("faithfulness.any") == pytest.approx(200 / 3)
    assert of.figure("faithfulness.number") == 0
    assert isnan(of.figure("faithfulness.number_each"))


def test_an_empty_output_says_nothing_wrong():
    of = scores(("", CHAT))
    assert of.figure("faithfulness.any") == 0
    assert isnan(of.figure("faithfulness.name_each"))


def test_what_cannot_be_read_is_left_out():
    of = scores(
        ("amanda met jerry.", CHAT), ("Amanda met Jerry.", CHAT), ("Amanda, hello", CHINESE)
    )
    assert of.figure("faithfulness.name") == 100
    assert of.each("faithfulness.name")[1] == 100
    assert isnan(of.each("faithfulness.name")[0])
    assert isnan(of.each("faithfulness.any")[2])


def test_without_a_dialogue_there_is_no_value():
    of = scores(("Amanda met Jerry.", None))
    assert all(isnan(of.figure(column.key)) for column in of.columns)


def test_unsupported_words_are_counted_by_stem():
    of = scores(("Amanda was baking a cookie and an elephant for Tom.", CHAT))
    assert of.figure("faithfulness.word_each") == pytest.approx(100 / 3)


def test_keys_are_unique_and_widths_fit():
    metric = Faithfulness()
    assert len({column.key for column in metric.columns}) == len(metric.columns)
    row = metric.measure(Case("Amanda met Jerry.", (), CHAT))
    assert len(row) == sum(column.width for column in metric.columns)
