"""Tests of metrics.base."""

import pickle
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from tests.metrics.rouge_scores import rouge_score

from dialogist.metrics.base import (
    BatchMetric,
    Case,
    Column,
    Metric,
    average_and_best,
    concatenate,
    concatenated,
    letters,
    mean_column,
    reads,
    unread,
)
from dialogist.metrics.bleu import Bleu, Chrf
from dialogist.metrics.rouge import PyRouge, Rouge


def test_letters_by_script():
    found = letters(
        ["Ann café 3.5", "客服 Ann", "かなカナ々", "Анна", "한국", "ＡＢ ﾊ", "\ud800👍\u0000"]
    )
    assert found == {
        "latin": 3 + 4 + 3 + 2,
        "cjk": 3,
        "hiragana": 2,
        "katakana": 3,
        "cyrillic": 4,
        "hangul": 2,
    }
    assert letters([]) == {}


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (Rouge(), {}),
        (Chrf(), {}),
        (Bleu("13a"), {"cjk": 0.75}),
        (Bleu("zh"), {}),
        (PyRouge(), {"cjk": 0.75}),
        (concatenate(PyRouge()), {"cjk": 0.75}),
    ],
)
def test_what_a_metric_cannot_read(metric, expected):
    assert unread(metric, ["客服回答：", "ok 订单"]) == expected
    assert unread(metric, ["", "3.5 %"]) == {}


def test_the_share_is_of_all_letters_most_first():
    assert unread(PyRouge(), ["abcd", "客服", "Аннa"]) == {"cyrillic": 0.3, "cjk": 0.2}


def test_a_metric_of_no_words_reads_all():
    class Length:
        name = signature = "length"
        columns = ()

        def measure(self, case):
            return ()

    assert reads(Length(), "thai")


CASE = Case("a b c d", ("a b", "c d", "x y"))


def test_average_and_best_by_f1():
    found = [(10.0, 90.0, 18.0), (50.0, 50.0, 50.0), (0.0, 0.0, 0.0)]
    average, best = average_and_best(found)
    assert average == pytest.approx((20, 140 / 3, 68 / 3))
    assert best == (50, 50, 50)
    assert average_and_best(found[:1]) == (found[0], found[0])
    with pytest.raises(ValueError, match="at least one reference"):
        average_and_best([])


def test_references_are_joined_as_in_the_reports():
    """Report 3 prints one: three summaries behind each other, with spaces."""
    assert concatenated(CASE) == Case("a b c d", ("a b c d x y",))


def test_a_concatenated_metric_has_columns_of_its_own():
    metric = concatenate(Rouge())
    keys = [column.key for column in metric.columns]
    assert keys == [f"concatenated.{c.key}" for c in Rouge.columns if ".max." not in c.key]
    assert metric.columns[2].title == "R1 (concat.)"
    numbers = metric.measure(CASE)
    assert len(numbers) == sum(column.width for column in metric.columns)
    expected = rouge_score(Rouge(), "a b c d", ["a b c d x y"]).average
    assert numbers[2] == pytest.approx(100 * 4 / 6)  # recall of 4 words of 6
    assert numbers[::2][-1] == expected["rougeLsum"].f1
    assert metric.name == "rouge-concatenated"
    assert metric.signature == f"references concatenated into one | {Rouge.signature}"
    assert not isinstance(metric, BatchMetric)
    assert pickle.loads(pickle.dumps(metric)).measure(CASE) == numbers


def test_a_corpus_metric_can_be_concatenated_too():
    metric = concatenate(Bleu("none", orders=1))
    figure = metric.columns[0].figure(np.array([metric.measure(CASE)], dtype=np.float64))
    # All four words are there, but the reference has six: the brevity penalty alone.
    assert figure[0] == pytest.approx(100 * np.exp(1 - 6 / 4))


class Counting:
    """Wants all outputs at once; says how many there are, and the length of references."""

    name = "counting"
    signature = "counting"
    columns: tuple[Column, ...] = (
        mean_column("n.max.x", "N", "neither"),
        mean_column("l", "L", "neither"),
    )

    def measure(self, case: Case) -> Sequence[float]:
        return next(self.measure_all([case]))

    def measure_all(self, cases: Sequence[Case]) -> Iterator[Sequence[float]]:
        return ([len(cases), 1, len(case.references[0]), 1] for case in cases)


def test_a_batch_metric_stays_one():
    metric: Metric = concatenate(Counting())
    assert isinstance(metric, BatchMetric)
    assert list(metric.measure_all([CASE, CASE])) == [[11, 1], [11, 1]]
    assert [column.key for column in metric.columns] == ["concatenated.l"]
