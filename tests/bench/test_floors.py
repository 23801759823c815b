"""The table of floors, on two dialogues."""

import importlib
import json
import sys
from pathlib import Path


def test_a_table_of_floors(monkeypatch, tmp_path, capsys):
    lines = [
        {"turns": [["A", "Lunch at one?"], ["B", "Yes, at Luigi's."]], "summaries": said}
        for said in (["They have lunch at one.", "Lunch at Luigi's."], ["A asks B to have lunch."])
    ]
    path = tmp_path / "dev.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    monkeypatch.setattr(sys, "argv", ["floors.py", str(path), "--systems", "constant:They meet."])
    importlib.import_module("floors").main()
    out = capsys.readouterr().out
    assert "dev.jsonl: 2 dialogues, 1.50 references each" in out
    rows = [line.split("|")[1].strip() for line in out.splitlines() if line.startswith("| ")]
    assert rows[:3] == ["system", "`constant:They meet.`", "`lead-1`"]
    assert rows[-2:] == ["`oracle`", "human"]
    assert "seed 1" in out
