"""The command line from outside: exit codes, streams, and one clear line for every mistake."""

import json
import signal
import subprocess
import sys
import time
from unittest import mock

import pytest

CHAT = b"Ann: Lunch at noon?\nBo: Yes! At Luigi's.\n"


def one_line(result):
    """stderr must be exactly one line without a traceback; return it."""
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1, lines
    assert "Traceback" not in lines[0]
    assert lines[0].startswith("dialogist: ")
    return lines[0]


def test_help_is_fast_and_needs_no_torch(dialogist):
    best = 9.0
    for _ in range(3):
        start = time.perf_counter()
        result = dialogist("--help", real=True)
        best = min(best, time.perf_counter() - start)
    assert result.returncode == 0
    assert b"summarize" in result.stdout
    code = (
        "import sys, dialogist.cli.main; "
        "assert not {'torch', 'numpy', 'pydantic'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert best < 2.0  # 0.2-0.4 s on an idle machine; the bar here only catches an import of torch


def test_summary_on_stdout_and_nothing_else(dialogist, tiny_model):
    command = ("summarize", "--model", tiny_model, "--format", "jsonl")
    result = dialogist(*command, input=CHAT, real=True)
    assert result.returncode == 0
    [line] = result.stdout.decode().splitlines()
    summary = json.loads(line)
    assert summary["schema_version"] == 3
    assert summary["status"] in ("ok", "warning", "unchecked")
    assert summary["coverage"]["utterances"] == 2
    assert summary["coverage"]["tokens"] == summary["coverage"]["tokens_read"]
    # what the other tests see of a command in their own process is the same
    inside = dialogist(*command, input=CHAT)
    assert (inside.returncode, inside.stderr) == (0, result.stderr)
    assert json.loads(inside.stdout) == {**summary, "timings": mock.ANY}


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "md"])
def test_forms_of_output(dialogist, tiny_model, tmp_path, form):
    (tmp_path / "a.txt").write_bytes(CHAT)
    (tmp_path / "b.txt").write_bytes(CHAT)
    result = dialogist("summarize", "a.txt", "b.txt", "-m", tiny_model, "-f", form)
    assert result.returncode == 0
    out = result.stdout.decode()
    if form == "json":
        assert [s["id"] for s in json.loads(out)] == ["a", "b"]
    elif form == "jsonl":
        assert [json.loads(line)["id"] for line in out.splitlines()] == ["a", "b"]
    elif form == "md":
        assert [line for line in out.splitlines() if line.startswith("## ")] == ["## a", "## b"]
    else:
        assert [line for line in out.splitlines() if line.startswith("== ")] == [
            "== a ==",
            "== b ==",
        ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"Only prose here, and nobody speaks.\n", "no format recognised"),
        (bytes(range(256)) * 8, "binary"),
        (b"\x1f\x8b\x08\x00broken", "gzip"),
    ],
)
def test_unusable_input(dialogist, tiny_model, tmp_path, content, said):
    path = tmp_path / "input.txt"
    path.write_bytes(content)
    for result in (
        dialogist("summarize", path, "-m", tiny_model),
        dialogist("summarize", "-m", tiny_model, input=content),
    ):
        assert result.returncode == 1
        assert said in one_line(result)
        assert result.stdout == b""


def test_missing_things(dialogist, tiny_model):
    assert "no such file" in one_line(dialogist("summarize", "nope.txt", "-m", tiny_model))
    result = dialogist("summarize", "-m", "no-such-model", input=CHAT)
    assert result.returncode == 1
    assert "no-such-model" in one_line(result)


def test_truncated_model(dialogist, tiny_model, tmp_path):
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(tiny_model, broken)
    weights = (broken / "model.safetensors").read_bytes()
    (broken / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    result = dialogist("summarize", "-m", broken, input=CHAT)
    assert result.returncode == 1
    assert "model.safetensors" in one_line(result)


def test_bad_records_are_reported_and_the_rest_is_done(dialogist, tiny_model, tmp_path):
    good = json.dumps({"id": "x", "turns": [["A", "hello there"], ["B", "hi"]]})
    (tmp_path / "some.jsonl").write_text(f"{good}\nnot json\n{good}\n")
    result = dialogist("summarize", "some.jsonl", "-m", tiny_model, "--format", "jsonl")
    assert result.returncode == 3
    assert len(result.stdout.splitlines()) == 2
    assert b"some.jsonl:2: " in result.stderr
    strict = dialogist("summarize", "some.jsonl", "-m", tiny_model, "--strict")
    assert strict.returncode == 1
    assert "some.jsonl:2: " in strict.stderr.decode().splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--max-tokens", "5000"], "at most 23 tokens"),
        (["--temperature", "0.5"], "--strategy sample only"),
        (["--strategy", "bean"], "did you mean 'beam'"),
        (["--strategy", "beam", "--beam-size", "0"], "beam_size"),
        (["--format", "dialogsun"], "did you mean --input-format 'dialogsum'"),
        (["--column", "speaker"], "NAME=KEY"),
        (["--device", "tpu"], "'tpu' is not one of"),
    ],
)
def test_wrong_calls(dialogist, tiny_model, arguments, said):
    result = dialogist("summarize", "-m", tiny_model, *arguments, input=CHAT)
    assert result.returncode == 2
    assert said in one_line(result)


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("trainin.epochs=3", "did you mean 'training'"),
        ("training.epoch=3", "did you mean 'epochs'"),
        ("training.schedule.warmpu=3", "did you mean 'warmup'"),
        ("training.epochs=many", "training.epochs"),
        ("model.heads=3", "no multiple of 'heads'"),
        ("epochs", "key.key=value"),
    ],
)
def test_bad_config_keys_are_named(dialogist, setting, said):
    result = dialogist("train", "dialogsum-small", "--set", setting)
    assert result.returncode == 2
    assert said in one_line(result)


def test_unknown_recipe_and_missing_data(dialogist, monkeypatch):
    monkeypatch.delenv("DIALOGIST_DATA", raising=False)
    result = dialogist("train", "dialogsum-smal")
    assert result.returncode == 2
    assert "did you mean 'dialogsum-small'" in one_line(result)
    result = dialogist("train", "dialogsum-small")
    assert result.returncode == 1
    assert "--data or DIALOGIST_DATA" in one_line(result)


def test_reader_that_leaves_and_full_disk(dialogist, tiny_model, tmp_path):
    line = json.dumps({"turns": [["A", "hello"], ["B", "hi"]]}) + "\n"
    (tmp_path / "many.jsonl").write_text(line * 200)
    command = ("summarize", "many.jsonl", "--format", "jsonl", "-m", tiny_model)
    command += ("--max-tokens", "2")
    process = dialogist.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert "Traceback" not in errors
    assert errors.splitlines()[-1] == "dialogist: the reader of the output closed it early"
    with open("/dev/full", "wb") as full:
        process = dialogist.start(*command, stdout=full, stderr=subprocess.PIPE)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"No space left" in errors
    assert b"Traceback" not in errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_signals(dialogist, tiny_model, number, code):
    """A shell sees 130 and 143: SIGTERM ends the process by the signal itself.

    What is written to it fits no pipe, so it reads before it is stopped, and waits for more.
    """
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = dialogist.start("summarize", "-m", tiny_model, "-", **pipes)
    assert process.stdin is not None
    process.stdin.write(CHAT * 10_000)
    process.stdin.flush()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"Traceback" not in errors


def test_usage_errors_are_2(dialogist):
    for arguments in (["nonsense"], ["summarize", "--nonsense"], ["evaluate"]):
        result = dialogist(*arguments)
        assert result.returncode == 2
        assert b"Traceback" not in result.stderr


def test_n_best(dialogist, tiny_model):
    result = dialogist(
        *("summarize", "-m", tiny_model, "--format", "jsonl"),
        *("--strategy", "beam", "--beam-size", "3", "--n-best", "3"),
        input=CHAT,
    )
    assert result.returncode == 0
    summary = json.loads(result.stdout)
    assert len(summary["alternatives"]) == 2
    assert len({summary["text"], *summary["alternatives"]}) == 3


def test_faithful_style_writes_nothing_and_takes_no_options_of_search(dialogist):
    chat = b"Ann: My printer does not work.\nBo: I will bring you a new one tomorrow.\n"
    result = dialogist("summarize", "--format", "jsonl", "--threads", "1", input=chat)
    assert result.returncode == 0
    assert b"--threads: has an effect with --style free only" in result.stderr
    summary = json.loads(result.stdout)
    assert {one["kind"] for one in summary["sentences"]} <= {"reported", "quoted"}
    assert "Bo will bring Ann a new one tomorrow." in summary["text"]
    refused = dialogist("summarize", "--n-best", "3", input=chat)
    assert refused.returncode == 2
    assert b"--n-best has an effect with --style free only" in refused.stderr
    refused = dialogist("summarize", "--labels", input=chat)
    assert (refused.returncode, b"--labels has an effect" in refused.stderr) == (2, True)
