"""Folders with encoders: which can be read, and what is said of the others."""

import json
import socket

import pytest
import torch

from dialogist.errors import ModelError
from dialogist.metrics import bertscore
from dialogist.metrics.base import Case
from dialogist.metrics.bertscore import BertScore, PretrainedEncoder

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
