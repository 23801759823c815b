"""Starting from another run: its tokenizer and weights; what is refused; never read again."""

import json
import os
import shutil
import signal
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from dialogist.errors import CheckpointError, ConfigError, DataError, DialogistError, ModelError
from dialogist.files import sha256_of
from dialogist.recipe.recipe_config import Recipe, RunPlace, bundled_recipes, read_recipe
from dialogist.recipe.start import find_start
from dialogist.recipe.training_run import train_recipe
from dialogist.recipe.training_set import encode_recipe
from dialogist.training.checkpoints import checkpoint_folders, load_checkpoint
from dialogist.training.runtime import Interrupted

STILL = "training.schedule={kind: constant, peak: 1e-30}"
"""A rate that changes no weight: what a run ends with is what it began with."""

SAME = ("metrics.jsonl", "samples.jsonl", "model/model.safetensors")

Make = Callable[..., Recipe]


def train(recipe: Recipe, run: Path, notes: Any, encoded: Path | None = None) -> Path:
    place = RunPlace(run.parent / "data", run, torch.device("cpu"), encoded)
    return train_recipe(recipe, place, notes)


def refusal(recipe: Recipe, run: Path, notes: Any, kind: type[Exception]) -> str:
    with pytest.raises(kind) as caught:
        train(recipe, run, notes)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, DialogistError)
    return str(caught.value)


def stop_at(step: int) -> Callable[..., None]:
    def update(progress: Any, batches: int, loss: float) -> None:
        if progress.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return update


@pytest.fixture
def first(tmp_path: Path, data: Path, recipe: Make, notes: Any) -> Path:
    """A finished run."""
    train(recipe(), tmp_path / "first", notes)
    notes.notes.clear()
    return tmp_path / "first"


@pytest.fixture
def unfinished(tmp_path: Path, data: Path, recipe: Make, notes: Any, monkeypatch: Any) -> Path:
    """A run with checkpoints only, that was stopped in its third epoch."""
    monkeypatch.setattr(notes, "update", stop_at(9), raising=False)
    with pytest.raises(Interrupted):
        train(recipe("training.epochs=5"), tmp_path / "unfinished", notes)
    monkeypatch.setattr(notes, "update", lambda *a: None, raising=False)
    notes.notes.clear()
    return tmp_path / "unfinished"


def end_of(run: Path) -> dict[str, Tensor]:
    """The weights that a run ended with."""
    last = checkpoint_folders(run / "checkpoints")[-1]
    return dict(load_checkpoint(last).tensors["weights"])


def assert_same_tokenizer(one: Path, other: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (one / name).read_bytes() == (other / name).read_bytes()


# --- what is taken ---


@pytest.mark.parametrize("where", ["first", "first/model"])
def test_everything_of_a_finished_run(
    tmp_path: Path, first: Path, recipe: Make, notes: Any, where: str
) -> None:
    """Other data and another tokenizer in the recipe: it is the first run's that is used."""
    start = str(tmp_path / where)
    fewer = "data.train=[{path: two.jsonl, format: jsonl}]"
    second = recipe(f"start={start}", STILL, fewer, "tokenizer.size=340")
    train(second, tmp_path / "second", notes)
    assert_same_tokenizer(tmp_path / "second" / "tokenizer", first / "tokenizer")
    given, taken = load_file(first / "model" / "model.safetensors"), end_of(tmp_path / "second")
    assert given.keys() == taken.keys()
    for name, weight in taken.items():
        torch.testing.assert_close(weight, given[name].float(), atol=1e-25, rtol=0)
    said = [note for note in notes.notes if note.startswith("start: ")]
    assert said[0].startswith(f"start: the tokenizer is that of {start}: bpe, ")
    assert f"{len(taken)} weights taken, 0 new, 0 left there" in said[1]
    assert len(said) == 2


def test_the_source_is_on_record(tmp_path: Path, first: Path, recipe: Make, notes: Any) -> None:
    train(recipe(f"start={first}", STILL), tmp_path / "second", notes)
    about = json.loads((tmp_path / "second" / "start.json").read_text())
    weights = first / "model" / "model.safetensors"
    assert about["path"] == str(first)
    assert about["weights"] == str(weights)
    assert about["sha256"] == sha256_of(weights)
    assert set(about["took"]) == load_file(weights).keys()
    assert about["new"] == about["left"] == []


@pytest.mark.parametrize("where", ["first", "unfinished"])
def test_another_licence_is_told(
    tmp_path: Path, data: Path, recipe: Make, notes: Any, monkeypatch: Any, where: str
) -> None:
    monkeypatch.setattr(notes, "update", stop_at(2 if where == "unfinished" else 0), raising=False)
    with pytest.raises(Interrupted) if where == "unfinished" else nullcontext():
        train(recipe("licence=cc-by-nc-sa-4.0"), tmp_path / where, notes)
    monkeypatch.setattr(notes, "update", lambda *a: None, raising=False)
    start = f"start={tmp_path / where}"
    train(recipe(start, STILL, "licence=cc-by-nc-sa-4.0"), tmp_path / "second", notes)
    assert not any("bound by it" in note for note in notes.notes)
    train(recipe(start, STILL), tmp_path / "third", notes)
    assert sum("is under cc-by-nc-sa-4.0" in note for note in notes.notes) == 1


def test_the_optimizer_begins_anew(tmp_path: Path, first: Path, recipe: Make, notes: Any) -> None:
    second = recipe(f"start={first}", "training.max_steps=1")
    train(second, tmp_path / "second", notes)
    state = load_checkpoint(checkpoint_folders(tmp_path / "second" / "checkpoints")[-1])
    assert state.state["step"] == 1
    assert {float(v) for k, v in state.tensors["optimizer"].items() if k.endswith("step")} == {1.0}


def test_a_second_stage_with_a_pointer_and_one_without(
    tmp_path: Path, first: Path, recipe: Make, notes: Any
) -> None:
    with_pointer = recipe(f"start={first}", STILL, "model.pointer=true")
    train(with_pointer, tmp_path / "second", notes)
    about = json.loads((tmp_path / "second" / "start.json").read_text())
    assert about["new"]
    assert all(name.startswith("pointer.") for name in about["new"])
    assert f"{len(about['new'])} new ({about['new'][0]}" in "".join(notes.notes)
    given, taken = load_file(first / "model" / "model.safetensors"), end_of(tmp_path / "second")
    for name, weight in given.items():
        torch.testing.assert_close(taken[name], weight.float(), atol=1e-25, rtol=0)
    without = recipe(f"start={tmp_path / 'second'}", STILL)
    train(without, tmp_path / "third", notes)
    again = json.loads((tmp_path / "third" / "start.json").read_text())
    assert (again["new"], again["left"]) == ([], about["new"])


LEADER = (
    "tokenizer={kind: word, size: null}",
    "preparation={profile: dialogsum-keras, speakers: role, key_points: customer-service-en}",
    "preparation.unknown=copied",
    "preparation.limits={utterance_tokens: 24, source_tokens: null, sub_summary_tokens: 11}",
    "model={kind: leader-writer, key_points: 51, embedding: 8, width: 16, heads: 2, pointer: true}",
    *(f"model.{part}_layers=1" for part in ("token", "utterance", "leader", "decoder")),
    "model.target_tokens=12",
)
LEARNED = "objective={kind: leader-writer}"
REWARDED = (
    "objective={kind: leader-writer, key_points: 0.25, sub_summaries: 0.25, "
    "key_points_reward: 0.25, sub_summaries_reward: 0.25, longest_plan: 3, longest_text: 4}"
)


def test_the_stage_with_reinforcement_takes_all(
    tmp_path: Path, data: Path, recipe: Make, notes: Any
) -> None:
    """Leader and Writer, pointer included; the vocabulary is one of words."""
    once = "training.max_steps=1"
    train(recipe(*LEADER, LEARNED, once), tmp_path / "first", notes)
    given = load_file(tmp_path / "first" / "model" / "model.safetensors")
    assert any(name.startswith("writer.pointer.") for name in given)
    train(
        recipe(*LEADER, REWARDED, once, STILL, f"start={tmp_path / 'first'}"),
        tmp_path / "second",
        notes,
    )
    taken = end_of(tmp_path / "second")
    assert given.keys() == taken.keys()
    for name, weight in taken.items():
        torch.testing.assert_close(weight, given[name].float(), atol=1e-25, rtol=0)
    assert f"{len(given)} weights taken, 0 new, 0 left there" in "".join(notes.notes)


# --- which checkpoint ---


def best_of(run: Path) -> str:
    state = load_checkpoint(checkpoint_folders(run / "checkpoints")[-1]).state
    return str(state["best"][0][1])


def test_an_unfinished_run_gives_its_best_checkpoint(
    tmp_path: Path, unfinished: Path, recipe: Make, notes: Any
) -> None:
    best = best_of(unfinished)
    newest = checkpoint_folders(unfinished / "checkpoints")[-1].name
    assert best != newest
    train(recipe(f"start={unfinished}", STILL), tmp_path / "second", notes)
    given = load_checkpoint(unfinished / "checkpoints" / best).tensors["weights"]
    taken = end_of(tmp_path / "second")
    for name, weight in given.items():  # fp32 to the bit, but for zeros that moved by 1e-30
        torch.testing.assert_close(taken[name], weight, atol=1e-25, rtol=0)
    about = json.loads((tmp_path / "second" / "start.json").read_text())
    assert about["weights"].endswith(f"{best}/weights.safetensors")
    assert_same_tokenizer(tmp_path / "second" / "tokenizer", unfinished / "tokenizer")


def test_a_damaged_checkpoint_is_passed_over(unfinished: Path, notes: Any) -> None:
    best = unfinished / "checkpoints" / best_of(unfinished)
    newest = checkpoint_folders(unfinished / "checkpoints")[-1]
    (best / "weights.safetensors").write_bytes(b"no weights")
    found = find_start(str(unfinished), notes.note)
    assert found.weights_file == newest / "weights.safetensors"
    assert any("is damaged" in note and "trying another one" in note for note in notes.notes)
    for folder in checkpoint_folders(unfinished / "checkpoints"):
        (folder / "weights.safetensors").write_bytes(b"no weights")
    with pytest.raises(CheckpointError, match="neither a model nor a whole checkpoint"):
        find_start(str(unfinished), notes.note)


def test_without_scores_the_newest(
    tmp_path: Path, data: Path, recipe: Make, notes: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(notes, "update", stop_at(2), raising=False)
    with pytest.raises(Interrupted):
        train(recipe(), tmp_path / "run", notes)
    found = find_start(str(tmp_path / "run"), notes.note)
    assert found.weights_file.parent == checkpoint_folders(tmp_path / "run" / "checkpoints")[-1]


def test_one_checkpoint_by_its_own_path(unfinished: Path, notes: Any, monkeypatch: Any) -> None:
    one = checkpoint_folders(unfinished / "checkpoints")[0]
    monkeypatch.chdir(one.parent)
    found = find_start(one.name, notes.note)
    assert found.tokenizer == unfinished / "tokenizer"
    assert found.sha256 == sha256_of(one / "weights.safetensors")


# --- going on ---


def test_a_run_goes_on_to_the_same_bits_without_its_source(
    tmp_path: Path, first: Path, recipe: Make, notes: Any, monkeypatch: Any
) -> None:
    second = recipe(f"start={first}")
    train(second, tmp_path / "straight", notes)
    monkeypatch.setattr(notes, "update", stop_at(3), raising=False)
    with pytest.raises(Interrupted):
        train(second, tmp_path / "cut", notes)
    monkeypatch.setattr(notes, "update", lambda *a: None, raising=False)
    record = (tmp_path / "cut" / "start.json").read_bytes()
    shutil.rmtree(first)
    notes.notes.clear()
    train(second, tmp_path / "cut", notes)
    assert any("resumed at update 3 " in note for note in notes.notes)
    assert not any("start" in note for note in notes.notes)
    for name in SAME:
        one, other = (tmp_path / run / name for run in ("cut", "straight"))
        assert one.read_bytes() == other.read_bytes(), name
    assert (tmp_path / "cut" / "start.json").read_bytes() == record


def test_before_the_first_checkpoint_it_starts_again(
    tmp_path: Path, first: Path, recipe: Make, notes: Any
) -> None:
    """Nothing of another start is left: neither tokenizer nor record."""
    train(recipe("tokenizer.size=340"), tmp_path / "other", notes)
    train(recipe(f"start={tmp_path / 'other'}", STILL), tmp_path / "second", notes)
    shutil.rmtree(tmp_path / "second" / "checkpoints")
    train(recipe(f"start={first}", STILL), tmp_path / "second", notes)
    assert_same_tokenizer(tmp_path / "second" / "tokenizer", first / "tokenizer")
    about = json.loads((tmp_path / "second" / "start.json").read_text())
    assert about["path"] == str(first)
    shutil.rmtree(tmp_path / "second" / "checkpoints")
    train(recipe(STILL), tmp_path / "second", notes)
    assert not (tmp_path / "second" / "start.json").exists()
    said = refusal(recipe(f"start={first}"), tmp_path / "second", notes, CheckpointError)
    assert f"start: None there, '{str(first)[:40]}" in said  # a long value is cut


# --- what is refused ---


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("preparation.profile=dialogsum-keras", "preparation.profile: 'plain' there"),
        ("preparation.speakers=inline", "preparation.speakers: 'atomic' there, 'inline' now"),
        ("preparation.entities=masked", "preparation.entities: 'none' there, 'masked' now"),
    ],
)
def test_tokens_that_would_mean_something_else(
    tmp_path: Path, first: Path, recipe: Make, notes: Any, setting: str, named: str
) -> None:
    more = "tokenizer.size=600"  # room for the entities' placeholders
    second = recipe(f"start={first}", setting, more)
    said = refusal(second, tmp_path / "second", notes, ConfigError)
    assert said.startswith(f"start: {first}: ")
    assert named in said
    assert not (tmp_path / "second" / "tokenizer").exists()


def test_other_settings_are_told(tmp_path: Path, first: Path, recipe: Make, notes: Any) -> None:
    others = ("preparation.merge_below=null", "preparation.limits.source_tokens=20")
    train(recipe(f"start={first}", STILL, *others), tmp_path / "second", notes)
    [said] = [note for note in notes.notes if "was prepared otherwise" in note]
    assert "preparation.limits.source_tokens: 24 there, 20 now" in said
    assert "preparation.merge_below: 15 there, None now" in said


def packed(folder: Path, *labels: str) -> str:
    """A rule pack with these labels; the first is its default."""
    rules = "".join(
        f"  - {{label: {name}, pattern: '{name}', examples: ['{name}']}}\n" for name in labels
    )
    head = f"name: {folder.name}\nlanguage: en\nversion: 1\ndefault: {labels[0]}\n"
    path = folder.with_suffix(".yaml")
    path.write_text(f"{head}rules:\n{rules}")
    return str(path)


def test_key_points_must_be_the_same_where_both_have_them(
    tmp_path: Path, data: Path, recipe: Make, notes: Any
) -> None:
    one, other = packed(tmp_path / "one", "meet", "ann"), packed(tmp_path / "other", "bo", "meet")
    brief = "training.max_steps=1"
    train(recipe(brief, f"preparation.key_points={one}"), tmp_path / "first", notes)
    (tmp_path / "one.yaml").rename(tmp_path / "moved.yaml")  # the model has its own copy
    start = f"start={tmp_path / 'first'}"
    said = refusal(
        recipe(start, f"preparation.key_points={other}"), tmp_path / "a", notes, ConfigError
    )
    assert "the labels of preparation.key_points" in said
    moved = f"preparation.key_points={tmp_path / 'moved.yaml'}"
    train(recipe(start, moved, brief), tmp_path / "b", notes)
    train(recipe(start, brief), tmp_path / "c", notes)
    assert any("preparation.key_points: " in note for note in notes.notes)


def test_a_weight_of_another_shape_is_named(
    tmp_path: Path, first: Path, recipe: Make, notes: Any
) -> None:
    wider = recipe(f"start={first}", "model.feed_forward=48")
    said = refusal(wider, tmp_path / "second", notes, ModelError)
    assert said.startswith(f"start: {first}: the weight 'encoder.layers.0.feed_forward.inner")
    assert "(32, 16)" in said or "(32,)" in said
    assert not (tmp_path / "second" / "start.json").exists()


def test_words_cannot_be_copied_with_pieces(
    tmp_path: Path, first: Path, recipe: Make, notes: Any
) -> None:
    copying = ("tokenizer={kind: word, size: null}", "preparation.unknown=copied")
    second = recipe(f"start={first}", *copying, "model.pointer=true")
    said = refusal(second, tmp_path / "second", notes, ConfigError)
    assert "its tokenizer is of kind bpe" in said


@pytest.mark.parametrize("there", ["nothing", "empty", "model without weights"])
def test_no_model_to_start_from(
    tmp_path: Path, first: Path, recipe: Make, notes: Any, there: str
) -> None:
    path = tmp_path / "source"
    if there == "empty":
        path.mkdir()
    elif there != "nothing":
        shutil.copytree(first / "model", path)
        (path / "model.safetensors").write_bytes(b"no weights")
    said = refusal(recipe(f"start={path}"), tmp_path / "second", notes, ModelError)
    assert str(path) in said


def test_a_further_stage_needs_a_model(
    tmp_path: Path, first: Path, recipe: Make, notes: Any
) -> None:
    stage = ("continues=first-stage", "training.max_steps=1")
    said = refusal(recipe(*stage), tmp_path / "second", notes, ConfigError)
    assert "goes on from a trained first-stage: say --from MODEL" in said
    assert not (tmp_path / "second").exists()
    assert train(recipe(*stage, "continues=null"), tmp_path / "nothing", notes).is_dir()
    assert train(recipe(*stage, f"start={first}"), tmp_path / "second", notes).is_dir()


def test_a_run_goes_on_when_its_recipe_has_come_to_say_what_it_continues(
    tmp_path: Path, first: Path, recipe: Make, notes: Any
) -> None:
    settings = (f"start={first}", "training.max_steps=1")
    before = train(recipe(*settings), tmp_path / "second", notes)
    assert train(recipe(*settings, "continues=first-stage"), tmp_path / "second", notes) == before


@pytest.mark.parametrize("name", bundled_recipes())
def test_what_a_bundled_recipe_continues_is_bundled(name: str) -> None:
    continued = read_recipe(name).continues
    assert continued is None or continued in bundled_recipes()


# --- data that were encoded before ---


def test_encoded_data_need_the_same_tokenizer(
    tmp_path: Path, first: Path, recipe: Make, notes: Any
) -> None:
    encode_recipe(recipe(), tmp_path / "data", tmp_path / "encoded", notes.note)
    train(recipe(f"start={first}"), tmp_path / "memory", notes)
    train(recipe(f"start={first}"), tmp_path / "shards", notes, tmp_path / "encoded")
    for name in SAME:
        one, other = (tmp_path / run / name for run in ("memory", "shards"))
        assert one.read_bytes() == other.read_bytes(), name
    train(recipe("tokenizer.size=340"), tmp_path / "other", notes)
    third = recipe(f"start={tmp_path / 'other'}")
    with pytest.raises(DataError) as caught:
        train(third, tmp_path / "third", notes, tmp_path / "encoded")
    assert "was encoded with another tokenizer than that of" in str(caught.value)
    assert "\n" not in str(caught.value)
