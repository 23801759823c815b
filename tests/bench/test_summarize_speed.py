"""The summary benchmark's own arithmetic, and that a row can be made."""

import importlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("summarize_speed")


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("rouge_score")
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("summarize_ours")


def test_words_in_the_same_place(ours: ModuleType) -> None:
    alone = ["a b c d", "x y", ""]
    together = ["a b C d", "x y z w", "", "not asked for alone"]
    assert ours.same_words(alone, together) == (3 + 2) / (4 + 4)
    assert ours.same_words(alone, alone) == 1


def test_the_table(speed: ModuleType) -> None:
    """Medians, the 95th percentile, and the ratio to CTranslate2's median."""

    def row(scale: float) -> dict[str, object]:
        seconds = [scale * i / 1000 for i in range(1, 101)]
        return {"latencies_s": seconds, "per_second": [2, 9, 4], "peak_mb": 7, "load_before": 0.1}

    rows = {"Dialogist": row(1), "CTranslate2, T5-small shape, int8": row(10)}
    lines = speed.table("title", rows).splitlines()
    assert lines[4] == "| Dialogist | 50.5 | 96.0 | 10.0 | 4.0 | 7 | 0.1 |"
    assert "| 505.0 |" in lines[5]


def test_the_first_line_of_a_command(speed: ModuleType) -> None:
    code = "import time; print(); time.sleep(0.2); print('here', flush=True); time.sleep(0.3)"
    seconds, megabytes = speed.first_line([sys.executable, "-c", code], threads=1)
    assert seconds > 0.2
    assert megabytes > 1  # and no bound above: what the tests hold counts, see its docstring
    with pytest.raises(SystemExit, match="ended with 3"):
        speed.first_line([sys.executable, "-c", "raise SystemExit(3)"], threads=1)


def test_a_row_of_ours(tiny_model: Path, tmp_path: Path, ours: ModuleType) -> None:
    lines = [
        {
            "fname": str(i),
            "dialogue": f"#Person1#: Is it {i}?\n#Person2#: Yes, {i}.",
            "summary": "It is.",
        }
        for i in range(4)
    ]
    file = tmp_path / "dev.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [sys.executable, str(BENCH / "summarize_ours.py"), "--model", str(tiny_model)]
    command += ["--file", str(file), "--precision", "fp32", "--summaries", "2", "--threads", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    row = json.loads(done.stdout)
    assert (len(row["latencies_s"]), len(row["per_second"]), len(row["texts"])) == (2, 1, 4)
    assert row["precision"] == "fp32"
    assert row["same_alone"] == row["same_tokens_alone"] == 1
    assert set(row["rouge"]) == {"rouge1", "rouge2", "rougeL"}
