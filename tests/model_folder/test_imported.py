"""Pretrained models named directly: imported once, then a model folder like any other."""

import json
import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

pytest.importorskip("transformers")

import transformers
from tests.models.tiny_pretrained import TEXTS, auto, save_tiny

from dialogist import Dialogue, Summarizer, Utterance
from dialogist.data.encode import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.errors import ModelError
from dialogist.model_folder.bundle import Bundle, describe, load_bundle, save_bundle
from dialogist.model_folder.imported import export_hf
from dialogist.model_folder.model_files import find_model
from dialogist.model_folder.options import SummaryOptions
from dialogist.models.pretrained.importing import import_pretrained
from dialogist.models.pretrained.pretrained_config import PretrainedConfig
from dialogist.models.pretrained.pretrained_network import PretrainedModel

TALK = Dialogue((Utterance("Ann", "Shall we meet at 7?"), Utterance("Bo", "Yes.")), id="talk")


@pytest.fixture(params=["t5", "llama"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return save_tiny(request.param, tmp_path / request.param)


def test_it_is_imported_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = find_model(str(source))
    assert folder.parent.name == "imported"
    weights = folder / "model.safetensors"
    written = weights.stat().st_mtime_ns
    again = Summarizer.load(str(source), "cpu", "fp32")
    assert weights.stat().st_mtime_ns == written
    # The vocabulary differs from run to run, and so does what the model says: keep all of it.
    [summary] = again.summarize([TALK], max_tokens=8, min_tokens=6, safe=False)
    assert summary.text
    assert summary.status in ("unchecked", "warning", "low_confidence")
    assert summary.model == str(source)
    assert describe(folder)["kind"] == "pretrained"
    # A model that has changed since is another one.
    os.utime(source / "model.safetensors")
    assert find_model(str(source)) != folder


def test_weights_of_16_bits_stay_as_they_are(source: Path) -> None:
    path = source / "model.safetensors"
    halves = {name: weight.bfloat16() for name, weight in load_file(path).items()}
    save_file(halves, path, metadata={"format": "pt"})
    kept = load_file(find_model(str(source)) / "model.safetensors")
    assert {weight.dtype for weight in kept.values()} == {torch.bfloat16}
    name = next(name for name, weight in halves.items() if weight.ndim == 2 and len(weight) == 32)
    assert torch.equal(kept[f"network.{name}"], halves[name])


def test_the_search_of_its_makers(source: Path) -> None:
    path = source / "generation_config.json"
    own = {"num_beams": 3, "length_penalty": 0.6, "max_length": 40, "no_repeat_ngram_size": 3}
    path.write_text(json.dumps(json.loads(path.read_text()) | own))
    options = Summarizer.load(str(source), "cpu", "fp32").options
    assert (options.strategy, options.beam_size, options.beam_scoring) == (
        "beam",
        3,
        "transformers",
    )
    assert (options.length_penalty, options.max_tokens, options.no_repeat_ngram) == (0.6, 40, 3)


def test_the_command_line(dialogist, source: Path) -> None:
    talk = b"Ann: Shall we meet at 7?\nBo: Yes.\n"
    made = dialogist(
        "summarize", "--model", source, "--format", "json", "--max-tokens", 6, input=talk
    )
    assert made.returncode == 0, made.stderr
    assert made.stderr.count(b"\n") <= 2  # nothing of what transformers has to say
    assert json.loads(made.stdout)[0]["model"] == str(source)
    wrong = dialogist("summarize", "--model", "nobody/nothing", input=talk)
    assert wrong.returncode == 1
    assert b"needs --allow-network" in wrong.stderr
    assert wrong.stderr.count(b"\n") == 1


@pytest.mark.parametrize("kind", ["t5", "bart", "gemma3_text"])
@pytest.mark.parametrize("prune", [False, True])
def test_exported_and_imported_again_it_says_the_same(
    kind: str, prune: bool, tmp_path: Path
) -> None:
    config = PretrainedConfig(source=str(save_tiny(kind, tmp_path / "tiny")), prune=prune)
    imported = import_pretrained(config, lambda: [*TEXTS, "Shall we meet at 7? Yes."])
    preparation = Preparation(
        PreparationConfig(speakers="inline", limits=Limits(source_tokens=60, summary_tokens=20))
    )
    options = SummaryOptions(beam_size=3, beam_scoring="transformers", max_tokens=9, min_tokens=3)
    bundle = Bundle(imported.model.eval(), imported.tokenizer, preparation, options, "one")
    before = Summarizer(bundle).summarize([TALK])[0].text
    save_bundle(tmp_path / "model", bundle, "---\nlicense: mit\n---\n", torch.float32)
    again = load_bundle(tmp_path / "model", torch.device("cpu"))
    export_hf(again, tmp_path / "model", tmp_path / "hf")
    # transformers loads it whole, and no row of it is ours
    theirs = auto(kind).from_pretrained(tmp_path / "hf")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    assert len(tokenizer) == theirs.config.vocab_size
    assert "dialogist" not in (tmp_path / "hf" / "tokenizer.json").read_text()
    assert tokenizer("Ann: Shall we?", add_special_tokens=False).input_ids == (
        imported.tokenizer.encode("Ann: Shall we?")
    )
    after = Summarizer.load(str(tmp_path / "hf"), "cpu", "fp32")
    assert after.options == options
    assert after.summarize([TALK])[0].text == before
    assert describe(find_model(str(tmp_path / "hf")))["licence"] == "mit"


def test_what_transformers_does_not_have_is_not_exported(tiny_model: Path, tmp_path: Path) -> None:
    bundle = load_bundle(tiny_model, torch.device("cpu"))
    with pytest.raises(ModelError, match="is of kind 'transformer', which transformers does not"):
        export_hf(bundle, tiny_model, tmp_path / "hf")


def test_an_output_layer_of_its_own_stays_one(tmp_path: Path) -> None:
    """As flan-T5 has: its logits are not scaled, and its table is not that of the embeddings."""
    folder = save_tiny("t5", tmp_path / "flan")
    weights = load_file(folder / "model.safetensors")
    weights["lm_head.weight"] = torch.randn_like(weights["shared.weight"])
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((folder / "config.json").read_text())
    del config["scale_decoder_outputs"]
    (folder / "config.json").write_text(json.dumps(config | {"tie_word_embeddings": False}))
    said = Summarizer.load(str(folder), "cpu", "fp32").summarize([TALK], max_tokens=8)[0].text
    model = load_bundle(find_model(str(folder)), torch.device("cpu"))
    assert isinstance(model.model, PretrainedModel)
    size = len(weights["lm_head.weight"])
    assert torch.equal(model.model.head.weight[:size], weights["lm_head.weight"])
    export_hf(model, folder, tmp_path / "hf")
    again = Summarizer.load(str(tmp_path / "hf"), "cpu", "fp32")
    assert again.summarize([TALK], max_tokens=8)[0].text == said
    theirs = auto("t5").from_pretrained(tmp_path / "hf")
    assert torch.equal(theirs.lm_head.weight, weights["lm_head.weight"])
    assert not theirs.config.scale_decoder_outputs
