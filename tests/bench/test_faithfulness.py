"""The benchmark of faithfulness runs on a few made-up dialogues and writes what it prints."""

import importlib
import json
import sys
from pathlib import Path

import pytest

DIALOGUES = [
    ("#Person1#: Hi Tom, I lost my key on Monday.\n#Person2#: Take mine, it has number 25.",
     "#Person1# lost a key on Monday. Tom lends key 25 to #Person1#."),
    ("#Person1#: I want to see Olga at 5 pm.\n#Person2#: She is in Rome, I believe.",
     "#Person1# wants to see Olga at 5 pm. #Person2# believes Olga is in Rome."),
]  # fmt: skip


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "bench"))
    return importlib.import_module("faithfulness")


def run(bench, monkeypatch, *flags):
    monkeypatch.setattr(sys, "argv", ["faithfulness.py", *map(str, flags)])
    bench.main()


def test_tables_and_file(bench, monkeypatch, tmp_path, capsys):
    (tmp_path / "dialogsum").mkdir()
    lines = [
        json.dumps({"fname": str(i), "dialogue": said, "summary": summary})
        for i, (said, summary) in enumerate(DIALOGUES)
    ]
    (tmp_path / "dialogsum" / "dev.jsonl").write_text("\n".join(lines), encoding="utf-8")
    run(bench, monkeypatch, "--data", tmp_path, "--output", tmp_path / "out", "--cases", 1)
    printed, said = capsys.readouterr()
    assert "| tag that nobody has | DialogSum dev | 100.0 (34.2-100.0) of 2 |" in printed
    assert "| `faithfulness.name` (%) | 0.00 /" in printed
    assert "SAMSum val: no file samsum/val.jsonl" in said
    record = json.loads((tmp_path / "out" / "faithfulness.json").read_text(encoding="utf-8"))
    planted = record["planted"]["DialogSum dev"]
    assert planted["number changed"]["detected"]["count"] == 2
    assert planted["slot value changed"]["detected"]["percent"] is None
    assert record["figures"]["DialogSum dev"]["human"]["slots.f1"] is None
    assert record["seed"] == 1


def test_a_folder_without_data_is_one_line(bench, monkeypatch, tmp_path):
    with pytest.raises(SystemExit, match="holds none of dialogsum"):
        run(bench, monkeypatch, "--data", tmp_path, "--output", tmp_path)
