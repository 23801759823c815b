"""Where output goes, and progress on stderr."""

from pathlib import Path

import pytest

from dialogist.cli import console
from dialogist.cli.console import Meter, note, silence, tracked
from dialogist.cli.streams import OutputFormat, output_format_of, output_to
from dialogist.errors import DataError


@pytest.mark.parametrize(
    ("output", "format", "form"),
    [("out.JSON", None, "json"), ("out.dat", None, "text"), ("out.md", "jsonl", "jsonl")],
)
def test_form(tmp_path, monkeypatch, output, format, form):
    monkeypatch.chdir(tmp_path)
    wanted = None if format is None else OutputFormat(format)
    assert output_format_of(Path(output), wanted, OutputFormat.text) is OutputFormat(form)


def test_a_file_is_complete_or_as_it_was(tmp_path, capsys):
    path = tmp_path / "out.txt"
    path.write_text("before")

    def broken() -> None:
        with output_to(path):
            print("half")
            raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        broken()
    assert path.read_text() == "before"
    with output_to(path):
        print("whole \N{GRINNING FACE}")
    assert path.read_bytes() == "whole \N{GRINNING FACE}\n".encode()
    assert [file.name for file in tmp_path.iterdir()] == ["out.txt"]
    with output_to(None):
        print("shown")
    assert capsys.readouterr().out == "shown\n"


def test_a_folder_that_cannot_be_written_to(tmp_path):
    with pytest.raises(DataError, match="cannot be written"), output_to(tmp_path / "no" / "x"):
        print("never")


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    return now


_RECIPE = "dialogsum-report-1-attention-dropout"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f"there are: {_RECIPE}, xsum-transformer-random-512", ""),
        ("with --set decoding.length_penalty=-1", ""),
        (f"api_key={_RECIPE}", "api_key=[SECRET_1]"),
        ("call-ann-tomorrow-at-415-555-0132", "[SECRET_1]"),
    ],
)
def test_names_of_recipes_and_options_are_no_secrets(tmp_path, monkeypatch, line, shown):
    monkeypatch.delenv(console.SHOW_PERSONAL_DATA, raising=False)
    assert console.filtered(line) == (shown or line)
    (tmp_path / "deny").write_text(_RECIPE)
    monkeypatch.setenv("DIALOGIST_MASK_DENY", str(tmp_path / "deny"))
    assert _RECIPE not in console.filtered(line)


def test_lines_and_a_closing_count(clock, capsys):
    meter = Meter("summarized", 400, "dialogues")
    for done in range(1, 401):
        clock[0] += 0.125
        meter.update(done)
    meter.finish("400 summaries: 390 ok, 10 warning")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "dialogist: summarized 80/400 dialogues, 8.0/s, 0:40 left"
    assert len(lines) == 6
    assert lines[-1] == "dialogist: 400 summaries: 390 ok, 10 warning in 50 s (8.0/s)"


def test_short_work_shows_nothing(clock, capsys):
    items = tracked(range(5), Meter("read", 5, "dialogues"))
    for _ in items:
        clock[0] += 0.3
    assert capsys.readouterr().err == ""


def test_how_many_there_are_may_be_unknown(clock, capsys):
    for _ in tracked(range(3), Meter("read", None, "dialogues")):
        clock[0] += 60
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "dialogist: read 1 dialogue, 0.0/s"
    assert lines[-1] == "dialogist: read 3 dialogues in 3:00 min (0.0/s)"


def test_quiet(clock, capsys):
    silence(True)
    try:
        for _ in tracked(range(3), Meter("read", 3, "dialogues")):
            clock[0] += 60
    finally:
        silence(False)
    assert capsys.readouterr().err == ""


def test_one_line_on_a_terminal(clock, capsys, monkeypatch):
    monkeypatch.setattr(console.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(console.sys.stdout, "isatty", lambda: False, raising=False)
    meter = Meter("read", 10, "dialogues")
    clock[0] += 5
    meter.update(4)
    note("something else")
    clock[0] += 5
    meter.update(8)
    meter.close()
    shown = capsys.readouterr().err
    first, second = "read 4/10 dialogues, 0.8/s, 0:08 left", "read 8/10 dialogues, 0.8/s, 0:02 left"
    gone = f"\r{' ' * len(first)}\r"
    assert shown == f"\r{first}{gone}dialogist: something else\n\r{second}{gone}"
