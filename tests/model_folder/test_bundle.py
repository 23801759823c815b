"""Model folders: what was saved comes back; what is broken is refused with one clear line."""

import json
import random
import shutil
from pathlib import Path

import pytest
import torch
from torch import nn

from dialogist.errors import ModelError
from dialogist.model_folder.bundle import describe, load_bundle, save_bundle
from dialogist.model_folder.model_files import find_model
from dialogist.models.model_weights import fill_weights, weights_of
from dialogist.pipeline.summarizer import Summarizer
from dialogist.records import Dialogue, Utterance
from dialogist.tensors import Batch

CPU = torch.device("cpu")
CHAT = Dialogue((Utterance("Ann", "Lunch at noon?"), Utterance("Bo", "Yes, at Luigi's!")), "c")


def test_round_trip(tiny_model: Path, tmp_path: Path) -> None:
    bundle = load_bundle(tiny_model, CPU)
    save_bundle(tmp_path / "again", bundle, "# card\n", torch.float32)
    again = load_bundle(tmp_path / "again", CPU)
    for (name, one), (other_name, other) in zip(
        weights_of(bundle.model).items(), weights_of(again.model).items(), strict=True
    ):
        assert name == other_name
        assert torch.equal(one, other)
    assert again.preparation.config == bundle.preparation.config
    assert again.decoding == bundle.decoding
    assert (
        Summarizer(again).summarize([CHAT])[0].text == Summarizer(bundle).summarize([CHAT])[0].text
    )


def test_half_precision_halves_the_file(tiny_model: Path, tmp_path: Path) -> None:
    save_bundle(tmp_path / "half", load_bundle(tiny_model, CPU), "", torch.float16)
    sizes = [(f / "model.safetensors").stat().st_size for f in (tiny_model, tmp_path / "half")]
    assert sizes[1] < 0.6 * sizes[0]
    half = load_bundle(tmp_path / "half", CPU)
    assert next(half.model.parameters()).dtype == torch.float32  # computed in fp32 all the same
    assert describe(tmp_path / "half")["stored_as"] == ["F16"]


def test_int8_is_half_of_half(tiny_model: Path, tmp_path: Path) -> None:
    """What is stored is said; what is computed with is close to what was stored from."""
    bundle = load_bundle(tiny_model, CPU)
    for name, dtype in (("fp16", torch.float16), ("int8", torch.int8)):
        save_bundle(tmp_path / name, bundle, "", dtype)
        config = json.loads((tmp_path / name / "config.json").read_text())
        assert (config["format_version"], config["weights"]) == (2, name)
    facts = [describe(tmp_path / name) for name in ("fp16", "int8")]
    assert facts[1]["stored_as"] == ["F16", "F32", "I8"]
    assert facts[0]["parameters"] == facts[1]["parameters"]
    sizes = [(tmp_path / n / "model.safetensors").stat().st_size for n in ("fp16", "int8")]
    assert sizes[1] < 0.8 * sizes[0]  # (width 16: a scale for every 16 weights)
    again = load_bundle(tmp_path / "int8", CPU)
    for (name, one), other in zip(
        weights_of(bundle.model).items(), weights_of(again.model).values(), strict=True
    ):
        assert other.dtype == torch.float32, name
        assert (one - other).abs().max() <= one.abs().max() / 127 / 2 * 1.01 + 1e-3
    batch = torch.arange(4, 44).view(2, 20)
    mask = torch.ones_like(batch, dtype=torch.bool)
    both = Batch(batch, mask, batch[:, :9], batch[:, :9], mask[:, :9])
    with torch.inference_mode():
        exact, made = (b.model.forward(both).log_probs.all() for b in (bundle, again))
    assert (made - exact).pow(2).mean().sqrt() < 0.03 * exact.std()


def test_folders_of_format_1_still_load(tiny_model: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "m"))
    config = json.loads((folder / "config.json").read_text())
    del config["weights"]
    (folder / "config.json").write_text(json.dumps({**config, "format_version": 1}))
    one, other = load_bundle(folder, CPU), load_bundle(tiny_model, CPU)
    for mine, theirs in zip(one.model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(mine, theirs)
    assert describe(folder)["format_version"] == 1


def test_loading_draws_nothing_at_random(tiny_model: Path) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    model = load_bundle(tiny_model, CPU).model
    assert torch.equal(torch.get_rng_state(), before)
    assert not [name for name, b in model.named_buffers() if b.is_meta]
    assert model.output.weight is model.target_embedding.weight  # tied, as it was built


def test_what_is_computed_when_a_model_is_made_goes_to_its_device_too(tmp_path: Path) -> None:
    """Rotary frequencies are in no weights file, and are made on the CPU."""
    network = nn.Module()
    network.linear = nn.Linear(2, 2, device="meta")
    network.register_buffer("saved", torch.ones(2))
    network.linear.register_buffer("frequencies", torch.ones(2), persistent=False)
    weights = {"linear.weight": torch.ones(2, 2), "linear.bias": torch.ones(2)}
    fill_weights(network, weights, CPU, "here")
    assert network.linear.frequencies.tolist() == [1, 1]
    assert list(network.state_dict()) == ["saved", *weights]
    fill_weights(network, weights, torch.device("meta"), "here")
    tensors = [*network.named_parameters(), *network.named_buffers()]
    assert {name: one.device.type for name, one in tensors} == dict.fromkeys(
        ("linear.weight", "linear.bias", "saved", "linear.frequencies"), "meta"
    )


@pytest.mark.parametrize(
    "name", ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]
)
def test_missing_file_is_named(tiny_model: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "m"))
    (folder / name).unlink()
    with pytest.raises(ModelError, match=name.split(".")[0].replace("_", ".")) as caught:
        load_bundle(folder, CPU)
    assert "\n" not in str(caught.value)


def test_mutated_folders_give_a_model_or_one_line(tiny_model: Path, tmp_path: Path) -> None:
    """300 random damages: truncation, flipped bytes, changed JSON values."""
    chance = random.Random(5)
    refusals: list[str] = []
    for number in range(300):
        folder = Path(shutil.copytree(tiny_model, tmp_path / str(number)))
        path = chance.choice([p for p in sorted(folder.iterdir()) if p.suffix != ".md"])
        content = bytearray(path.read_bytes())
        place = chance.randrange(min(len(content), 3000))
        if chance.random() < 0.3:
            content = content[:place]
        else:
            content[place] = chance.randrange(256)
        path.write_bytes(bytes(content))
        try:
            load_bundle(folder, CPU)
        except ModelError as error:
            refusals.append(str(error))
        shutil.rmtree(folder)
    assert len(refusals) > 100
    assert not [line for line in refusals if "\n" in line]


@pytest.mark.parametrize(
    ("key", "value"),
    [("d_model", 10**9), ("encoder_layers", 10**6), ("source_positions", 10**9), ("heads", 0)],
)
def test_size_bombs_are_refused(tiny_model: Path, tmp_path: Path, key: str, value: int) -> None:
    folder = Path(shutil.copytree(tiny_model, tmp_path / "m"))
    config = json.loads((folder / "config.json").read_text())
    config["model"][key] = value
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=key):
        load_bundle(folder, CPU)


def test_find_model(tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIALOGIST_HOME", str(tmp_path))
    shutil.copytree(tiny_model, tmp_path / "models" / "mine")
    assert find_model("mine") == tmp_path / "models" / "mine"
    assert find_model(str(tiny_model)) == tiny_model
    (tmp_path / "run" / "checkpoints").mkdir(parents=True)
    with pytest.raises(ModelError, match="not finished"):
        find_model(str(tmp_path / "run"))
    with pytest.raises(ModelError, match="did you mean 'mine'"):
        find_model("mini")
