import pickle
import subprocess
import sys

import numpy as np
import pytest

from dialogist.errors import UsageError
from dialogist.metrics.base import Case
from dialogist.metrics.metric_registry import METRICS, MetricOptions, make_metrics
from dialogist.records import Dialogue, Utterance

ELSEWHERE = {"meteor", "bertscore"}  # they want files: see their own tests
NAMES = sorted(METRICS.keys() - ELSEWHERE)
DIALOGUE = Dialogue((Utterance("Ann", "Lunch at noon?"), Utterance("Bo", "Yes.")), id="1")
TEXTS = ["", " ", "Ann asks Bo.", "用户询问。", "👍🏽", "\ud800", "\x00\x1b[0m", "a " * 2000, "NaN"]


@pytest.mark.parametrize("name", [*NAMES, *(f"{name}-concatenated" for name in NAMES)])
def test_every_metric_keeps_the_contract(name):
    (metric,) = make_metrics([name])
    assert metric.name == name
    assert metric.signature
    assert "\n" not in metric.signature
    width = sum(column.width for column in metric.columns)
    rows = [
        metric.measure(Case(text, references, DIALOGUE))
        for text in TEXTS
        for references in (("Ann asks Bo about lunch.",), ("Bo says yes.", "用户", "👍"))
    ]
    assert {len(row) for row in rows} == {width}
    assert np.isfinite(rows).all()
    copy = pickle.loads(pickle.dumps(metric))
    case = Case("Ann asks Bo.", ("Ann asks Bo about lunch.",), DIALOGUE)
    assert list(copy.measure(case)) == list(metric.measure(case))
    begin = 0
    for column in metric.columns:
        sums = np.stack(
            [np.array(rows)[:, begin : begin + column.width].sum(0), np.zeros(column.width)]
        )
        figure, nothing = column.figure(sums)
        assert not np.isinf(figure)
        assert np.isnan(nothing)
        begin += column.width


def test_keys_are_unique_over_all_metrics():
    metrics = make_metrics([*NAMES, *(f"{name}-concatenated" for name in NAMES)])
    keys = [column.key for metric in metrics for column in metric.columns]
    assert len(keys) == len(set(keys))


def test_options_reach_the_metrics():
    options = MetricOptions(stemmer=False, chinese=True)
    rouge, pairs, bleu = make_metrics(["rouge", "rouge-s", "bleu"], options)
    assert "no stemmer" in rouge.signature
    assert "no stemmer" in pairs.signature
    assert "tok:zh" in bleu.signature


def test_each_name_once_in_its_order():
    assert [m.name for m in make_metrics(["chrf", "rouge", "chrf"])] == ["chrf", "rouge"]
    assert make_metrics([]) == []


@pytest.mark.parametrize(
    ("name", "hint"),
    [("rogue", "'rouge'"), ("rogue-concatenated", "'rouge'"), ("bertscor", "'bertscore'")],
)
def test_a_wrong_name(name, hint):
    with pytest.raises(
        UsageError, match=rf"no metric '{name}'; did you mean {hint}\?; there are rouge"
    ):
        make_metrics([name])


def test_scoring_needs_neither_torch_nor_nltk():
    """Else every process that shares the work would load them."""
    code = (
        "import sys, dialogist.evaluation.scoring, dialogist.metrics.metric_registry; "
        "print({'torch', 'nltk', 'scipy'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"
