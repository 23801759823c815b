"""Model folders: ``models pack``, ``average``, ``export``, and one without a network."""

import json
import sys
from pathlib import Path
from unittest import mock

import pytest
import torch
from tests.command import CommandLine

from dialogist.model_folder.bundle import describe, load_bundle


@pytest.mark.parametrize(
    ("weights", "stored"), [("int8", ["F16", "F32", "I8"]), ("fp16", ["F16"]), ("bf16", ["BF16"])]
)
def test_pack(
    dialogist: CommandLine, tiny_model: Path, tmp_path: Path, weights: str, stored: list[str]
) -> None:
    done = dialogist("models", "pack", tiny_model, "--output", "small", "--weights", weights)
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"small: 0." in done.stderr
    assert describe(tmp_path / "small")["stored_as"] == stored
    assert (tmp_path / "small" / "README.md").read_bytes() == (
        tiny_model / "README.md"
    ).read_bytes()
    one, other = (load_bundle(f, torch.device("cpu")) for f in (tiny_model, tmp_path / "small"))
    assert one.decoding == other.decoding
    for mine, theirs in zip(one.model.parameters(), other.model.parameters(), strict=True):
        torch.testing.assert_close(theirs, mine, atol=0.02, rtol=0.02)


def test_int8_is_the_default_and_can_be_packed_again(
    dialogist: CommandLine, tiny_model: Path, tmp_path: Path
) -> None:
    assert dialogist("models", "pack", tiny_model, "-o", "a").returncode == 0
    assert dialogist("models", "pack", "./a", "-o", "b").returncode == 0
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in "ab"]
    assert weights[0] == weights[1]  # what was rounded once stays


def test_average(dialogist: CommandLine, tiny_model: Path, tmp_path: Path) -> None:
    assert dialogist("models", "pack", tiny_model, "-o", "a", "--weights", "fp16").returncode == 0
    (tmp_path / "a" / "README.md").write_text("---\nlicense: mit\n---\n# a\n", encoding="utf-8")
    done = dialogist("models", "average", "./a", "./a", "-o", "mean")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"mean: the mean of 2 models" in done.stderr
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("a", "mean")]
    assert weights[0] == weights[1]
    card = (tmp_path / "mean" / "README.md").read_text(encoding="utf-8")
    assert "The mean of the weights of 2 models:\n\n* ./a\n* ./a\n" in card
    assert card.startswith("---\nlicense: mit\n---\n# mean\n")
    assert card.endswith("included.\n\n# a\n")
    assert describe(tmp_path / "mean")["about"]["mean_of"] == ["./a", "./a"]


def test_what_is_made_of_a_model_inherits_its_licence(
    dialogist: CommandLine, tiny_model: Path, tmp_path: Path
) -> None:
    for name, licence in (("a", "cc-by-nc-4.0"), ("b", "apache-2.0")):
        assert (
            dialogist("models", "pack", tiny_model, "-o", name, "--weights", "fp16").returncode == 0
        )
        config = json.loads((tmp_path / name / "config.json").read_text())
        config["about"]["licence"] = licence
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        (tmp_path / name / "README.md").write_text(f"---\nlicense: {licence}\n---\n# {name}\n")
        (tmp_path / name / "LICENSE").write_text(licence)
    assert dialogist("models", "pack", "./a", "-o", "small").returncode == 0
    assert describe(tmp_path / "small")["licence"] == "cc-by-nc-4.0"
    assert (tmp_path / "small" / "LICENSE").read_text() == "cc-by-nc-4.0"
    assert dialogist("models", "average", "./a", "./b", "-o", "mean").returncode == 0
    mean = tmp_path / "mean"
    assert describe(mean)["licence"] == "cc-by-nc-4.0 AND apache-2.0"
    assert "license: cc-by-nc-4.0 AND apache-2.0\n" in (mean / "README.md").read_text()
    assert [(mean / f).read_text() for f in ("LICENSE", "LICENSE.2")] == [
        "cc-by-nc-4.0",
        "apache-2.0",
    ]
    info = dialogist("models", "info", "./mean").stdout.decode()
    assert "CC-BY-NC-4.0 AND Apache-2.0 (not for commercial use)" in info
    assert "style        free: its network writes" in info


def test_one_model_has_no_mean_and_nothing_is_overwritten(
    dialogist: CommandLine, tiny_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    done = dialogist("models", "average", tiny_model, "-o", "x")
    assert done.returncode == 2
    assert b"name two or more" in done.stderr
    done = dialogist("models", "average", tiny_model, tiny_model, "-o", "mine")
    assert done.returncode == 2
    assert b"mine: is there already" in done.stderr


def test_nothing_is_overwritten(dialogist: CommandLine, tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for command in ("pack", "export"):
        done = dialogist("models", command, tiny_model, "-o", "mine")
        assert done.returncode == 2
        assert b"mine: is there already" in done.stderr
        done = dialogist("models", command, tiny_model, "-o", "no/where")
        assert done.returncode == 2
        assert b"parent folder does not exist" in done.stderr
    assert list((tmp_path / "mine").iterdir()) == []
    assert dialogist("models", "pack", "nowhere", "-o", "x").returncode == 1


def test_export(dialogist: CommandLine, tiny_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2")
    done = dialogist("models", "export", tiny_model, "-o", "fast")
    assert done.returncode == 0
    names = {path.name for path in (tmp_path / "fast").iterdir()}
    assert {"model.bin", "config.json", "tokenizer.json"} <= names


def test_export_without_the_engine(
    dialogist: CommandLine, tiny_model: Path, tmp_path: Path
) -> None:
    missing = {"ctranslate2": None, "ctranslate2.specs": None}
    with mock.patch.dict(sys.modules, missing):
        done = dialogist("models", "export", tiny_model, "-o", "fast")
    assert done.returncode == 1
    assert b"pip install 'ctranslate2>=" in done.stderr
    assert not (tmp_path / "fast").exists()


def test_open_says_what_default_says_and_has_no_network(
    dialogist: CommandLine, tmp_path: Path
) -> None:
    said = "Ann: My router is broken, order 4711.\nBo: I will send you a new one on Monday.\n"
    (tmp_path / "call.txt").write_text(said, encoding="utf-8")
    ours, theirs = (
        json.loads(dialogist("summarize", "call.txt", "-f", "json", "-m", model).stdout)[0]
        for model in ("open", "default")
    )
    assert ours.pop("model") == "open"
    assert theirs.pop("model") == "default"
    assert ours.pop("timings")
    assert theirs.pop("timings")
    assert ours == theirs
    assert ours["licence"] == "Apache-2.0"

    facts = json.loads(dialogist("models", "info", "open", "-f", "json").stdout)
    assert (facts["kind"], facts["model"], facts["licence"]) == ("selector", None, "apache-2.0")
    assert facts["parameters"] > 1_000_000
    for refused, code in (
        (("summarize", "call.txt", "-m", "open", "--style", "free"), 2),
        (("models", "pack", "open", "-o", "packed"), 1),
    ):
        done = dialogist(*refused)
        assert done.returncode == code
        assert b"open: has no network" in done.stderr
        assert done.stderr.count(b"\n") == 1


def test_open_is_measured_by_its_statements(dialogist: CommandLine, tmp_path: Path) -> None:
    turns = [["Ann", "My router is broken."], ["Bo", "I will send you a new one on Monday."]]
    pair = {"id": "1", "turns": [{"speaker": a, "text": b} for a, b in turns]}
    pair["summary"] = "Ann's router is broken. Bo will send a new one on Monday."
    (tmp_path / "dev.jsonl").write_text(json.dumps(pair) + "\n", encoding="utf-8")
    done = dialogist("evaluate", "open", "dev.jsonl", "--metrics", "rouge", "-f", "json")
    assert done.returncode == 0, done.stderr
    assert b"measured in free style" not in done.stderr
    assert json.loads(done.stdout)["dialogues"] == 1
    kept = (tmp_path / "open.dev.predictions.jsonl").read_text(encoding="utf-8")
    assert "Ann's router is broken." in kept
