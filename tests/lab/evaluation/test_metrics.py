"""Metrics: by hand, and as the libraries and other packages have them."""

import gc
import math
import warnings
from pathlib import Path

import nltk
import pytest
import torch
import transformers
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from tests.lab.conftest import write_tokenizer

from dialogist.errors import DataError, ModelError, UsageError
from dialogist.language.tokens import split_sentences
from dialogist.records import Dialogue, Utterance
from dialogist_lab.evaluation.dialogue_metrics import Copying, EventOrder, KeyPoints, Support
from dialogist_lab.evaluation.meteor_bertscore import BertScore, Meteor
from dialogist_lab.evaluation.metric import Case, Metric, score
from dialogist_lab.evaluation.report_card import make_metrics
from dialogist_lab.evaluation.rouge_bleu import Bleu, Rouge, RougeWords

CASES = yaml.safe_load((Path(__file__).parent / "metric_cases.yaml").read_text(encoding="utf-8"))


def figures(metric: Metric, *cases: Case) -> dict[str, float]:
    """Every figure of a metric."""
    scores = score("system", cases, [str(i) for i in range(len(cases))], [metric])
    return {key: scores.figure(key) for key in scores.columns}


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_by_hand(case):
    talk = Dialogue.from_text("\n".join(case["dialogue"])) if "dialogue" in case else None
    measured: dict[str, float] = {}
    for metric in (Rouge(), Bleu(), Copying(), EventOrder(), Support()):
        measured |= figures(metric, Case(case["prediction"], tuple(case["references"]), talk))
    for key, expected in case["figures"].items():
        if expected is None:
            assert math.isnan(measured[key])
        else:
            assert measured[key] == pytest.approx(expected, abs=1e-3), key


WORDS = "The cats cat running runs don't U.S. 3.5 meeting agreed. Yes! No? and, x_y café “Yes” ½ 👍"
english = st.lists(st.sampled_from(WORDS.split()), max_size=20).map(" ".join)


@given(prediction=english, reference=english)
@example(prediction="Ann’s café is open", reference="ann s caf is OPEN")
def test_rouge_of_english_is_that_of_rouge_score(prediction, reference):
    """Its own tokenizer, which knows no other script, finds the very same words."""
    google = RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=True)
    lines = ["\n".join(split_sentences(text)) for text in (reference, prediction)]
    measured = figures(Rouge(), Case(prediction, (reference,)))
    for kind, expected in google.score(*lines).items():
        for part, value in zip(("precision", "recall", "f1"), expected, strict=True):
            assert measured[f"{kind}.{part}"] == pytest.approx(100 * value)


anything = st.text(st.characters(), max_size=60)  # lone halves of pairs, too


@given(prediction=anything, reference=anything, turn=anything)
def test_no_text_breaks_a_metric(prediction, reference, turn):
    talk = Dialogue((Utterance("Ann", turn), Utterance("Bo", reference)), "d")
    metrics = [Rouge(), Bleu(), Copying(), EventOrder(), Support(), KeyPoints(Pack(), [reference])]
    score("system", [Case(prediction, (reference,), talk)], ["d"], metrics)


@pytest.mark.parametrize(
    ("text", "words"),
    [("订单 ok", ["订", "单", "ok"]), ("Привет, мир", ["привет", "мир"])],
)
def test_words_of_other_scripts(text, words):
    assert RougeWords().tokenize(text) == words


def test_bleu_with_one_reference_is_that_of_sacrebleu():
    said = ["the cat sat on the mat today", "a dog barks at the moon"]
    wanted = ["the cat was on the mat today", "a dog barked at the full moon"]
    expected = BLEU(lowercase=True).corpus_score(said, [wanted]).score
    cases = [Case(text, (ref,)) for text, ref in zip(said, wanted, strict=True)]
    assert figures(Bleu(), *cases)["bleu"] == pytest.approx(expected)


def test_bleu_of_chinese_counts_characters():
    case = Case("请问您的订单号是多少", ("请问您的订单号是什么",))
    assert figures(Bleu(), case)["bleu"] < 1e-3 < 50 < figures(Bleu(chinese=True), case)["bleu"]


class Pack:
    """A rule pack of three labels: a sentence that begins with A, B or C is about that."""

    name, language = "letters", "en"
    labels, key_facts = ("A", "B", "C"), ("C",)

    def analyse(self, text, section=""):
        letters = [word[0] for word in text.split(". ") if word[:1] in self.labels]
        return [type("Part", (), {"label": letter}) for letter in letters]


def test_key_points_by_hand():
    """Found A C, wanted A B C: two of three labels, no pair, a common sequence of two."""
    metric = KeyPoints(Pack(), ["A. B. C."])
    measured = figures(metric, Case("A. C.", ("A. B. C.",)))
    assert measured["key_points.rouge1.recall"] == pytest.approx(200 / 3)
    assert measured["key_points.rouge2.recall"] == 0
    assert measured["key_points.rougeL.f1"] == pytest.approx(80)
    assert measured["key_facts.rougeL.f1"] == 100


def test_a_plan_of_the_system_itself_counts():
    metric = KeyPoints(Pack(), ["A. B."])
    case = Case("something else", ("A. B.",), key_points=("A", "B"))
    measured = figures(metric, case)
    assert measured["key_points.rougeL.f1"] == 100
    assert measured["key_points.bleu"] == pytest.approx(100)
    assert math.isnan(measured["key_facts.rougeL.f1"])  # neither side has one


def write_wordnet(folder):
    """Files of WordNet's format (wndb(5WN)): "car" and "auto" are one noun, and that is all."""
    folder.mkdir(parents=True)
    header = "  1 WordNet 3.0 Copyright 2006 by nobody\n"
    for name, pos in {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}.items():
        synset = f"{len(header):08d} 06 {pos} 02 car 0 auto 0 000 | what one drives\n"
        entries = [f"{word} {pos} 1 0 1 0 {len(header):08d}\n" for word in ("auto", "car")]
        is_noun = name == "noun"
        (folder / f"data.{name}").write_text(header + synset * is_noun)
        (folder / f"index.{name}").write_text(header + "".join(entries) * is_noun)
        (folder / f"{name}.exc").write_text("")
    (folder / "lexnames").write_text("".join(f"{i:02d}\tname{i}\t1\n" for i in range(7)))
    (folder / "index.sense").write_text("")


def test_meteor_by_hand(tmp_path, monkeypatch):
    write_wordnet(tmp_path / "corpora" / "wordnet")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    meteor = Meteor()
    # All 4 words, one chunk: 1 - 0.5 / 4 ** 3. Stems and synonyms match as well.
    for text in ("the car is red", "The cars is red", "the auto is red"):
        assert figures(meteor, Case(text, ("the car is red",)))["meteor"] == pytest.approx(99.21875)
    # 2 of 3 words each, one chunk of two: 2/3 * (1 - 0.5 / 8).
    assert figures(meteor, Case("a red bike", ("a red house",)))["meteor"] == pytest.approx(62.5)
    del meteor  # NLTK leaves WordNet's files open, an error of whatever test comes next
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def test_meteor_without_wordnet(monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])
    with pytest.raises(DataError, match="NLTK_DATA"):
        Meteor()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A folder with two layers of BERT of random weights, width 16, 40 places."""
    folder = tmp_path_factory.mktemp("encoder")
    write_tokenizer(folder, ["a", "red", "cat", "dog", "runs", "sleeps"])
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=10, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=40, initializer_range=0.5,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def test_bertscore_of_a_local_folder(encoder):
    metric = BertScore(encoder)
    cases = [
        Case("a red cat", ("a red cat", "a dog runs")),
        Case("", ("a red cat",)),
        Case("a " * 200, ("a red dog",)),  # longer than its places: cut, not an error
    ]
    scores = score("system", cases, ["1", "2", "3"], [metric])
    same, other = (metric.measure(Case("a red cat", (text,)))[4] for text in cases[0].references)
    assert same == pytest.approx(100, abs=1e-3)
    assert scores.each("bertscore.f1")[0] == pytest.approx((same + other) / 2, abs=1e-3)
    assert scores.each("bertscore.f1")[1] == 0
    assert "sha256:" in metric.signature
    assert "layer 2" in metric.signature


def test_a_folder_without_an_encoder(encoder, tmp_path):
    with pytest.raises(ModelError, match="no encoder here"):
        BertScore(tmp_path)
    for name in ("model.safetensors", "tokenizer.json"):
        (tmp_path / name).write_bytes((encoder / name).read_bytes())
    (tmp_path / "config.json").write_text('{"model_type": "x"}')
    with pytest.raises(ModelError, match="cannot be read"):
        BertScore(tmp_path)


def test_names_of_metrics():
    notes: list[str] = []
    for name, error in (("rogue", "did you mean 'rouge'"), ("bertscore", "--encoder")):
        with pytest.raises(UsageError, match=error):
            make_metrics(name, [], None, None, notes.append)
    names = [metric.name for metric in make_metrics("all", [], None, None, notes.append)]
    assert {"rouge", "bleu", "copying"} <= set(names)
    assert any("bertscore was left out" in text for text in notes)
