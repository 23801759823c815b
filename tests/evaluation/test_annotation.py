"""The page on which people write summaries: what it shows, and that its record is training data."""

import csv
import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from dialogist.formats import ReadOptions, read_dialogues
from dialogist.errors import DataError
from dialogist.evaluation.annotation import (
    SHEET_COLUMNS,
    SheetRow,
    annotation_page,
    is_sheet,
    read_sheet,
    sample_dialogues,
    sheet_rows,
    sheet_scores,
)
from dialogist.records import Dialogue, EvidenceSpan, Statement, Summary, Utterance, Warning

LUNCH = Dialogue(
    (Utterance("Ann", "Lunch at noon? </script>"), Utterance("Bo", "Yes, at Luigi's.")),
    "d1",
    ("An old summary.",),
    {"shop": "9"},
)
DRAFT = Summary(
    "Ann asks Bo. Bo pays £9.",
    "d1",
    sentences=(
        Statement("Ann asks Bo.", 0, 12, evidence=(EvidenceSpan(0, 0, 5, 0.9),)),
        Statement("Bo pays £9.", 13, 24, evidence=(EvidenceSpan(1, 0, 3, 0.9),) * 2),
    ),
    warnings=(Warning("number", "the dialogue does not bear out '£9'", 21, 23, "£9"),),
)


def items_of(page: str) -> list[dict[str, object]]:
    found = re.search(r'id="page">(.*?)</script>', page, re.DOTALL)
    assert found
    items: list[dict[str, object]] = json.loads(found[1])["items"]
    return items


def test_a_draft_comes_with_its_evidence_and_doubts() -> None:
    [item] = items_of(annotation_page([LUNCH], [DRAFT]))
    assert item["draft"] == DRAFT.text
    assert item["sentences"] == [
        {"text": "Ann asks Bo.", "turns": [0], "doubts": []},
        {"text": "Bo pays £9.", "turns": [1], "doubts": ["the dialogue does not bear out '£9'"]},
    ]


def test_without_drafts_the_texts_are_empty_and_nothing_is_said_of_them() -> None:
    page = annotation_page([LUNCH], None)
    assert items_of(page)[0]["draft"] == ""
    assert "a model's draft" not in page
    assert "a model's draft" in annotation_page([LUNCH], [replace(DRAFT, model="default")])
    own = annotation_page([LUNCH], [replace(DRAFT, model="")])
    assert "the summary that the file holds" in own
    assert "a model's draft" not in own


def test_what_is_saved_is_read_as_training_data(tmp_path: Path) -> None:
    """The browser adds the text to the record and writes a line; the old summary is not in it."""
    [item] = items_of(annotation_page([LUNCH], [DRAFT]))
    record = item["record"]
    assert isinstance(record, dict)
    assert "summaries" not in record
    path = tmp_path / "summaries.jsonl"
    path.write_text(json.dumps(record | {"summaries": ["Ann and Bo will have lunch."]}) + "\n")
    [again] = read_dialogues(path, ReadOptions(strict=True), lambda problem: None)
    assert again.utterances == LUNCH.utterances
    assert again.references == ("Ann and Bo will have lunch.",)
    assert (again.id, again.metadata["shop"]) == ("d1", "9")


def test_a_smaller_number_is_the_head_of_a_larger_one() -> None:
    every = [Dialogue((), str(n)) for n in range(30)]
    assert sample_dialogues(every, 40, 1)[:7] == sample_dialogues(every, 7, 1)
    assert len(sample_dialogues(every, 40, 1)) == 30
    assert sample_dialogues(every, 30, 1) != sample_dialogues(every, 30, 2)


LUNCH_READING_SHEET = Dialogue(
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


def filled(dialogue: str, verdict: str, **more: str) -> SheetRow:
    row = SheetRow(dialogue, "", "It is so.", "free", "passed", "", "")
    return replace(row, verdict=verdict, **more)


def written(path: Path, rows: list[SheetRow]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, SHEET_COLUMNS)
        writer.writeheader()
        writer.writerows(map(asdict, rows))
    return path


def test_a_row_has_what_a_reader_needs() -> None:
    first, second = sheet_rows(LUNCH_READING_SHEET, SUMMARY)
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
    rows = sheet_rows(LUNCH_READING_SHEET, Summary("Ann asks. Bo says yes.", "d1"))
    assert [row.statement for row in rows] == ["Ann asks.", "Bo says yes."]


def test_figures_of_a_filled_sheet() -> None:
    rows = [
        filled("a", "correct", facts="4", held="2"),
        filled("a", "vague"),
        filled("b", "wrong", error="role", facts="4", held="3"),
        replace(filled("b", "wrong", error="role"), check="failed"),
        filled("c", "correct"),
    ]
    scores = sheet_scores(rows, "sheet")
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
    row: SheetRow, told: str, tmp_path: Path
) -> None:
    path = written(tmp_path / "s.csv", [row])
    with pytest.raises(DataError, match=told):
        read_sheet(path)


def test_another_table_is_no_sheet(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,prediction\n1,x\n")
    assert not is_sheet(tmp_path / "p.csv")
    assert not is_sheet(tmp_path / "absent.csv")
