"""``summarize --resume``: an interrupted run goes on, and its file is that of a whole run."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from dialogist.cli.summarize_run import WINDOW, RunFile
from dialogist.errors import UsageError
from dialogist.records import Dialogue

SETTINGS = {"model": "m", "options": {"beam_size": 4}}


def line(id: str) -> str:
    return json.dumps({"id": id}) + "\n"


def dialogues(ids: str) -> list[Dialogue]:
    return [Dialogue((), id) for id in ids.split()]


def ids_in(path: Path) -> list[str]:
    return [json.loads(one)["id"] for one in path.read_text().splitlines()]


def interrupted(path: Path, lines: str) -> Path:
    """What a run leaves that was killed."""
    RunFile(path, SETTINGS, resume=False)
    partial = path.with_name("out.jsonl.partial")
    partial.write_text(lines)
    return partial


def test_a_whole_run(tmp_path):
    path = tmp_path / "out.jsonl"
    file = RunFile(path, SETTINGS, resume=False)
    assert [d.id for d in file.missing(dialogues("a b a"))] == ["a", "b", "a"]
    file.write([line("a"), line("b"), line("a")])
    assert ids_in(path) == ["a", "b", "a"]
    assert {p.name for p in tmp_path.iterdir()} == {"out.jsonl", "out.jsonl.run.json"}


def test_the_rest_of_an_interrupted_run(tmp_path):
    """A group is summarized whole; what is there of it already is not written again."""
    path = tmp_path / "out.jsonl"
    whole = " ".join(f"w{n}" for n in range(WINDOW))
    interrupted(path, "".join(map(line, f"{whole} a b".split())) + '{"id": "c", "te')
    file = RunFile(path, SETTINGS, resume=True)
    assert file.kept == WINDOW + 2
    again = [d.id for d in file.missing(dialogues(f"{whole} a b a c"))]
    assert again == ["a", "b", "a", "c"]
    new = [id for id in again if not file.is_there(id)]
    assert new == ["a", "c"]
    file.write(map(line, new))
    assert ids_in(path) == f"{whole} a b a c".split()


def test_a_finished_run_takes_more_dialogues(tmp_path):
    path = tmp_path / "out.jsonl"
    RunFile(path, SETTINGS, resume=False).write([line("a")])
    file = RunFile(path, SETTINGS, resume=True)
    assert [d.id for d in file.missing(dialogues("a"))] == []
    file = RunFile(path, SETTINGS, resume=True)
    assert [d.id for d in file.missing(dialogues("a b")) if not file.is_there(d.id)] == ["b"]
    file.write([line("b")])
    assert ids_in(path) == ["a", "b"]


def test_nothing_there_is_a_run_from_the_beginning(tmp_path):
    file = RunFile(tmp_path / "out.jsonl", SETTINGS, resume=True)
    assert file.kept == 0
    assert len(list(file.missing(dialogues("a b")))) == 2


def test_what_is_refused(tmp_path):
    path = tmp_path / "out.jsonl"
    partial = interrupted(path, line("a"))
    with pytest.raises(UsageError, match=r"left 1 summary.* --resume"):
        RunFile(path, SETTINGS, resume=False)
    other = {**SETTINGS, "options": {"beam_size": 8}}
    with pytest.raises(UsageError, match=r"options.beam_size: 4 there, 8 now"):
        RunFile(path, other, resume=True)
    partial.write_text('{"no": "id"}\n')
    with pytest.raises(UsageError, match=r"partial:1: is no summary"):
        RunFile(path, SETTINGS, resume=True)
    partial.unlink()
    (tmp_path / "out.jsonl.partial.run.json").unlink()
    path.write_text(line("a"))
    with pytest.raises(UsageError, match=r"what .* was made with is not known"):
        RunFile(path, SETTINGS, resume=True)


def test_killed_between_the_two_renames_at_the_end(tmp_path):
    path = tmp_path / "out.jsonl"
    interrupted(path, line("a")).rename(path)
    assert RunFile(path, SETTINGS, resume=True).kept == 1


def test_flags_that_do_not_go_together(dialogist, tiny_model):
    for flags in (("--resume",), ("--resume", "-o", "out.json"), ("--columns", "id")):
        result = dialogist("summarize", "-m", tiny_model, *flags, input=b"Ann: Hi\nBo: Hi\n")
        assert result.returncode == 2
        assert b" goes with --" in result.stderr


def test_kill_and_resume(dialogist, tiny_model, tmp_path):
    """The bytes are those of a run without interruption, but for the timings."""
    rows = [{"id": f"d{n % 120}", "turns": [["A", f"hello {n}"], ["B", "hi"]]} for n in range(150)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    flags = ("summarize", "in.jsonl", "-m", str(tiny_model))
    assert dialogist(*flags, "-o", "whole.jsonl").returncode == 0
    process = dialogist.start(*flags, "-o", "cut.jsonl", stderr=subprocess.DEVNULL)
    partial = tmp_path / "cut.jsonl.partial"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if partial.exists() and partial.read_bytes().count(b"\n") > WINDOW:
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert partial.exists(), "it was done before it could be killed"
    with partial.open("ab") as file:
        file.write(b'{"id": "torn')
    result = dialogist(*flags, "-o", "cut.jsonl", "--resume")
    assert result.returncode == 0, result.stderr.decode()
    assert b"summaries of the run before are kept" in result.stderr
    whole, cut = (timeless(tmp_path / name) for name in ("whole.jsonl", "cut.jsonl"))
    assert len(whole) == 150
    assert whole == cut


def timeless(path: Path) -> list[dict[str, object]]:
    return [{**json.loads(one), "timings": None} for one in path.read_text().splitlines()]
