"""The scoring benchmark's own arithmetic, on a few made-up dialogues."""

import importlib
import json
import sys
from pathlib import Path

import pytest


@pytest.fixture
def bench(monkeypatch):
    """Import a script of bench/, which is no package."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    return importlib.import_module


def test_times_are_medians_beside_the_first(bench):
    runs = {
        "one": [{"cpu": 9.0, "wall": 9.5}, {"cpu": 2.0, "wall": 3.0}, {"cpu": 4.0, "wall": 4.0}],
        "other": [{"cpu": 1.0, "wall": 8.0}, {"cpu": 1.0, "wall": 1.0}, {"cpu": 7.0, "wall": 7.0}],
    }
    rows = bench("score_speed")._rows(runs)
    assert rows["one"]["cpu_seconds"] == rows["one"]["wall_seconds"] == 4
    assert (rows["one"]["times_rouge_score"], rows["other"]["times_rouge_score"]) == (1, 0.25)


def test_a_run_from_end_to_end(bench, tmp_path, monkeypatch, capsys):
    flags = ["--pairs", "12", "--rounds", "1", "--output", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["score_speed.py", *flags])
    bench("score_speed").main()
    table = capsys.readouterr().out
    assert "12 outputs of made-up dialogues scored by one process" in table
    record = json.loads((tmp_path / "score_speed.json").read_text())
    assert list(record["rows"])[:2] == ["rouge-score", "Dialogist ROUGE"]
