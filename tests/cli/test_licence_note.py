"""The licence of the bundled model is told once per machine."""

import pytest

from dialogist.cli.models import TOLD, tell_licence


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALOGIST_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_told_once(home, capsys):
    tell_licence("default")
    [line] = capsys.readouterr().err.splitlines()
    assert "default: its weights are under CC-BY-NC-SA-4.0 (not for commercial use)" in line
    assert (home / TOLD).read_text() == "default\n"
    tell_licence("default")
    assert capsys.readouterr().err == ""


def test_a_home_that_is_a_file_breaks_nothing(home, capsys):
    home.write_text("")
    for _ in range(2):
        tell_licence("default")
        assert "not for commercial use" in capsys.readouterr().err


def test_a_model_of_ones_own_needs_no_note(home, tiny_model, capsys):
    tell_licence(str(tiny_model))
    assert capsys.readouterr().err == ""
    assert not home.exists()
