"""Learning from another system's outputs: filtered, joined by id, named in the card."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist.config import override
from dialogist.errors import ConfigError, DataError
from dialogist.recipe.corpus import TEACHERS, Corpus
from dialogist.recipe.recipe_config import DataSet, Recipe, RunPlace
from dialogist.recipe.training_run import train_recipe

OUTPUTS: list[dict[str, Any]] = [
    {"id": "d20", "text": "Ann meets Bo.", "status": "ok"},
    {"id": "d21", "text": "Ann meets Bo at noon.", "status": "unchecked"},
    {"id": "d22", "text": "Ann meets Cy at noon.", "status": "warning"},
    {"id": "d23", "text": "Ann meets.", "status": "ok"},
    {"id": "d24", "text": " ", "status": "ok"},
    {
        "id": "d25",
        "text": "Ann meets Bo again.",
        "status": "ok",
        "warnings": [{"kind": "name", "message": "who?"}],
    },
    {"id": "elsewhere", "text": "Nobody is there.", "status": "ok"},
]


@pytest.fixture
def teacher(data: Path) -> Path:
    """The outputs of a system about the dialogues of two.jsonl, d20 to d27."""
    path = data / "teacher.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in OUTPUTS))
    return data


def read(folder: Path, notes: list[str], **teacher: Any) -> dict[str, tuple[str, ...]]:
    values = {"path": "two.jsonl", "format": "jsonl"}
    one = DataSet.parse({**values, "teacher": {"outputs": "teacher.jsonl", **teacher}})
    corpus = Corpus([one], folder, notes.append)
    return {dialogue.id: dialogue.references for dialogue in corpus}


def test_only_what_passes_the_filters_is_learned(teacher: Path) -> None:
    notes: list[str] = []
    found = read(teacher, notes)
    assert found == {"d20": ("Ann meets Bo.",), "d21": ("Ann meets Bo at noon.",)}
    assert any("6 dialogues left out: no output in teacher.jsonl passes" in n for n in notes)


@pytest.mark.parametrize(
    ("filters", "more"),
    [
        ({"statuses": ["ok", "unchecked", "warning"]}, {"d22"}),
        ({"words": [2, 200]}, {"d23"}),
        ({"refuse": ["number"]}, {"d25"}),
        ({"words": [3, 3]}, set()),
    ],
)
def test_filters_can_be_set(filters: dict[str, Any], more: set[str], teacher: Path) -> None:
    found = read(teacher, [], **filters).keys()
    assert found == {"d20", "d21"} | more if filters != {"words": [3, 3]} else {"d20"}


def test_wrong_files_and_filters(teacher: Path) -> None:
    with pytest.raises(ConfigError, match="statuses"):
        read(teacher, [], statuses=["fine"])
    with pytest.raises(DataError, match="holds no output that the filters let through"):
        read(teacher, [], words=[50, 60])
    with pytest.raises(DataError, match=r"nothing\.jsonl"):
        read(teacher, [], outputs="nothing.jsonl")
    path = teacher / "teacher.jsonl"
    path.write_text(path.read_text() + json.dumps(OUTPUTS[0]) + "\n")
    with pytest.raises(DataError, match="holds the id 'd20' twice: whose summary is it"):
        read(teacher, [])
    path.write_text('{"text": "Ann meets Bo at noon."}\n')
    with pytest.raises(DataError, match="an output without an id"):
        read(teacher, [])


def test_the_card_says_who_was_learned_from(
    teacher: Path,
    recipe: Callable[..., Recipe],
    notes: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = {"outputs": "teacher.jsonl", "system": "gemma-270m-dialogsum", "licence": "gemma"}
    values = override(recipe().model_dump(mode="json"), ["training.max_steps=1"])
    values["data"]["train"][1]["teacher"] = named
    place = RunPlace(teacher, tmp_path / "run", torch.device("cpu"))
    model = train_recipe(Recipe.parse(values), place, notes)
    card = (model / "README.md").read_text()
    assert (
        "* 3 summaries of two.jsonl were written by gemma-270m-dialogsum under gemma "
        "(teacher.jsonl, sha256 "
    ) in card
    for why in ("1 for status warning", "1 for no text", "1 for finding name"):
        assert why in card
    [record] = json.loads((tmp_path / "run" / TEACHERS).read_text())
    assert record["kept"] == 3
    assert sum(record["left_out"].values()) == 4
