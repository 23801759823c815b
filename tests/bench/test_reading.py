"""The reading sheets are counted as their README says, and the saved figures are theirs."""

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "reading"))
    return importlib.import_module("sum_up")


def row(key, verdict, **more):
    facts = {"facts": 2, "facts_right": 1, "facts_right_lenient": 1}
    told = {"warned": False, "garbled": False, "evidence_right": True, "status": "ok"}
    return {"id": key, "verdict": verdict, **facts, **told, **more}


def test_marks_and_statuses(bench):
    rows = [
        row("a", "wrong", check="passed", borderline=True),
        row("a", "wrong", check="failed"),
        row("b", "correct", check="passed"),
        row("c", "vague", check="unchecked", status="unchecked"),
    ]
    shares = {one.name: (one.hits, one.total) for one in bench.summary_shares(rows)}
    assert shares["sentences shown without a mark that are wrong"] == (1, 2)
    assert shares["the same, lenient"] == (0, 2)
    assert shares["wrong sentences that are marked"] == (1, 2)
    assert shares["marked sentences that are wrong"] == (1, 2)
    assert shares["summaries with status ok and nothing wrong"] == (1, 2)
    assert shares["other summaries with nothing wrong"] == (1, 1)
    assert shares["key facts fully right"] == (3, 6)


def test_a_sheet_without_checks_is_marked_by_its_warnings(bench):
    assert bench.is_marked(row("a", "wrong", warned=True))
    assert not bench.is_marked(row("a", "wrong", warned=True, check="passed"))


def test_wilson_interval(bench):
    low, high = bench.Share("", 5, 10).interval()
    assert (low, high) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert bench.Share("", 0, 0).cells() == "- | 0/0 | -"


def test_the_saved_figures_are_those_of_the_sheets(bench, monkeypatch, tmp_path, capsys):
    saved = tmp_path / "reading.json"
    monkeypatch.setattr(sys, "argv", ["sum_up.py", "--save", str(saved)])
    bench.main()
    assert json.loads(saved.read_text()) == json.loads((ROOT / "results/reading.json").read_text())
    assert "| wrong sentences |" in capsys.readouterr().out


def test_the_pages_show_the_table_of_the_sheets(bench):
    for page in bench.PAGES:
        assert bench.BLOCK.findall(page.read_text(encoding="utf-8")) == [bench.page_table()], page


def test_what_both_sheets_hold_has_one_verdict(bench):
    verdicts = {(one["id"], one["sentence"]): one["verdict"] for one in bench.read("before")}
    for one in bench.read("after"):
        assert verdicts.get((one["id"], one["sentence"]), one["verdict"]) == one["verdict"]
