"""Progress on stderr: nothing of short work, lines where there is no terminal, a closing count."""

import pytest

from dialogist.cli import console as module
from dialogist.cli.console import Meter, counted, progress, silence, tracked


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test moves."""
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


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
    assert lines[-1] == "dialogist: 3 dialogues in 3:00 min (0.0/s)"


def test_the_last_one_closes(clock, capsys):
    tell = progress("default: summarized", 2)
    clock[0] += 4
    tell(1)
    tell(2)
    [line] = capsys.readouterr().err.splitlines()
    assert line == "dialogist: default: summarized 2 dialogues in 4 s (0.5/s)"


def test_quiet(clock, capsys):
    silence(True)
    try:
        for _ in tracked(range(3), Meter("read", 3, "dialogues")):
            clock[0] += 60
    finally:
        silence(False)
    assert capsys.readouterr().err == ""


def test_a_bar_on_a_terminal(clock, capsys, monkeypatch):
    monkeypatch.setattr(module, "_has_terminal", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("FORCE_COLOR", "1")
    meter = Meter("read", 10, "dialogues")
    clock[0] += 5
    meter.update(4)
    assert module._open == [meter]
    module.close_all()  # as after Ctrl-C
    assert module._open == []
    assert "read 4/10 dialogues" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "unit", "shown"),
    [
        (1, "dialogues", "1 dialogue"),
        (1, "summaries", "1 summary"),
        (5000, "x", "5,000 x"),
    ],
)
def test_counted(count, unit, shown):
    assert counted(count, unit) == shown
