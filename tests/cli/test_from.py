"""``dialogist train --from``: the flag, its refusals, and a checkpoint taken to another folder."""

import json
import shutil
from pathlib import Path

import pytest

SETTINGS = {
    "model": {
        "d_model": 16,
        "heads": 2,
        "feed_forward": 32,
        "encoder_layers": 1,
        "decoder_layers": 1,
    },
    "tokenizer": {"kind": "word", "size": None},
    "preparation": {"profile": "dialogsum-keras"},
    "training": {"epochs": 2, "sampler": {"kind": "token-bucket", "tokens": 256}},
    "validation": {"train_examples": 0},
}


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    rows = []
    for i in range(24):
        turns = [["Ann", f"Shall we meet at {i}?"], ["Bo", "Yes, gladly."], ["Ann", "Fine."]]
        rows.append({"id": str(i), "turns": turns, "summary": f"Ann and Bo will meet at {i}."})
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "vectors.txt").write_text("".join(f"{w} {'0.25 ' * 16}\n" for w in ("meet", "yes")))
    data = {"data": {"train": [{"path": "train.jsonl"}]}}
    (tmp_path / "recipe.yaml").write_text(json.dumps(data | SETTINGS))
    return tmp_path / "recipe.yaml"


def model(folder: Path) -> bytes:
    return (folder / "model" / "model.safetensors").read_bytes()


def test_a_second_run_from_the_first(dialogist, recipe, tmp_path):
    """A folder whose name YAML would read as a number, and the recipe's own key."""
    train = ("train", recipe, "--data", tmp_path)
    assert dialogist(*train, "-o", "2024").returncode == 0
    again = dialogist(*train, "-o", "second", "--from", "2024")
    assert again.returncode == 0, again.stderr.decode()
    assert b"start: the tokenizer is that of 2024: word, " in again.stderr
    assert b" weights taken, 0 new, 0 left there (2024/model/model.safetensors)" in again.stderr
    assert again.stdout == b"second/model\n"
    set_so = dialogist(*train, "-o", "third", "--set", "start='2024'")
    assert set_so.returncode == 0, set_so.stderr.decode()
    assert model(tmp_path / "third") == model(tmp_path / "second") != model(tmp_path / "2024")
    # going on needs the first run no more, here or in another folder
    shutil.rmtree(tmp_path / "2024")
    done = dialogist(*train, "-o", "second", "--from", "2024")
    assert done.returncode == 0
    assert b"resumed" in done.stderr
    assert b"start:" not in done.stderr
    checkpoint = min((tmp_path / "second" / "checkpoints").glob("step-*"))
    moved = dialogist(*train, "--from", "2024", "--resume", checkpoint, "-o", "moved")
    assert moved.returncode == 0, moved.stderr.decode()
    assert model(tmp_path / "moved") == model(tmp_path / "second")
    records = [(tmp_path / run / "start.json").read_bytes() for run in ("second", "moved")]
    assert records[0] == records[1]


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [
        (("--from", "nowhere"), 1, b"'nowhere': no such folder and no model of that name"),
        (("--from", "."), 1, b"is no model folder"),
        (("--from", "x", "--set", "vectors.path=v.txt"), 2, b"leave 'vectors' out"),
        (("--from", ""), 2, b"key 'start'"),
    ],
)
def test_refusals_are_one_line(dialogist, recipe, tmp_path, flags, code, said):
    result = dialogist("train", recipe, "--data", tmp_path, "-o", "run", *flags)
    assert result.returncode == code
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_a_checkpoint_goes_on_elsewhere_with_its_vectors(dialogist, recipe, tmp_path):
    train = ("train", recipe, "--data", tmp_path, "--set", "vectors.path=vectors.txt")
    train += ("--set", "vectors.frozen=true")
    first = dialogist(*train, "-o", "first")
    assert first.returncode == 0, first.stderr.decode()
    assert b"2 rows of width 16; 2 of " in first.stderr
    checkpoint = min((tmp_path / "first" / "checkpoints").glob("step-*"))
    (tmp_path / "vectors.txt").unlink()
    again = dialogist(*train, "--resume", checkpoint, "-o", "again")
    assert again.returncode == 0, again.stderr.decode()
    assert model(tmp_path / "again") == model(tmp_path / "first")
