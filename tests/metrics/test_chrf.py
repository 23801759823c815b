import pickle
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from dialogist.errors import MissingExtraError
from dialogist.metrics.base import Case
from dialogist.metrics.bleu import Chrf

METRIC = Chrf()
texts = st.lists(
    st.sampled_from(["the", "The", "cat", "sat", "mat.", "订单", "询问，", "3.5", "don't", "x"]),
    max_size=8,
).map(" ".join) | st.text(max_size=15)


def chrf(*pairs: tuple[str, tuple[str, ...]]) -> float:
    rows = [METRIC.measure(Case(prediction, several)) for prediction, several in pairs]
    (column,) = METRIC.columns
    assert {len(row) for row in rows} == {column.width}
    return float(column.figure(np.array(rows, dtype=np.float64).sum(0)[None])[0])


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5))
def test_one_reference_equals_sacrebleu(pairs):
    found = chrf(*((prediction, (text,)) for prediction, text in pairs))
    predictions, references = map(list, zip(*pairs, strict=True))
    expected = CHRF().corpus_score(predictions, [references]).score
    assert found == pytest.approx(expected, abs=1e-9) or (np.isnan(found) and not expected)


def test_by_hand():
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
    assert METRIC.reads("cjk")
    copy = pickle.loads(pickle.dumps(METRIC))
    assert copy.measure(Case("订单", ("订单",))) == METRIC.measure(Case("订单", ("订单",)))
    assert METRIC.signature.startswith("chrF2 | nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|")


def test_without_sacrebleu(monkeypatch):
    monkeypatch.setitem(sys.modules, "sacrebleu.metrics.chrf", None)
    with pytest.raises(MissingExtraError, match=r"chrF.*pip install .*sacrebleu"):
        Chrf()
