"""`data synth` from outside: lines, files, exit codes, one clear line."""

import json
import subprocess

import pytest


def test_stdout(dialogist):
    result = dialogist("data", "synth", "--pairs", 5, "--seed", 3, "--lang", "zh", "--split", "dev")
    assert result.returncode == 0, result.stderr
    assert result.stderr == b""
    rows = [json.loads(line) for line in result.stdout.decode().splitlines()]
    assert [row["id"] for row in rows] == [f"synth-zh-3-dev-{n}" for n in range(5)]
    assert {turn["speaker"] for row in rows for turn in row["turns"]} == {"客服", "用户"}
    assert all(len(row["summaries"]) == 1 for row in rows)
    needed = {"key_points", "topics", "combination", "entities", "superseded", "contradicted"}
    assert needed <= set(rows[0]["metadata"])


def test_prefix_and_start(dialogist):
    long = dialogist("data", "synth", "--pairs", 30).stdout.splitlines()
    assert dialogist("data", "synth", "--pairs", 10).stdout.splitlines() == long[:10]
    assert dialogist("data", "synth", "--pairs", 9, "--start", 21).stdout.splitlines() == long[21:]


def test_none(dialogist):
    result = dialogist("data", "synth", "--pairs", 0)
    assert (result.returncode, result.stdout) == (0, b"")


def test_file(dialogist, tmp_path):
    command = ("data", "synth", "--pairs", 8, "--output", "pairs.jsonl")
    result = dialogist(*command)
    assert result.returncode == 0, result.stderr
    assert result.stdout == b""
    assert b"8 made-up dialogues" in result.stderr
    written = (tmp_path / "pairs.jsonl").read_bytes()
    assert written == dialogist("data", "synth", "--pairs", 8).stdout
    assert dialogist(*command).returncode == 0  # a file is replaced, as by every --output
    assert (tmp_path / "pairs.jsonl").read_bytes() == written
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.jsonl"]
    checked = dialogist("data", "check", "pairs.jsonl")
    assert checked.returncode == 0, checked.stdout
    labelled = dialogist(
        "keypoints", "label", "-p", "customer-service-en", "--format", "jsonl", "pairs.jsonl"
    )
    found = [json.loads(line)["key_points"] for line in labelled.stdout.splitlines()]
    assert found == [json.loads(line)["metadata"]["key_points"] for line in written.splitlines()]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--pairs", -1), "-1 pairs"),
        (("--pairs", 2_000_000), "at most 1000000"),
        (("--start", -3), "-3 pairs"),
        (("--seed", -1), "seed -1"),
        (("--lang", "fr"), "language 'fr'"),
        (("--split", "valid"), "split 'valid'"),
        (("--output", "nowhere/pairs.jsonl"), "nowhere"),
    ],
)
def test_bad_calls(dialogist, tmp_path, flags, said):
    result = dialogist("data", "synth", *flags)
    assert result.returncode == 2
    assert result.stdout == b""
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1
    assert said in lines[0]
    assert not list(tmp_path.iterdir())


def test_reader_that_leaves_early(dialogist):
    """A pipe into `head` ends the stream; nothing is made in advance."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with dialogist.start("data", "synth", "--pairs", "900000", **pipes) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["id"] == "synth-en-1-train-0"
        process.stdout.close()
        assert process.stderr is not None
        assert b"closed it early" in process.stderr.read()
        assert process.wait(60) == 1
