"""Encoding to shards: the same data as in memory, whatever happens on the way."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist.data.prepare import Preparation
from dialogist.data.shards import ShardedPairs, read_manifest
from dialogist.errors import ConfigError, DataError, UsageError
from dialogist.files import alone_in
from dialogist.recipe.recipe_config import Recipe, RunPlace
from dialogist.recipe.training_set import EncodingSettings, encode_recipe, training_set
from dialogist.training.runtime import Interrupted


def test_killed_at_every_moment_it_ends_with_the_same_files(tmp_path: Path) -> None:
    script = Path(__file__).with_name("killed_encode.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 30  # tokenizer, manifest, and three files a shard
    assert len(read_manifest(tmp_path / "straight").shards) >= 3


Make = Callable[..., Recipe]


def place(tmp_path: Path, encoded: Path | None = None) -> RunPlace:
    run = tmp_path / ("run" if encoded is None else "sharded")
    run.mkdir(exist_ok=True)
    return RunPlace(tmp_path / "data", run, torch.device("cpu"), encoded)


def test_it_is_what_training_reads_itself(tmp_path: Path, data: Path, recipe: Make, notes: Any):
    folder = tmp_path / "encoded"
    manifest = encode_recipe(recipe(), data, folder, notes.note, shard_tokens=100)
    assert len(manifest.shards) > 3
    said = list(notes.notes)
    notes.notes.clear()
    memory = training_set(recipe(), place(tmp_path), notes.note)
    assert set(said) == {note for note in notes.notes if not note.startswith("train: ")}
    shards = training_set(recipe(), place(tmp_path, folder), notes.note)
    assert list(shards.data.pairs) == list(memory.data.pairs)
    assert shards.data.fingerprint() == memory.data.fingerprint()
    assert shards.data.symbols == memory.data.symbols
    assert shards.sample == memory.sample
    assert len(shards.sample) == 4
    for name in ("tokenizer.json", "tokenizer_config.json"):
        one, other = (tmp_path / run / "tokenizer" / name for run in ("run", "sharded"))
        assert one.read_bytes() == other.read_bytes()
    cuts = [note for note in notes.notes if note.startswith("train: ")]
    assert len(cuts) == 2
    assert cuts[0] == cuts[1]


def test_what_was_left_out_is_told_and_counted(tmp_path, data, recipe, notes):
    manifest = encode_recipe(recipe(), data, tmp_path / "encoded", notes.note)
    assert [one.model_dump() for one in manifest.sets] == [
        {"path": "one.jsonl", "dialogues": 15, "bad": 1, "excluded": 1},
        {"path": "two.jsonl", "dialogues": 8, "bad": 1, "excluded": 0},
    ]
    assert manifest.summed().dialogues == 23
    assert manifest.summed().pairs == 11 + 2 * 4 + 4
    assert sum("one.jsonl:4: " in note for note in notes.notes) == 1
    assert any("one.jsonl: 1 bad record left out" in note for note in notes.notes)
    assert any("1 row excluded by out.txt" in note for note in notes.notes)


def test_a_complete_folder_is_left_as_it_is(tmp_path, data, recipe, notes):
    folder = tmp_path / "encoded"
    first = encode_recipe(recipe(), data, folder, notes.note)
    times = {path: path.stat().st_mtime_ns for path in folder.glob("[!.]*")}
    notes.notes.clear()
    assert encode_recipe(recipe(), data, folder, notes.note) == first
    assert any("is complete already" in note for note in notes.notes)
    assert {path: path.stat().st_mtime_ns for path in times} == times


@pytest.mark.parametrize(
    ("setting", "named"),
    [
        ("preparation.merge_below=9", "preparation.merge_below: 15 there, 9 now"),
        ("tokenizer.size=340", "tokenizer.size"),
        ("data.train=[{path: two.jsonl, format: jsonl}]", "train"),
        ("validation.train_examples=500", "sample: 100 there, 500 now"),
    ],
)
def test_another_recipe_is_refused(tmp_path, data, recipe, notes, setting, named):
    folder = tmp_path / "encoded"
    encode_recipe(recipe(), data, folder, notes.note)
    with pytest.raises(DataError) as caught:
        encode_recipe(recipe(setting), data, folder, notes.note)
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_does_not_touch_the_data_may_change(tmp_path, data, recipe, notes):
    folder = tmp_path / "encoded"
    before = encode_recipe(recipe(), data, folder, notes.note)
    changed = recipe("training.epochs=9", "model.dropout=0.3")
    assert encode_recipe(changed, data, folder, notes.note) == before
    assert notes.notes[-1] == f"{folder}: is complete already"


def test_changed_input_is_refused(tmp_path, data, recipe, notes):
    folder = tmp_path / "encoded"
    encode_recipe(recipe(), data, folder, notes.note)
    path = data / "two.jsonl"
    path.write_text(path.read_text().replace("variant 0", "variant 1"))
    with pytest.raises(DataError, match=r"files\.two\.jsonl\.sha256"):
        encode_recipe(recipe(), data, folder, notes.note)


def test_another_shard_size_is_refused_an_impossible_one_too(tmp_path, data, recipe, notes):
    folder = tmp_path / "encoded"
    encode_recipe(recipe(), data, folder, notes.note, 200)
    with pytest.raises(DataError, match="shard_tokens: 200 there, 300 now"):
        encode_recipe(recipe(), data, folder, notes.note, 300)
    with pytest.raises(ConfigError, match="shard_tokens"):
        encode_recipe(recipe(), data, tmp_path / "new", notes.note, 1 << 31)
    assert not (tmp_path / "new").exists()


def test_a_folder_of_something_else_is_refused(tmp_path, data, recipe, notes):
    with pytest.raises(DataError, match="is not empty"):
        encode_recipe(recipe(), data, data, notes.note)
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        encode_recipe(recipe(), data, tmp_path / "file", notes.note)


def test_two_at_once_are_refused(tmp_path, data, recipe, notes):
    folder = tmp_path / "encoded"
    folder.mkdir()
    with alone_in(folder, "encoding"), pytest.raises(UsageError, match="encoding here"):
        encode_recipe(recipe(), data, folder, notes.note)


def test_missing_files_are_seen_before_anything_is_written(tmp_path, data, recipe, notes):
    (data / "two.jsonl").unlink()
    with pytest.raises(DataError, match=r"two\.jsonl: no such data file"):
        encode_recipe(recipe(), data, tmp_path / "encoded", notes.note)
    assert not (tmp_path / "encoded").exists()


def test_no_summaries(tmp_path, data, recipe, notes):
    line = json.dumps({"id": "a", "turns": [["A", "hello there"], ["B", "hi"]]})
    (data / "two.jsonl").write_text(line + "\n")
    only = recipe("data.train=[{path: two.jsonl, format: jsonl}]")
    with pytest.raises(DataError, match="no training pairs"):
        encode_recipe(only, data, tmp_path / "encoded", notes.note)


def test_a_damaged_tokenizer_is_not_gone_on_with(tmp_path, data, recipe, notes):
    folder = tmp_path / "encoded"
    encode_recipe(recipe(), data, folder, notes.note)
    manifest = read_manifest(folder)
    manifest.model_copy(update={"complete": False, "totals": None}).save(folder)
    path = folder / "tokenizer" / "tokenizer_config.json"
    path.write_text(path.read_text() + " ")
    with pytest.raises(DataError, match=r"tokenizer_config\.json"):
        encode_recipe(recipe(), data, folder, notes.note)


@pytest.mark.parametrize("moment", ["first", "second"])
def test_a_signal_stops_either_pass(tmp_path, data, recipe, notes, monkeypatch, moment):
    """In the pass of the tokenizer trainer, which is native code, and in that of the encoder."""
    prepare, count = Preparation.prepare, 0

    def interrupting(self, dialogue):
        nonlocal count
        count += 1
        if count == (3 if moment == "first" else 23 + 3):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.1)  # the main thread, in native code in the first pass, has to wake up
        return prepare(self, dialogue)

    monkeypatch.setattr(Preparation, "prepare", interrupting)
    folder = tmp_path / "encoded"
    with pytest.raises(Interrupted) as caught:
        encode_recipe(recipe(), data, folder, notes.note, 100)
    assert caught.value.exit_code == 130
    assert (folder / "tokenizer").exists() == (moment == "second")
    monkeypatch.undo()
    manifest = encode_recipe(recipe(), data, folder, notes.note, 100)
    straight = encode_recipe(recipe(), data, tmp_path / "straight", notes.note, 100)
    assert manifest == straight
    assert list(ShardedPairs(folder)) == list(ShardedPairs(tmp_path / "straight"))


def test_settings_of_another_release(tmp_path, data, recipe, notes):
    manifest = encode_recipe(recipe(), data, tmp_path / "encoded", notes.note)
    other = manifest.model_copy(update={"settings": {**manifest.settings, "unheard_of": 1}})
    with pytest.raises(DataError, match="another release"):
        EncodingSettings.of(other, tmp_path)
