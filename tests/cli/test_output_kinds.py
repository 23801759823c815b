"""What ``--output`` names: a link is followed, a pipe written to, an input refused."""

import errno
import io
import json
import os
import threading

import pytest

from dialogist.cli import output_formats

CALL = {
    "id": "a",
    "turns": [["Ann", "I want to return the shoes."], ["Bo", "We refund 40 dollars."]],
}


@pytest.fixture
def calls(tmp_path):
    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps(CALL) + "\n")
    return path


class Full(io.StringIO):
    """A file on a disk without room."""

    def write(self, text):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", ["out.jsonl", "out.txt"])
def test_a_link_is_followed(dialogist, calls, name):
    target, link = calls.with_name(f"target-{name}"), calls.with_name(name)
    target.write_text("old\n")
    link.symlink_to(target)
    assert dialogist("summarize", calls, "--output", link).returncode == 0
    assert link.is_symlink()
    assert "shoes" in target.read_text()


@pytest.mark.parametrize("form", ["jsonl", "text"])
def test_a_pipe_is_written_to(dialogist, calls, form):
    pipe = calls.with_name("pipe")
    os.mkfifo(pipe)
    got = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    assert dialogist("summarize", calls, "--format", form, "--output", pipe).returncode == 0
    reader.join(10)
    assert pipe.is_fifo()
    assert "shoes" in got[0]


def test_a_full_disk_names_the_file_and_the_remedy(dialogist, calls, monkeypatch):
    monkeypatch.setattr(output_formats, "_opened", lambda *_: Full())
    found = dialogist("summarize", calls, "--output", calls.with_name("out.txt"))
    assert found.returncode == 1
    assert "out.txt: cannot be written: No space left on device; make room" in found.stderr.decode()


@pytest.mark.parametrize("command", ["summarize", "mask"])
def test_an_input_is_no_output(dialogist, calls, command):
    link = calls.with_name("link.jsonl")
    link.symlink_to(calls)
    for output in (calls, link, calls.parent / "new.jsonl"):
        source = calls.parent if output.name == "new.jsonl" else calls
        found = dialogist(command, source, "--output", output)
        assert found.returncode == 2
        assert "--output" in found.stderr.decode()
        assert "input" in found.stderr.decode()
    assert json.loads(calls.read_text()) == CALL


def test_a_batch_does_not_go_where_its_input_lies(dialogist, calls):
    found = dialogist("batch", calls.parent, "--output", calls.parent / "out")
    assert found.returncode == 2
    assert "lies in the input folder" in found.stderr.decode()
