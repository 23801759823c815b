"""--output: a file that is complete or absent, in the form that its suffix or --format says."""

from pathlib import Path

import pytest

from dialogist.cli.output_formats import Facts, OutputFormat, output_format_of, output_to
from dialogist.errors import DataError, UsageError


@pytest.mark.parametrize(
    ("output", "format", "form"),
    [
        (None, None, "text"),
        ("-", None, "text"),
        ("out.JSON", None, "json"),
        ("out.txt", None, "text"),
        ("out.dat", None, "text"),
        ("out.md", "jsonl", "jsonl"),
        (None, "md", "md"),
    ],
)
def test_form(tmp_path, monkeypatch, output, format, form):
    monkeypatch.chdir(tmp_path)
    path = None if output is None else Path(output)
    wanted = None if format is None else OutputFormat(format)
    assert output_format_of(path, wanted, OutputFormat.text) is OutputFormat(form)


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("out.md", "does not write md; it writes text, json"),
        ("out.xlsx", "does not write xlsx; it writes text, json"),
        ("no/out.json", "there is no folder no"),
        (".", "is a folder"),
    ],
)
def test_what_cannot_be_is_said_at_once(tmp_path, monkeypatch, output, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=said):
        output_format_of(Path(output), None, Facts.text)


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
    with output_to(Path("-")):
        print("shown")
    assert capsys.readouterr().out == "shown\n"


def test_a_folder_that_cannot_be_written_to(tmp_path):
    with pytest.raises(DataError, match="cannot be written"), output_to(tmp_path / "no" / "x"):
        print("never")
