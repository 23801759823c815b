"""`data encode` and `train --encoded` from outside: kills, exit codes, one clear line."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

RECIPE = """
data:
  train: [{ path: train.jsonl, format: jsonl }]
  dev: [{ path: dev.jsonl, format: jsonl }]
preparation: { limits: { source_tokens: 64, summary_tokens: 24 } }
tokenizer: { kind: bpe, size: 400 }
model:
  { d_model: 16, heads: 2, feed_forward: 32, encoder_layers: 1, decoder_layers: 1,
    source_positions: 64, target_positions: 24 }
training: { epochs: 1, max_steps: 6, log_every: 1, sampler: { kind: token-bucket, tokens: 256 } }
validation: { rouge_every: 1, train_examples: 4, decoding: { max_tokens: 6 } }
decoding: { max_tokens: 20 }
"""


def corpus(path: Path, count: int) -> None:
    with path.open("w") as file:
        for n in range(count):
            turns = [["Ann", f"Shall we meet at {n}?"], ["Bo", f"Yes, gladly, {n * 7}."]] * 3
            row = {"id": str(n), "turns": turns, "summary": f"Ann and Bo will meet at {n}."}
            file.write(json.dumps(row) + "\n")


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(RECIPE)
    corpus(tmp_path / "train.jsonl", 60)
    corpus(tmp_path / "dev.jsonl", 4)
    return tmp_path / "small.yaml"


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def last_line(result: subprocess.CompletedProcess[bytes]) -> str:
    assert b"Traceback" not in result.stderr
    return result.stderr.decode().splitlines()[-1]


def shards_in(folder: Path) -> int:
    try:
        return len(json.loads((folder / "manifest.json").read_text())["shards"])
    except FileNotFoundError:
        return 0


def test_stopped_and_killed_it_ends_with_the_same_files(dialogist, recipe, tmp_path):
    """kill -9 and SIGTERM from outside while shards are being written; then to the end."""
    corpus(tmp_path / "train.jsonl", 3000)
    encode = ("data", "encode", recipe, "--data", tmp_path, "--shard-tokens", "1000")
    straight = dialogist(*encode, "--output", "straight")
    assert straight.returncode == 0, straight.stderr.decode()
    assert straight.stdout == b"straight\n"
    for number, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 143)):
        before = shards_in(tmp_path / "cut")
        process = dialogist.start(*encode, "-o", "cut", stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while shards_in(tmp_path / "cut") < before + 3 and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == code, errors.decode()
        assert b"Traceback" not in errors
        if code > 0:
            assert b"run the same command again to go on" in errors
    result = dialogist(*encode, "-o", "cut")
    assert result.returncode == 0
    assert b"going on after " in result.stderr
    assert contents(tmp_path / "cut") == contents(tmp_path / "straight")
    assert shards_in(tmp_path / "cut") > 12


def test_encode_then_train(dialogist, recipe, tmp_path):
    encode = ("data", "encode", recipe, "--data", tmp_path, "-o", "encoded")
    train = ("train", recipe, "--data", tmp_path)
    assert dialogist(*encode).returncode == 0
    memory = dialogist(*train, "-o", "memory")
    sharded = dialogist(*train, "-o", "sharded", "--encoded", "encoded")
    assert (memory.returncode, sharded.returncode) == (0, 0), sharded.stderr.decode()
    for name in ("metrics.jsonl", "samples.jsonl", "model/model.safetensors"):
        one, other = (tmp_path / run / name for run in ("memory", "sharded"))
        assert one.read_bytes() == other.read_bytes(), name
    # another recipe's data: one line, exit code 1
    other = dialogist(*train, "-o", "other", "--encoded", "encoded", "--set", "tokenizer.size=410")
    assert other.returncode == 1
    assert "tokenizer.size: 400 there, 410 now" in last_line(other)
    # no encoded data there
    none = dialogist(*train, "-o", "other", "--encoded", tmp_path)
    assert none.returncode == 1
    assert "holds no encoded data" in last_line(none)


def test_refusals(dialogist, recipe, tmp_path):
    encode = ("data", "encode", recipe, "--data", tmp_path, "-o", "encoded")
    assert dialogist(*encode).returncode == 0
    again = dialogist(*encode)
    assert again.returncode == 0
    assert b"is complete already" in again.stderr
    for arguments, code, said in (
        (("--set", "preparation.merge_below=9"), 1, "preparation.merge_below: None there, 9 now"),
        (("--shard-tokens", "99"), 1, "shard_tokens: 50000000 there, 99 now"),
        (("--shard-tokens", "9999999999"), 2, "shard_tokens"),
        (("--set", "tokenizer.sise=9"), 2, "did you mean 'size'"),
        (("--data", "nowhere"), 1, "no such data file"),
        (("-o", "."), 1, "is not empty"),
    ):
        result = dialogist(*encode, *arguments)
        assert result.returncode == code, arguments
        assert said in last_line(result)
        assert result.stdout == b""


def test_bad_records_are_3(dialogist, recipe, tmp_path):
    with (tmp_path / "train.jsonl").open("a") as file:
        file.write("{broken\n" * 7)
    encode = ("data", "encode", recipe, "--data", tmp_path, "-o", "encoded")
    result = dialogist(*encode)
    assert result.returncode == 3
    assert result.stdout == b"encoded\n"
    assert result.stderr.count(b"train.jsonl:6") == 5  # the first five by line, and the count
    assert b"7 bad records left out" in result.stderr
    assert dialogist(*encode).returncode == 3


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc here")
def test_a_corpus_beyond_a_limit_of_memory(dialogist, recipe, tmp_path):
    """60 MB of dialogues (some 350 MB as objects) through a process that grows by far less."""
    corpus(tmp_path / "train.jsonl", 1000)
    rows = (tmp_path / "train.jsonl").read_bytes()
    with (tmp_path / "train.jsonl").open("ab") as file:
        for _ in range(60_000_000 // len(rows)):
            file.write(rows)
    command = ("data", "encode", recipe, "-o", "encoded", "--data", tmp_path)
    changed = ("tokenizer={kind: word, size: 400}", "preparation.speakers=inline")
    process = dialogist.start(*command, "--set", changed[0], "--set", changed[1])
    sizes = []
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        sizes += [int(row.split()[1]) for row in status.splitlines() if row.startswith("RssAnon")]
        time.sleep(0.2)
    assert process.returncode == 0
    early = sizes[len(sizes) // 10]  # torch and all else is imported
    assert max(sizes) - early < 30_000, sizes  # kB
