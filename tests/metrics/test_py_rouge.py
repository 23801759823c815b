"""`PyRouge` beside the package itself, with the settings of the DialogSum and SAMSum papers."""

import importlib.util
import json
import pickle
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer

from dialogist.metrics.base import Case
from dialogist.metrics.rouge import PyRouge

OURS = PyRouge()
KINDS = ("rouge-1", "rouge-2", "rouge-l", "rouge-w")
VOCABULARY = """
the cats cat cannot cannots gonna wanna gimme running went children's 3.5 U.S. x_y Agreement
statements café don't and, and agreement-less
"""
words = st.lists(st.sampled_from([*VOCABULARY.split(), "\n"]), max_size=25).map(" ".join)
# One that has pairs: py-rouge counts -1 of them in a text without a word.
references = st.lists(words.map(lambda text: f"the cat {text}"), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def theirs():
    """The package's scorer. It wants two things that are not there."""
    spec = importlib.util.find_spec("rouge")
    if spec is None or spec.origin is None:
        pytest.skip("the package py-rouge is not installed")
    folder = Path(spec.origin).parent
    resources = ModuleType("pkg_resources")  # of old releases of setuptools
    resources.resource_filename = lambda _, name: str(folder / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pkg_resources", resources)
        rouge = importlib.import_module("rouge").Rouge
        # NLTK's sentence splitter has data of its own; there is no full stop left to split at.
        words_of = NLTKWordTokenizer().tokenize
        patch.setattr(rouge, "tokenize_text", staticmethod(lambda text, *_: words_of(text)))
        yield rouge(
            metrics=["rouge-n", "rouge-l", "rouge-w"],
            max_n=4,
            limit_length=True,
            length_limit=100,
            length_limit_type="words",
            apply_avg=True,
            apply_best=False,
            alpha=0.5,
            weight_factor=1.2,
            stemming=True,
        )


def assert_equal(theirs, prediction, references):
    """Theirs of texts on one line, ours of texts with whatever line ends."""
    found = OURS.measure(Case(prediction, tuple(references)))[::2]
    one_line = [text.replace("\n", " ") for text in (prediction, *references)]
    scores = theirs.get_scores(one_line[:1], [one_line[1:]])
    expected = [100 * scores[kind][part] for kind in KINDS for part in "prf"]
    assert found == pytest.approx(expected, abs=1e-9)


@given(prediction=words, references=references)
@example(prediction="the cat\nthe cat", references=["the cat the cat", "cat the"])
@example(prediction="the", references=["the the cat", "cat"])
def test_equals_py_rouge(theirs, prediction, references):
    assert_equal(theirs, prediction, references)


def test_real_texts_equal_py_rouge(theirs, corpora):
    """Extracts of up to thirty turns, more than a hundred words, one and three references."""
    lines = (corpora / "dialogsum" / "dev.jsonl").read_text(encoding="utf-8").splitlines()[:60]
    rows = [json.loads(line) for line in lines]
    for i, row in enumerate(rows):
        turns = row["dialogue"].split("\n")[: (1, 3, 12, 30)[i % 4]]
        assert_equal(theirs, " ".join(turns), [row["summary"]])
        others = [rows[i - 1]["summary"], row["summary"].replace(". ", ".\n")]
        assert_equal(theirs, "\n".join(turns), [row["summary"], *others])


def test_by_hand():
    # Common: the, cat (4 and 5 words); the cat (3 and 4 pairs).
    numbers = OURS.measure(Case("the cat lay here", ("the cat sat on mats",)))[::2]
    assert numbers[:3] == pytest.approx([50, 40, 100 * 4 / 9])
    assert numbers[3:5] == pytest.approx([100 / 3, 25])
    # Its ROUGE-L has the exponent 1 / 1.2, which lifts it above ROUGE-1.
    assert numbers[6:8] == pytest.approx([100 * 0.5 ** (1 / 1.2), 100 * 0.4 ** (1 / 1.2)])


def test_only_a_hundred_words_count():
    assert OURS.measure(Case("x " * 100 + "cat", ("cat",)))[0] == 0
    assert OURS.measure(Case("x " * 99 + "cat", ("cat",)))[0] == pytest.approx(1)


def test_it_reads_latin_alone():
    assert OURS.measure(Case("用户询问", ("用户询问",)))[::2] == [0] * 12
    assert OURS.reads("latin")
    assert not OURS.reads("cjk")


def test_columns_signature_other_processes():
    case = Case("running children", ("the child ran",))
    copy = pickle.loads(pickle.dumps(OURS))
    assert copy.measure(case) == OURS.measure(case)
    keys = [column.key for column in OURS.columns]
    assert (len(set(keys)), keys[2], keys[8]) == (12, "py-rouge.rouge1.f1", "py-rouge.rougeL.f1")
    assert "first 100 words" in OURS.signature
    assert "1.2" in OURS.signature
    numbers = np.array(OURS.measure(case))
    assert OURS.columns[2].figure(numbers[None, 4:6])[0] == pytest.approx(numbers[4])


@pytest.mark.parametrize("text", ["", "\ud800", "\n\n", "👍 用", "a-" * 3000, "x" * 100_000])
def test_whatever_is_typed_has_a_score(text):
    for numbers in (OURS.measure(Case(text, ("a b",))), OURS.measure(Case("a b", (text,)))):
        assert all(0 <= number <= 100 for number in numbers)
