"""The benchmark of templates runs on a few conversations and counts as it says."""

import importlib
import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    return importlib.import_module("templates")


def test_tables_and_file(bench, monkeypatch, tmp_path, capsys):
    flags = ["--count", "4", "--seed", "3", "--cases", "2", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["templates.py", *flags])
    bench.main()
    written = json.loads((tmp_path / "templates.json").read_text())
    assert (written["count"], written["seed"]) == (4, 3)
    printed = capsys.readouterr().out
    for row in (*written["planted"], *written["fields"]):
        assert row["right"] <= min(row["planted"], row["found"])
        assert f"| {row['kind']} | {row['planted']} |" in printed


def test_the_same_seed_plants_the_same(bench):
    first = bench.Writer(bench.Random("1-0")).write()
    assert first == bench.Writer(bench.Random("1-0")).write()
    assert first != bench.Writer(bench.Random("1-1")).write()


def test_counting(bench):
    counts = bench.Counts()
    counts.add("x", ["a", "b", "c"], ["b", "c", "d"])
    [row] = counts.rows()
    assert (row["planted"], row["found"], row["right"]) == (3, 3, 2)
    assert row["precision"] == pytest.approx(200 / 3)
    assert sorted(counts.cases) == ["x missed: a", "x wrong: d"]
