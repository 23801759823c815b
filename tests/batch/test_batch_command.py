"""``dialogist batch`` as a person calls it: what it writes, says and returns."""

import gzip
import json
import os
import signal
import subprocess

import pytest
from tests.batch.conftest import dialogue_line, records, wait_until


@pytest.fixture
def calls(tmp_path):
    path = tmp_path / "calls.jsonl"
    said = [f"Can you send me report {n} by Friday?" for n in range(12)]
    path.write_text("".join(dialogue_line(f"c{n}", text) for n, text in enumerate(said)))
    return path


def test_the_records_are_those_of_summarize(dialogist, calls, tmp_path):
    done = dialogist("batch", calls, "--output", "out", "--length", "short")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"12 summaries: 12 ready" in done.stderr
    assert b"dialogues read: 12 as " in done.stderr
    assert b": read as " not in done.stderr
    assert not dialogist("batch", calls, "--output", "quiet", "-q").stderr
    assert dialogist("summarize", calls, "-o", "one.jsonl", "--length", "short").returncode == 0
    expected = [json.loads(line) for line in (tmp_path / "one.jsonl").read_text().splitlines()]
    assert records(tmp_path / "out") == [{**one, "timings": {}} for one in expected]
    again = dialogist("batch", calls, "--output", "out", "--length", "short")
    assert b"this job is complete" in again.stderr
    other = dialogist("batch", calls, "--output", "out", "--length", "long")
    assert other.returncode == 2
    assert b"options.length: 'short' there, 'long' now" in other.stderr


def test_a_bad_record_is_told_by_the_exit_code(dialogist, calls, tmp_path):
    (tmp_path / "more.jsonl.gz").write_bytes(gzip.compress(calls.read_bytes() + b"broken\n"))
    done = dialogist("batch", "*.jsonl*", "--output", "out", "--workers", "2", "--shard-size", "5")
    assert done.returncode == 3
    assert b"1 record with the status error and a reason" in done.stderr
    ids = [record["id"] for record in records(tmp_path / "out")]
    each = [f"c{n}" for n in range(12)]
    assert ids == [*each, *each, "more.jsonl.gz:13"]


def test_forms_masks_and_focus(dialogist, tmp_path):
    turns = [
        {"speaker": "Agent", "text": "How can I help you today?"},
        {"speaker": "Cy", "text": "My number is 212-555-0142, please call me back tomorrow."},
        {"speaker": "Agent", "text": "I will call you tomorrow at ten."},
    ]
    line = json.dumps({"id": "a", "turns": turns}) + "\n" + dialogue_line("b", "I am Ann.")
    (tmp_path / "two.jsonl").write_text(line + '{"id": "c", "call 212-555-0142": 1}\n')
    flags = ("--form", "call", "--mask", "output", "--focus", "Agent")
    done = dialogist("batch", "two.jsonl", "--output", "out", *flags)
    first, second, third = records(tmp_path / "out")
    assert done.returncode == 3
    assert first["filled"]["form"] == "call"
    assert "212-555-0142" not in json.dumps(first)
    assert second["status"] == "error"
    assert "'Agent' says nothing in this dialogue; did you mean 'Ann'?" in second["reason"]
    assert "(keys found: call [PHONE_1], id)" in third["reason"]


def test_a_sample(dialogist, calls, tmp_path):
    shown = dialogist("batch", calls, "--sample", "2")
    assert shown.returncode == 0
    assert shown.stdout.count(b"Can you send me report") == 2
    assert b"estimate: 12 dialogues at" in shown.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["calls.jsonl"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ((), b"--output: name the folder"),
        (("-o", "out.jsonl"), b"a job writes a folder of parts"),
        (("-o", "calls.jsonl"), b"is another file of this call"),
        (("-o", "memory://out"), b"--state FOLDER"),
        (("-o", "out", "--state", "here"), b"--state goes with"),
        (("-o", "sqlite:///x.db", "--state", "here"), b"name the table behind the URL"),
        (("-o", "sqlite:///x.db#s", "--state", "here", "-f", "parquet"), b"does not go with a tab"),
        (("-o", "out", "--since", "yesterday"), b"--since yesterday: write a date"),
        (("-o", "out", "--since", "2999-01-01"), b"no file was changed since then"),
        (("-o", "out", "--watch", "5", "--restart"), b"--watch goes neither with"),
        (("-o", "out", "--address", "a:1"), b"goes with --engine ray"),
        (("-o", "out", "--writer", "nosuch"), b"writer 'nosuch': there is none"),
    ],
)
def test_calls_that_are_wrong(dialogist, calls, tmp_path, flags, said):
    done = dialogist("batch", calls, *flags)
    assert done.returncode in (1, 2)
    assert done.stderr.count(b"\n") == 1
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_pattern_that_covers_the_output(dialogist):
    for pattern in ("in/**/*.jsonl", "in/**", "i*", "in/[o]*/*.json"):
        done = dialogist("batch", pattern, "-o", "in/out")
        assert (done.returncode, f"lies in the input {pattern}" in done.err) == (2, True)
    for pattern in ("in/*.jsonl", "in/**/*.txt", "in/[!o]*/*.jsonl"):
        assert "no such file" in dialogist("batch", pattern, "-o", "in/out").err


def test_a_link_to_nowhere_is_an_error_record(dialogist, calls, tmp_path):
    (tmp_path / "in").mkdir()
    calls.rename(tmp_path / "in" / "a.jsonl")
    (tmp_path / "in" / "b.txt").symlink_to("nowhere")
    assert dialogist("batch", "in", "-o", "out").returncode == 3
    assert records(tmp_path / "out")[-1]["id"] == "in/b.txt"


def test_watch(dialogist, calls, tmp_path):
    """What comes into a folder is done, whatever it is called, until somebody ends it."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "m.jsonl").write_bytes(calls.read_bytes())
    manifest = tmp_path / "out" / "manifest.json"

    def has(count):
        return manifest.exists() and f'"records": {count},' in manifest.read_text()

    flags = ("batch", "in", "-o", "out", "--watch", "1")
    with dialogist.start(*flags, stderr=subprocess.PIPE) as process:
        wait_until(lambda: has(12), process)
        (folder / "a.txt").write_text("Ann: Please call me on Monday.\nBo: I will.\n")
        wait_until(lambda: has(13), process)
        process.send_signal(signal.SIGINT)
        assert b"stopped" in process.stderr.read()
    assert process.returncode == 130
    assert [one["id"] for one in records(tmp_path / "out")] == [*(f"c{n}" for n in range(12)), "a"]


def test_kill_and_run_again(calls, tmp_path, dialogist):
    """Killed while it works: no process stays behind, and the next run ends as one whole run."""
    many = tmp_path / "many.jsonl"
    lines = [dialogue_line(f"d{n}", f"Call me at {n} on Monday.") for n in range(200)]
    many.write_text("".join(lines))
    flags = ("batch", many, "--shard-size", "10", "--output")
    with dialogist.start(*flags, "killed", stderr=subprocess.PIPE) as process:
        journal = tmp_path / "killed" / "journal.jsonl"
        wait_until(lambda: journal.exists() and len(journal.read_text().splitlines()) > 2, process)
        os.kill(process.pid, signal.SIGKILL)
    assert not (tmp_path / "killed" / "manifest.json").exists()
    again = dialogist(*flags, "killed")
    assert b"of the run before are kept" in again.stderr
    dialogist(*flags, "whole")
    killed, whole = (sorted((tmp_path / name).glob("part-*")) for name in ("killed", "whole"))
    assert [path.read_bytes() for path in killed] == [path.read_bytes() for path in whole]
    assert [one["id"] for one in records(tmp_path / "killed")] == [f"d{n}" for n in range(200)]
