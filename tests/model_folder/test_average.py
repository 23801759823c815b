"""The mean of models: by hand, and refused where there is none."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from dialogist.errors import ModelError
from dialogist.model_folder.bundle import Bundle, average, load_bundle, save_bundle
from dialogist.models.base import set_symbols
from dialogist.models.model_weights import weights_of
from dialogist.models.transformer import TransformerConfig

CPU = torch.device("cpu")


def moved(folder: Path, by: float, name: str) -> Bundle:
    """The tiny model with ``by`` added to all its weights."""
    bundle = load_bundle(folder, CPU, name)
    for weight in weights_of(bundle.model).values():
        weight += by
    return bundle


def test_the_mean_of_three(tiny_model: Path) -> None:
    start = {n: w.clone() for n, w in weights_of(load_bundle(tiny_model, CPU).model).items()}
    mean = average([moved(tiny_model, by, f"seed-{by:g}") for by in (0.0, 0.3, 0.6)])
    for name, weight in weights_of(mean.model).items():
        torch.testing.assert_close(weight, start[name] + 0.3)
    assert mean.about["mean_of"] == ["seed-0", "seed-0.3", "seed-0.6"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_the_mean_with_the_model_that_knew_no_speakers(
    order: tuple[int, ...], tiny_model: Path, tmp_path: Path
) -> None:
    """Their numbers alone count, wherever it stands; what comes out knows speakers, and loads."""
    plain = load_bundle(tiny_model, CPU, "plain")
    models = [plain, knowing(plain, 0.2), knowing(plain, 0.4)]
    mean = average([models[i] for i in order])
    found, start = weights_of(mean.model), weights_of(load_bundle(tiny_model, CPU).model)
    new = found.keys() - start.keys()
    assert new
    assert all("match" in name for name in new)
    for name, weight in found.items():
        expected = start[name] + 0.2 if name in start else torch.full_like(weight, 0.3)
        torch.testing.assert_close(weight, expected)
    save_bundle(tmp_path / "mean", mean, "", torch.float32)
    loaded = weights_of(load_bundle(tmp_path / "mean", CPU).model)
    assert {n: w.tolist() for n, w in loaded.items()} == {n: w.tolist() for n, w in found.items()}


def knowing(plain: Bundle, by: float) -> Bundle:
    """The same, going on with attention that knows who speaks, ``by`` added to all weights."""
    config = TransformerConfig.parse({**plain.model.config.model_dump(), "speaker_attention": True})
    model = config.build(len(plain.tokenizer))
    set_symbols(model, plain.tokenizer.symbols)
    model.load_state_dict(plain.model.state_dict(), strict=False)
    for weight in weights_of(model).values():
        weight += by
    return replace(plain, model=model.eval(), name=f"knowing-{by:g}")


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [("model", {"dropout": 0.25}, "network"), ("preparation", {"merge_below": 3}, "preparation")],
)
def test_other_networks_and_preparations_have_none(
    key: str, value: dict[str, object], named: str, tiny_model: Path, tmp_path: Path
) -> None:
    for path in tiny_model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    config[key] |= value
    (tmp_path / "config.json").write_text(json.dumps(config))
    pair = [load_bundle(tiny_model, CPU, "one"), load_bundle(tmp_path, CPU, "other")]
    with pytest.raises(ModelError, match=f"^other has another {named}.* than one: only runs of"):
        average(pair)


def test_nor_do_other_vocabularies(tiny_model: Path, tmp_path: Path) -> None:
    for path in tiny_model.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    text = (tmp_path / "tokenizer.json").read_text(encoding="utf-8")
    (tmp_path / "tokenizer.json").write_text(exchanged(text), encoding="utf-8")
    pair = [load_bundle(tiny_model, CPU, "one"), load_bundle(tmp_path, CPU, "other")]
    with pytest.raises(ModelError, match="other has another vocabulary"):
        average(pair)


def exchanged(tokenizer: str) -> str:
    """With the last two entries the other way round."""
    held = json.loads(tokenizer)
    vocabulary = held["model"]["vocab"]
    *_, one, other = sorted(vocabulary, key=vocabulary.__getitem__)
    vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]
    return json.dumps(held)
