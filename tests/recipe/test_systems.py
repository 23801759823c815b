"""What is refused before anything is trained, and what systems, data and packs are taken."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from dialogist.config import override
from dialogist.errors import ConfigError, DataError, ModelError, UsageError
from dialogist.recipe.recipe_config import DataSet, Recipe
from dialogist.recipe.systems import (
    System,
    choose_pack,
    evaluation_sets,
    find_systems,
    read_evaluation_data,
)

from .conftest import RECIPE, Notes

Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A recipe file of a name, with settings over the small one."""

    def make(name: str, *settings: str) -> str:
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(override({**RECIPE, "name": name}, settings)))
        return str(path)

    return make


def find(*names: str, runs: str = "runs", settings: Any = (), **starts: str) -> list[System]:
    return find_systems(names, Path(runs), settings, starts)


def recipe_of(system: System) -> Recipe:
    assert system.recipe is not None
    return system.recipe


def test_every_kind_of_name(write: Write, tiny_model: Path) -> None:
    path = write("mine", "training.epochs=7")
    systems = find(
        "lead-3", path, "kdd-seq2seq", f"{tiny_model}/", "default", settings=["training.seed=5"]
    )
    assert [system.name for system in systems] == [
        *("lead-3", "mine", "kdd-seq2seq", str(tiny_model), "default"),
    ]
    lead, mine, bundled, folder, default = systems
    assert (lead.recipe, lead.folder) == (None, None)
    assert mine.folder == Path("runs/mine")
    assert recipe_of(mine).training.epochs == 7
    assert [recipe_of(one).training.seed for one in (mine, bundled)] == [5, 5]
    assert folder.folder == tiny_model
    assert default.folder is not None
    assert default.folder.name == "default"
    assert folder.file_name.endswith("-tiny")
    assert "/" not in folder.file_name


def test_a_sentence_is_a_short_file_name_of_its_own() -> None:
    long = "constant:" + "他们谈论一次旅行" * 50
    one, other = find(f"{long}一", f"{long}二")
    assert one.file_name != other.file_name
    assert max(len(f"{system.file_name}.jsonl".encode()) for system in (one, other)) <= 255


def test_unknown_and_doubled_names(write: Write, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'kdd-seq2seq'"):
        find("kdd-seq2sek")
    with pytest.raises(UsageError, match="'lead-3' is there twice"):
        find("lead-3", "lead-3")
    path = write("kdd-seq2seq")  # another file, but the same run folder
    with pytest.raises(UsageError, match="there twice"):
        find("kdd-seq2seq", path)
    with pytest.raises(ModelError, match=r"has no config\.json"):
        find(str(tmp_path))
    with pytest.raises(ConfigError, match="did you mean 'epochs'"):
        find("kdd-seq2seq", settings=["training.epoch=3"])


def test_a_start_is_a_model_or_an_earlier_recipe(write: Write) -> None:
    first, second = write("first"), write("second")
    one, two = find(first, second, runs="there", second="first")
    assert recipe_of(one).start is None
    assert recipe_of(two).start == "there/first"
    [alone] = find(second, second="some/model")
    assert recipe_of(alone).start == "some/model"
    written = write("third", "start=first")
    assert recipe_of(find(first, written)[1]).start == "runs/first"
    with pytest.raises(UsageError, match="second starts from lead-1: name that one before it"):
        find(second, "lead-1", second="lead-1")
    with pytest.raises(UsageError, match="'third' is no recipe of this comparison"):
        find(first, third="first")


def test_a_start_can_be_a_folder_that_is_compared_too(write: Write, tiny_model: Path) -> None:
    folder, second = str(tiny_model), write("second")
    for names in ((folder, second), (second, folder)):
        [found] = [one for one in find(*names, second=folder) if one.recipe is not None]
        assert recipe_of(found).start == folder


def test_evaluation_sets(write: Write) -> None:
    one, two = find(write("one"), write("two"))
    assert evaluation_sets([System("lead-3"), one, two], None) == recipe_of(one).data.dev
    on = DataSet(path="x.jsonl")
    assert evaluation_sets([System("lead-3")], on) == [on]
    with pytest.raises(UsageError, match="no recipe with development data"):
        evaluation_sets([System("lead-3")], None)
    other = find(write("other", "data.dev=[{path: other.jsonl}]"))
    with pytest.raises(UsageError, match="different development data: say --on FILE"):
        evaluation_sets([one, *other], None)


def test_evaluation_data(data: Path, notes: Notes) -> None:
    choice, bad = read_evaluation_data(
        [DataSet(path="two.jsonl", format="jsonl")], data, None, notes.note
    )
    # Eight rows, every second without a summary, and one broken line.
    assert (len(choice.dialogues), len(choice.wanted), bad) == (8, 4, 1)
    assert choice.file == "two.jsonl"
    assert "4 dialogues without a reference left out" in notes.notes
    few, _ = read_evaluation_data([DataSet(path="two.jsonl")], data, 3, notes.note)
    assert few.wanted == choice.wanted[:1]
    (data / "bare.jsonl").write_text(json.dumps({"turns": [["A", "b"]], "summary": " "}) + "\n")
    with pytest.raises(DataError, match="no dialogue in the data has a reference"):
        read_evaluation_data([DataSet(path="bare.jsonl")], data, None, notes.note)
    with pytest.raises(DataError, match="no such data file"):
        read_evaluation_data([DataSet(path="none.jsonl")], data, None, notes.note)


def test_the_pack_is_the_one_wanted_the_systems_or_the_datas(write: Write, tmp_path: Path) -> None:
    plain = find(write("plain"))
    labelled = find(write("labelled", "preparation.key_points=clinical"))
    others = find(write("others", "preparation.key_points=dialogsum"))
    jsonl, corpus = [DataSet(path="d.jsonl", format="jsonl")], [DataSet(path="d", format="csds")]

    def name(wanted: str | None, systems: list[System], sets: list[DataSet]) -> str | None:
        pack = choose_pack(wanted, systems, sets, tmp_path)
        return None if pack is None else pack.name

    assert name("dialogsum", labelled, corpus) == "dialogsum"
    assert name("none", labelled, corpus) is None
    assert name(None, [*plain, *labelled], corpus) == "clinical"
    assert name(None, plain, corpus) == "customer-service-zh"
    assert name(None, plain, jsonl) is None
    with pytest.raises(UsageError, match=r"different rule packs \(clinical, dialogsum\)"):
        name(None, [*labelled, *others], jsonl)
    with pytest.raises(ConfigError, match="did you mean 'clinical'"):
        name("clinicel", plain, jsonl)
    (tmp_path / "broken.yaml").write_text("name: x\nlanguage: en\n")
    with pytest.raises(ConfigError, match=r"broken\.yaml, line 1"):
        name(str(tmp_path / "broken.yaml"), plain, jsonl)


def test_a_format_that_is_not_said_is_looked_for(tmp_path: Path) -> None:
    row = {"fname": "f", "dialogue": "#Person1#: Hi.", "summary": "Hi."}
    (tmp_path / "d.jsonl").write_text(json.dumps(row) + "\n")
    pack = choose_pack(None, [System("lead-3")], [DataSet(path="d.jsonl")], tmp_path)
    assert pack is not None
    assert pack.name == "dialogsum"


def test_a_model_brings_the_pack_it_was_made_with(tiny_model: Path, tmp_path: Path) -> None:
    import shutil

    from dialogist.data.key_points import load_pack

    shutil.copytree(tiny_model, tmp_path / "planner")
    text = load_pack("clinical").text.replace("name: clinical", "name: ours")
    (tmp_path / "planner" / "key_points.yaml").write_text(text)
    systems = find(str(tmp_path / "planner"), str(tiny_model))
    pack = choose_pack(None, systems, [DataSet(path="d", format="jsonl")], tmp_path)
    assert pack is not None
    assert pack.name == "ours"
