"""Summaries and scores as CSV."""

import csv
import io
import json
from pathlib import Path

import pytest
from tests.command import CommandLine

from dialogist.cli.flags import present_options_of
from dialogist.cli.output_formats import csv_row
from dialogist.cli.summarize_run import columns_of
from dialogist.errors import UsageError
from dialogist.present import PresentOptions

CHAT = "Ann: My order is number 4711-22, mail ann@example.com.\nBo: I will send a refund.\n"


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("=1+1", "'=1+1"),
        ("+44 20", "'+44 20"),
        ("-x", "'-x"),
        ("@a", "'@a"),
        ("a=b", "a=b"),
        (-1.5, "-1.5"),
        (float("nan"), ""),
        (None, ""),
        ('a,"b"\nc', '"a,""b""\nc"'),
        ("a\x1b[0m", "a [0m"),
    ],
)
def test_cells(cell, shown):
    assert csv_row([cell, "x"]) == f"{shown},x\n"


def test_columns():
    assert columns_of("", PresentOptions()) == (
        "id",
        "status",
        "reason",
        "text",
        "kinds",
        "warnings",
    )
    assert columns_of(" text, id,", PresentOptions()) == ("text", "id")
    shape = present_options_of("ticket", None, None, None)
    assert shape.template is not None
    assert columns_of("", shape)[6:] == tuple(one.title for one in shape.template.sections)
    with pytest.raises(UsageError, match="--columns txt: no such column; did you mean 'text'"):
        columns_of("txt", PresentOptions())


def test_summaries(dialogist, tiny_model, tmp_path):
    (tmp_path / "a.txt").write_text(CHAT)
    (tmp_path / "b.txt").write_text(CHAT)
    flags = ("summarize", "a.txt", "b.txt", "-m", tiny_model, "-t", "ticket")
    result = dialogist(*flags, "-o", "out.csv")
    assert (result.returncode, result.stdout) == (0, b""), result.stderr.decode()
    text = (tmp_path / "out.csv").read_text(encoding="utf-8")
    assert text.startswith("\ufeffid,status,reason,text,kinds,warnings,")
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    assert [row["id"] for row in rows] == ["a", "b"]
    assert any("ann@example.com" in (cell or "") for cell in rows[0].values())
    shown = dialogist(*flags, "-f", "csv", "--columns", "status,id")
    assert shown.stdout.splitlines()[0] == b"status,id"  # no mark: for programs


def test_scores(dialogist: CommandLine, tmp_path: Path) -> None:
    rows = [
        {"id": str(n), "turns": [["A", "the cat sat"], ["B", "on it"]], "summary": "A sat"}
        for n in range(3)
    ]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = dialogist("evaluate", "lead-1", "d.jsonl", "--metrics", "rouge", "-f", "csv")
    assert done.returncode == 0, done.stderr
    table = list(csv.DictReader(io.StringIO(done.stdout.decode())))
    assert table[0]["system"] == "lead-1"
    assert float(table[0]["rouge1.f1.low"]) <= float(table[0]["rouge1.f1"])
