"""The mean of models: by hand, and refused where there is none."""

import json
from pathlib import Path

import pytest
import torch

from dialogist.engine.average import average
from dialogist.engine.bundle import Bundle, load_bundle
from dialogist.errors import ModelError
from dialogist.models.checkpoint import weights_of

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
