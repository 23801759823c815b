"""The recipes of pretrained models, each with a tiny model of its family for the real one."""

from pathlib import Path

import pytest

pytest.importorskip("transformers")
pytest.importorskip("peft")

import torch
from tests.models.tiny_pretrained import save_tiny
from tests.recipe.conftest import Notes

from dialogist.config import override, read_yaml
from dialogist.recipe.recipe_config import (
    Recipe,
    RunPlace,
    bundled_recipes,
    find_recipe,
    read_recipe,
)
from dialogist.recipe.training_run import train_recipe

FAMILIES = {
    "flan-t5-small": "t5",
    "flan-t5-small-finetuned": "t5",
    "pegasus-xsum": "pegasus",
    "t5-small": "t5",
    "bart-base-dialogsum": "bart",
    "gemma-270m-dialogsum": "gemma3_text",
    "gemma-270m-lora": "gemma3_text",
    "instruct": "qwen2",
}


def test_these_are_all() -> None:
    pretrained = {n for n in bundled_recipes() if read_recipe(n).model.kind == "pretrained"}
    assert pretrained == FAMILIES.keys()


@pytest.mark.parametrize("name", FAMILIES)
def test_ten_updates(
    name: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = save_tiny(FAMILIES[name], tmp_path / "source", chat=name == "instruct")
    sets = "[{path: two.jsonl, format: jsonl}]"
    values = override(
        read_yaml(find_recipe(name)),
        [
            f"model.source={source}",
            f"data={{train: {sets}, dev: {sets}}}",
            "preparation.limits={source_tokens: 100, summary_tokens: 60}",
            "validation.decoding.max_tokens=8",
            "decoding.max_tokens=8",
        ],
    )
    if values["training"]["epochs"]:
        sampler = {"kind": "token-bucket", "tokens": 200}
        values["training"] |= {"max_steps": 10, "epochs": 20, "sampler": sampler, "log_every": 10}
    recipe = Recipe.parse({"name": name, **values})
    model = train_recipe(recipe, RunPlace(data, tmp_path / "run", torch.device("cpu")), Notes())
    assert (model / "model.safetensors").stat().st_size > 10_000
    assert recipe.name in (model / "README.md").read_text()
