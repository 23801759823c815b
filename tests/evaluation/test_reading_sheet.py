"""Reading sheets: what is drawn, what a filled one may hold, and the figures that come of it."""

import csv
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dialogist.errors import DataError
from dialogist.evaluation.reading_sheet import (
    COLUMNS,
    Row,
    is_sheet,
    read_sheet,
    rows_of,
    scores_of,
)
from dialogist.records import Dialogue, EvidenceSpan, Statement, Summary, Utterance

LUNCH = Dialogue(
    (Utterance("Ann", "Lunch at noon?"), Utterance("Bo", "Yes, at Luigi's.")),
    "d1",
    metadata={"facts": ["Ann asks for lunch", "Bo agrees"], "kind": "everyday"},
)
SUMMARY = Summary(
    "Ann wants lunch. Bo pays.",
    "d1",
    sentences=(
        Statement(
            "Ann wants lunch.", 0, 16, evidence=(EvidenceSpan(0, 0, 5, 0.9),), kind="reported"
        ),
        Statement("Bo pays.", 17, 25, check="failed"),
    ),
)


def filled(dialogue: str, verdict: str, **more: str) -> Row:
    row = Row(dialogue, "", "It is so.", "free", "passed", "", "")
    return replace(row, verdict=verdict, **more)


def written(path: Path, rows: list[Row]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        writer.writerows(map(asdict, rows))
    return path


def test_a_row_has_what_a_reader_needs() -> None:
    first, second = rows_of(LUNCH, SUMMARY)
    assert first.transcript == "Ann: Lunch at noon?\nBo: Yes, at Luigi's."
    assert (first.evidence, first.kind, first.group, first.facts) == (
        "Ann: Lunch",
        "reported",
        "everyday",
        "2",
    )
    assert (second.statement, second.check, second.transcript, second.facts) == (
        "Bo pays.",
        "failed",
        "",
        "",
    )


def test_a_text_without_statements_is_read_sentence_by_sentence() -> None:
    rows = rows_of(LUNCH, Summary("Ann asks. Bo says yes.", "d1"))
    assert [row.statement for row in rows] == ["Ann asks.", "Bo says yes."]


def test_figures_of_a_filled_sheet() -> None:
    rows = [
        filled("a", "correct", facts="4", held="2"),
        filled("a", "vague"),
        filled("b", "wrong", error="role", facts="4", held="3"),
        replace(filled("b", "wrong", error="role"), check="failed"),
        filled("c", "correct"),
    ]
    scores = scores_of(rows, "sheet")
    assert scores.ids == ("a", "b", "c")
    assert scores.figure("wrong") == pytest.approx(40)
    assert scores.figure("vague") == pytest.approx(20)
    assert scores.figure("dialogues") == pytest.approx(100 / 3)
    assert scores.figure("unmarked") == pytest.approx(25)
    assert scores.figure("facts") == pytest.approx(100 * 5 / 8)
    assert scores.figure("good") == pytest.approx(50)
    assert scores.figure("error.role") == pytest.approx(40)
    assert list(scores.each("wrong")) == [0, 100, 0]


def test_rows_without_a_verdict_are_counted_and_left_out(tmp_path: Path) -> None:
    path = written(tmp_path / "s.csv", [filled("a", "Correct "), filled("a", "")])
    assert is_sheet(path)
    rows, left = read_sheet(path)
    assert [row.verdict for row in rows] == ["correct"]
    assert left == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (filled("a", "rihgt"), "verdict 'rihgt'"),
        (filled("a", "wrong", error="rolle"), "error 'rolle'"),
        (filled("a", "correct", error="role"), "not called wrong"),
        (filled("a", "correct", facts="two"), "facts 'two'"),
        (filled("a", "correct", facts="2", held="3"), "held 3 of facts 2"),
        (filled("a", ""), "no row has a verdict"),
    ],
)
def test_what_a_cell_may_not_hold_is_told_with_its_line(
    row: Row, told: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "s.csv", [row])
    with pytest.raises(DataError, match=told):
        read_sheet(path)


def test_another_table_is_no_sheet(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,prediction\n1,x\n")
    assert not is_sheet(tmp_path / "p.csv")
    assert not is_sheet(tmp_path / "absent.csv")
