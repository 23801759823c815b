"""``dialogist compare``: what it refuses, what it leaves out, and what the exit code says."""

import sys
from pathlib import Path
from unittest import mock

import pytest

from .comparing import DATA, FLAT, base, compare, furnish, write


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return furnish(tmp_path_factory.mktemp("compare"))


def test_a_failing_system_does_not_stop_the_others(place: Path, tmp_path: Path) -> None:
    data = {**DATA, "train": [{"path": "nowhere.jsonl"}]}
    broken = write(tmp_path, "broken", FLAT, data=data)
    found = compare(broken, "lead-1", *base(place), "--format", "json")
    assert found.code == 1
    assert list(found.rows) == ["lead-1"]
    [failed] = found.json["failed"]
    assert failed["system"] == "broken"
    assert "nowhere.jsonl: no such data file" in failed["error"]
    told = [line for line in found.err.splitlines() if "failed" in line]
    assert told == [f"dialogist: broken: failed: {failed['error']}"]


def test_even_a_bug_in_one_system_does_not(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dialogist.baselines.extractive import Extractive

    def fails(self: Extractive, dialogues: object, options: object = None) -> None:
        raise RuntimeError("out of\n\x1b memory")

    monkeypatch.setattr(Extractive, "summarize", fails)
    arguments = ("lead-1", "constant-dialogsum", "--on", place / "dev.jsonl", "--format", "json")
    found = compare(*arguments, "--runs", place / "other")
    assert found.code == 1
    assert "unexpected RuntimeError: out of memory" in found.json["failed"][0]["error"]
    assert list(found.rows) == ["constant-dialogsum"]
    monkeypatch.setenv("DIALOGIST_DEBUG", "1")
    stopped = compare(*arguments, "--runs", place / "other")
    assert (stopped.code, stopped.out) == (1, "")


def test_bad_records_are_exit_code_3(place: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text((place / "dev.jsonl").read_text() + "{broken\n")
    found = compare("lead-1", "--on", path, "--runs", tmp_path, "--format", "json")
    assert found.code == 3
    assert "some.jsonl:7" in found.err
    assert found.json["card"]["dialogues"] == 6


WRONG = [
    (["lead3"], 2, "did you mean 'lead-3'"),
    (["lead-0"], 2, "at least one utterance"),
    (["lead-3"], 2, "say --on FILE"),
    (["lead-3", "--on", "DEV", "--pack", "nothing"], 2, "no pack of that name"),
    (["lead-3", "--on", "DEV", "--pack", "BROKEN"], 2, "broken-pack.yaml, line 1"),
    (["lead-3", "--on", "none.jsonl"], 1, "none.jsonl: no such file"),
    (["lead-3", "--on", "BARE"], 1, "no dialogue in the data has a reference"),
    (["lead-3", "--on", "DEV", "--format", "pdf"], 2, "'pdf' is not one of"),
    (["lead-3", "--on", "DEV", "--plot", "x.pdf"], 2, "name it .png"),
    (["lead-3", "--on", "DEV", "--plot", "none/x.png"], 1, "no folder none"),
    (["lead-3", "--on", "DEV", "--from", "x"], 2, "RECIPE=MODEL"),
    (["lead-3", "--on", "DEV", "--from", "x=y"], 2, "no recipe of this comparison"),
    (["lead-3", "--on", "DEV", "--predictions", "DEV"], 1, "cannot be written"),
    (["FLAT", "--input-format", "jsonl"], 2, "give that, too"),
    (["FLAT", "--set", "model.heds=2"], 2, "did you mean 'heads'"),
    (["FLAT", "lead-3", "lead-3"], 2, "there twice"),
    (["lead-3", "--on", "DEV", "--baseline", "lead-4"], 2, "did you mean 'lead-3'"),
    (["lead-3", "--on", "DEV", "--metrics", "roug"], 2, "did you mean 'rouge'"),
    (["lead-3", "--on", "DEV", "--metrics", "bertscore"], 2, "needs an encoder"),
    (["FLAT", "--pack", "none", "--metrics", "key-points"], 2, "name one with --pack"),
    (["FLAT", "--columns", "rouge1.f"], 2, "did you mean 'rouge1.f1'"),
    (["FLAT", "FEW"], 1, "few.txt: 1 output by order, but 6 dialogues"),
    (["FLAT", "DEV"], 1, "has no output"),
]


@pytest.mark.parametrize(("arguments", "code", "said"), WRONG)
def test_wrong_calls_are_told_at_once(
    place: Path, tmp_path: Path, arguments: list[str], code: int, said: str
) -> None:
    (tmp_path / "bare.jsonl").write_text('{"turns": [["A", "b"]]}\n')
    (tmp_path / "broken-pack.yaml").write_text("name: x\n")
    (tmp_path / "few.txt").write_text("an output\n")
    known = {
        "FEW": tmp_path / "few.txt",
        "DEV": place / "dev.jsonl",
        "BARE": tmp_path / "bare.jsonl",
        "BROKEN": tmp_path / "broken-pack.yaml",
        "FLAT": place / "flat.yaml",
    }
    words = [known.get(word, word) for word in arguments]
    runs = tmp_path / "runs"
    done = compare(*words, "--runs", runs, "--data", place)
    assert (done.code, done.out) == (code, "")
    *notes, line = done.err.splitlines()
    assert said in line
    assert line.startswith("dialogist: ")
    assert all("without a reference" in note for note in notes)
    assert not list(runs.glob("*/checkpoints"))  # nothing was trained before it was told


def test_without_sacrebleu_it_is_told_before_anything_is_trained(
    place: Path, tmp_path: Path
) -> None:
    with mock.patch.dict(sys.modules, {"sacrebleu.metrics.bleu": None}):
        done = compare(place / "flat.yaml", "--runs", tmp_path, "--data", place)
    assert done.code == 1
    assert "sacrebleu>=" in done.err
    assert not (tmp_path / "flat").exists()
