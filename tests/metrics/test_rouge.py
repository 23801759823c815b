"""Tests of metrics.rouge."""

import importlib.util
import json
import pickle
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer
from rouge_score.rouge_scorer import RougeScorer
from tests.metrics.rouge_scores import rouge_score

from dialogist.errors import UsageError
from dialogist.metrics.base import Case
from dialogist.metrics.rouge import ROUGE_TYPES, PyRouge, Rouge, RougeS
from dialogist.language.tokens import split_sentences

ROUGE = Rouge()
PLAIN = Rouge(stemmer=False)
GOOGLES = {
    ROUGE: RougeScorer(list(ROUGE_TYPES), use_stemmer=True),
    PLAIN: RougeScorer(list(ROUGE_TYPES), use_stemmer=False),
}
both = pytest.mark.parametrize("rouge", [ROUGE, PLAIN], ids=["stemmer", "no stemmer"])

VOCABULARY = """
The cats cat running runs ran don't U.S. 3.5 meeting meetings agreed. Yes! No? and, Mr. x_y
"""
vocabulary = st.sampled_from(VOCABULARY.split())
english = st.lists(vocabulary, max_size=20).map(" ".join) | st.text(
    st.characters(codec="ascii"), max_size=40
)
# What English text holds beyond ASCII: typographic marks, accents.
typographic = st.lists(
    vocabulary | st.sampled_from(["don’t", "“Yes”", "café", "—", "…", "naïve", "£5", "½", "👍"]),
    max_size=20,
).map(" ".join)


def assert_equals_google(prediction, reference, rouge=ROUGE):
    ours = rouge_score(rouge, prediction, [reference])
    lines = ["\n".join(split_sentences(text)) for text in (reference, prediction)]
    theirs = GOOGLES[rouge].score(*lines)
    for kind in ROUGE_TYPES:
        found, expected = ours.average[kind], theirs[kind]
        assert found.precision == pytest.approx(100 * expected.precision, abs=1e-9)
        assert found.recall == pytest.approx(100 * expected.recall, abs=1e-9)
        assert found.f1 == pytest.approx(100 * expected.fmeasure, abs=1e-9)
    assert ours.average == ours.maximum


@both
@given(prediction=english, reference=english)
def test_ascii_equals_rouge_score(rouge, prediction, reference):
    assert_equals_google(prediction, reference, rouge)


@both
@given(prediction=typographic, reference=typographic)
@example(prediction="Ann’s café is open", reference="ann s caf is OPEN")
def test_typographic_english_equals_rouge_score(rouge, prediction, reference):
    assert_equals_google(prediction, reference, rouge)


sentence = st.lists(st.sampled_from("abcde"), min_size=1, max_size=8).map(" ".join)
sentences = st.lists(sentence.map(lambda text: f"{text}."), max_size=6).map("\n".join)


@given(sentences, sentences)
@example("a b.\na b.", "a b a b.\nb a.")
def test_several_sentences_with_the_same_words_equal_rouge_score(prediction, reference):
    """Where Lsum's union, and its care not to count twice, matter."""
    assert_equals_google(prediction, reference)


def test_real_texts_equal_rouge_score(corpora):
    """Summaries beside others, beside longer ones, and beside the dialogue."""
    lines = (corpora / "dialogsum" / "dev.jsonl").read_text(encoding="utf-8").splitlines()
    for row, other in pairwise(json.loads(line) for line in lines[:100]):
        for prediction in (other["summary"], f"{row['summary']} {other['summary']}"):
            assert_equals_google(prediction, row["summary"])
        assert_equals_google(row["dialogue"][:600], f"{row['summary']} {other['summary']}")


def test_by_hand():
    # Prediction 4 words, reference 5; common: the, cat, on (rouge-1: 3); 'the cat' (rouge-2: 1).
    scores = rouge_score(ROUGE, "the cat lay on", ["on the cat sat on"]).average
    assert scores["rouge1"].precision == pytest.approx(100 * 3 / 4)
    assert scores["rouge1"].recall == pytest.approx(100 * 3 / 5)
    assert scores["rouge1"].f1 == pytest.approx(100 * 6 / 9)
    assert scores["rouge2"].precision == pytest.approx(100 / 3)
    assert scores["rouge2"].recall == pytest.approx(100 / 4)
    assert scores["rougeL"].f1 == pytest.approx(100 * 6 / 9)


def test_words_are_stemmed():
    assert rouge_score(ROUGE, "running meetings", ["runs meeting"]).average["rouge2"].f1 == 100


def test_sentences_in_another_order():
    scores = rouge_score(ROUGE, "Bob left. Ann came.", ["Ann came. Bob left."]).average
    assert scores["rougeLsum"].f1 == pytest.approx(100)
    assert scores["rougeL"].f1 == pytest.approx(50)


@pytest.mark.parametrize(
    "text", ["用户询问订单。客服查询。", "Анна пришла домой.", "かな漢字", "한국 사람"]
)
def test_every_script_equals_itself(text):
    scores = rouge_score(ROUGE, text, [text]).average
    assert [scores[kind].f1 for kind in ROUGE_TYPES] == pytest.approx([100] * 4)


@pytest.mark.parametrize(
    ("one", "other"), [("用户询问", "客服回答"), ("Анна", "Борис"), ("订单", "order"), ("", "用户")]
)
def test_disjoint_texts_score_nothing(one, other):
    scores = rouge_score(ROUGE, one, [other]).average
    assert [scores[kind].f1 for kind in ROUGE_TYPES] == [0] * 4


def test_chinese_counts_characters():
    # 用户下单 and 用户退单: 3 of 4 characters, 1 of 3 pairs.
    scores = rouge_score(ROUGE, "用户下单", ["用户退单"]).average
    assert scores["rouge1"].f1 == pytest.approx(75)
    assert scores["rouge2"].f1 == pytest.approx(100 / 3)
    assert scores["rougeL"].f1 == pytest.approx(75)


def test_cyrillic_counts_words_without_case():
    scores = rouge_score(ROUGE, "АННА пришла", ["Анна ушла"]).average
    assert scores["rouge1"].f1 == pytest.approx(50)


def test_mixed_scripts():
    scores = rouge_score(ROUGE, "订单 ABC", ["订单 abc x"]).average
    assert scores["rouge1"].precision == pytest.approx(100)
    assert scores["rouge1"].recall == pytest.approx(75)


def test_average_and_best_over_references():
    # rouge-1 against "a b": P 1, R 1; against "a b c d": P 1, R 1/2, F 2/3; against "x": 0.
    score = rouge_score(ROUGE, "a b", ["a b", "a b c d", "x"])
    assert score.average["rouge1"].f1 == pytest.approx(100 * (1 + 2 / 3 + 0) / 3)
    assert score.average["rouge1"].precision == pytest.approx(100 * 2 / 3)
    assert score.average["rouge1"].recall == pytest.approx(50)
    assert score.maximum["rouge1"].f1 == pytest.approx(100)


def test_the_best_reference_is_chosen_per_type():
    # Six predicted words; the first reference shares more words, the second more pairs.
    score = rouge_score(ROUGE, "a b c d e f", ["f e d c b a", "a b c x y z"])
    assert score.maximum["rouge1"].f1 == pytest.approx(100)
    assert score.maximum["rouge2"].f1 == pytest.approx(40)


def test_signature_names_the_version():
    assert Rouge.signature.startswith("rouge-score 0.")


def test_the_stemmer_can_be_left_out():
    assert rouge_score(PLAIN, "running", ["runs"]).average["rouge1"].f1 == 0
    assert "no stemmer" in PLAIN.signature
    assert "no stemmer" not in ROUGE.signature


def test_columns_hold_averages_and_the_best_reference():
    keys = [column.key for column in ROUGE.columns]
    assert keys[:3] == ["rouge1.precision", "rouge1.recall", "rouge1.f1"]
    assert len(keys) == len(set(keys)) == 24
    numbers = np.array(ROUGE.measure(Case("a b", ("a b", "a b c d", "x"))))
    figures = {
        c.key: c.figure(numbers[None, 2 * i : 2 * i + 2])[0] for i, c in enumerate(ROUGE.columns)
    }
    score = rouge_score(ROUGE, "a b", ["a b", "a b c d", "x"])
    assert figures["rouge1.recall"] == score.average["rouge1"].recall == pytest.approx(50)
    assert figures["rouge2.max.f1"] == score.maximum["rouge2"].f1 == pytest.approx(100)


def test_the_figure_is_the_mean_over_outputs():
    cases = [Case("a b", ("a b",)), Case("", ("a",)), Case("a", ("a b c",))]
    numbers = np.array([ROUGE.measure(case) for case in cases]).sum(0)
    place = next(i for i, column in enumerate(ROUGE.columns) if column.key == "rouge1.f1")
    figure = ROUGE.columns[place].figure(numbers[None, 2 * place : 2 * place + 2])[0]
    assert figure == pytest.approx((100 + 0 + 50) / 3)


@both
def test_it_goes_to_other_processes(rouge):
    case = Case("The cats were running.", ("Cats run.",))
    rouge.measure(case)  # it remembers words, which stay behind
    copy = pickle.loads(pickle.dumps(rouge))
    assert (copy.measure(case), copy.signature) == (rouge.measure(case), rouge.signature)


@pytest.mark.parametrize(
    "text", ["", "\ud800", "\x00\x1b[2J", "👍🏽 " * 50, "a" * 100_000, "。。。", "\n\n"]
)
def test_whatever_is_typed_has_a_score(text):
    for numbers in (ROUGE.measure(Case(text, ("a b",))), ROUGE.measure(Case("a b", (text,)))):
        assert all(0 <= number <= 100 for number in numbers)


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
    expected = rouge_score(Rouge(), one, [other]).average["rouge2"].f1
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


# `PyRouge` beside the package itself, with the settings of the DialogSum and SAMSum papers.

OURS = PyRouge()
KINDS = ("rouge-1", "rouge-2", "rouge-l", "rouge-w")
LINE_VOCABULARY = """
the cats cat cannot cannots gonna wanna gimme running went children's 3.5 U.S. x_y Agreement
statements café don't and, and agreement-less
"""
words = st.lists(st.sampled_from([*LINE_VOCABULARY.split(), "\n"]), max_size=25).map(" ".join)
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


def test_by_hand_py_rouge():
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
def test_whatever_is_typed_has_a_score_py_rouge(text):
    for numbers in (OURS.measure(Case(text, ("a b",))), OURS.measure(Case("a b", (text,)))):
        assert all(0 <= number <= 100 for number in numbers)
