"""Training from shards: the same run as from memory, and no run from the wrong ones."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist.data.shards import read_manifest
from dialogist.errors import CheckpointError, DataError
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.training_run import train_recipe
from dialogist.recipe.training_set import encode_recipe
from dialogist.training.runtime import Interrupted

SAME = ("metrics.jsonl", "samples.jsonl", "config.yaml", "model/model.safetensors")

Make = Callable[..., Recipe]


@pytest.fixture
def encoded(tmp_path: Path, data: Path, recipe: Make, notes: Any) -> Path:
    encode_recipe(recipe(), data, tmp_path / "encoded", notes.note, shard_tokens=100)
    notes.notes.clear()
    return tmp_path / "encoded"


def train(recipe: Recipe, run: Path, notes: Any, encoded: Path | None) -> Path:
    place = RunPlace(run.parent / "data", run, torch.device("cpu"), encoded)
    return train_recipe(recipe, place, notes)


def refusal(*arguments: Any, kind: type[Exception] = DataError) -> str:
    with pytest.raises(kind) as caught:
        train(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def assert_same(one: Path, other: Path) -> None:
    for name in SAME:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
        assert (one / name).stat().st_size > 0
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (one / "tokenizer" / name).read_bytes() == (other / "tokenizer" / name).read_bytes()


def test_the_same_run_as_from_memory(tmp_path, encoded, recipe, notes):
    """Losses, scores, samples and weights, of another folder than the one that was encoded in."""
    memory, sharded = tmp_path / "memory", tmp_path / "sharded"
    train(recipe(), memory, notes, None)
    moved = tmp_path / "elsewhere" / "encoded"
    shutil.copytree(encoded, moved)
    shutil.rmtree(encoded)
    for name in ("one.jsonl", "two.jsonl", "out.txt"):  # no longer needed
        (tmp_path / "data" / name).unlink()
    train(recipe(), sharded, notes, moved)
    assert_same(sharded, memory)
    assert b"train_rougeL" in (sharded / "metrics.jsonl").read_bytes()
    assert any("checking" in note and "shards" in note for note in notes.notes)


def stop_at(step: int) -> Callable[..., None]:
    def update(progress: Any, batches: int, loss: float) -> None:
        if progress.step == step:
            os.kill(os.getpid(), signal.SIGTERM)

    return update


@pytest.mark.parametrize("first", ["memory", "shards"])
def test_a_run_goes_on_where_its_pairs_are(tmp_path, encoded, recipe, notes, monkeypatch, first):
    """It may even change over: the pairs are the same, and so is their fingerprint."""
    train(recipe(), tmp_path / "straight", notes, encoded)
    monkeypatch.setattr(notes, "update", stop_at(3), raising=False)
    one, other = (None, encoded) if first == "memory" else (encoded, None)
    with pytest.raises(Interrupted):
        train(recipe(), tmp_path / "cut", notes, one)
    monkeypatch.undo()
    train(recipe(), tmp_path / "cut", notes, other)
    assert any("resumed at update 3 " in note for note in notes.notes)
    assert_same(tmp_path / "cut", tmp_path / "straight")


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("preparation.merge_below=9", "preparation.merge_below: 15 there, 9 now"),
        ("preparation.limits.source_tokens=20", "preparation.limits.source_tokens"),
        ("tokenizer.size=340", "tokenizer.size: 330 there, 340 now"),
        ("data.train=[{path: two.jsonl, format: jsonl}]", "train: "),
    ],
)
def test_shards_of_another_recipe(tmp_path, encoded, recipe, notes, setting, named):
    said = refusal(recipe(setting), tmp_path / "run", notes, encoded)
    assert "was encoded with other settings" in said
    assert named in said
    assert not (tmp_path / "run" / "tokenizer").exists()


def test_other_training_settings_do_not_matter(tmp_path, encoded, recipe, notes):
    changed = recipe("training.epochs=1", "model.dropout=0.0")
    train(changed, tmp_path / "run", notes, encoded)
    assert (tmp_path / "run" / "metrics.jsonl").exists()


def test_data_that_have_changed_since(tmp_path, encoded, recipe, notes):
    with (tmp_path / "data" / "two.jsonl").open("a") as file:
        file.write('{"turns": [["A", "more"]], "summary": "more"}\n')
    said = refusal(recipe(), tmp_path / "run", notes, encoded)
    assert "two.jsonl: has changed since it was encoded" in said


def test_more_of_a_sample_than_was_kept(tmp_path, data, recipe, notes):
    lines = (data / "one.jsonl").read_text().splitlines(keepends=True)
    (data / "one.jsonl").write_text("".join(lines * 12))
    encode_recipe(recipe(), data, tmp_path / "encoded", notes.note)
    more = recipe("validation.train_examples=101")
    said = refusal(more, tmp_path / "run", notes, tmp_path / "encoded")
    assert "set it to at most 100, or encode again" in said
    none = recipe("validation.train_examples=0", "training.max_steps=1")
    train(none, tmp_path / "run", notes, tmp_path / "encoded")


def test_a_damaged_shard(tmp_path, encoded, recipe, notes):
    path = encoded / "shard-00001.tokens"
    content = bytearray(path.read_bytes())
    content[7] ^= 1
    path.write_bytes(content)
    said = refusal(recipe(), tmp_path / "run", notes, encoded)
    assert "shard-00001.tokens: is damaged" in said


@pytest.mark.parametrize("name", ["sample.jsonl", "tokenizer/tokenizer.json"])
def test_damage_beside_the_shards(tmp_path, encoded, recipe, notes, name):
    content = (encoded / name).read_bytes()
    (encoded / name).write_bytes(content[:-1] + b" ")
    assert name in refusal(recipe(), tmp_path / "run", notes, encoded)
    (encoded / name).unlink()
    assert "is missing" in refusal(recipe(), tmp_path / "run", notes, encoded)


def test_an_encoding_that_is_not_complete(tmp_path, encoded, recipe, notes):
    manifest = read_manifest(encoded)
    manifest.model_copy(update={"complete": False}).save(encoded)
    said = refusal(recipe(), tmp_path / "run", notes, encoded)
    assert "run the same dialogist data encode again" in said


def test_a_run_with_another_tokenizer(tmp_path, encoded, recipe, notes):
    train(recipe(), tmp_path / "run", notes, encoded)
    path = tmp_path / "run" / "tokenizer" / "tokenizer.json"
    path.write_text(path.read_text() + "\n")
    said = refusal(recipe(), tmp_path / "run", notes, encoded, kind=CheckpointError)
    assert "has another tokenizer" in said
