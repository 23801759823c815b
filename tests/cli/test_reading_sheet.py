"""``dialogist evaluate --read``: a sheet is drawn, filled in a browser, and summed up."""

import csv
import json

import pytest

TURNS = [["Ann", "Lunch at noon, Bo?"], ["Bo", "Yes, at Luigi's. I will book a table."]]


@pytest.fixture
def sheet(dialogist, tmp_path):
    lines = [json.dumps({"id": f"d{i}", "turns": TURNS, "facts": ["a", "b"]}) for i in range(4)]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    made = dialogist("evaluate", "lead-1", "chats.jsonl", "--read", "3", "--output", "sheet")
    assert made.returncode == 0, made.stderr
    assert b"3 statements about 3 of 4 dialogues" in made.stderr
    return tmp_path / "sheet.csv"


def rows_of(sheet):
    return list(csv.DictReader(sheet.read_text().splitlines(keepends=True)))


def test_a_filled_sheet_is_summed_up(dialogist, sheet):
    rows = rows_of(sheet)
    for row, verdict in zip(rows, ("correct", "wrong", ""), strict=True):
        row["verdict"] = verdict
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    told = dialogist("evaluate", "sheet.csv", "--format", "json")
    assert json.loads(told.stdout)["figures"]["wrong"]["figure"] == 50
    assert b"1 statement left out: without a verdict" in told.stderr
    assert b"wrong statements" in dialogist("evaluate", "sheet.csv").stdout


def test_format_has_no_effect_on_a_sheet_and_is_refused(dialogist, sheet):
    made = dialogist("evaluate", "lead-1", "chats.jsonl", "--read", "3", "--format", "json")
    assert made.returncode == 2
    assert b"leave --format out" in made.stderr


def test_the_page_is_filled_by_keyboard_and_saves_the_same_sheet(dialogist, sheet, browser):
    page = browser.new_page()
    faults = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(sheet.with_suffix(".html").as_uri())
    for key in ("1", "3", "r", "2"):
        page.keyboard.press(key)
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(sheet)
    assert not faults
    rows = rows_of(sheet)
    assert [(row["verdict"], row["error"]) for row in rows] == [
        ("correct", ""),
        ("wrong", "role"),
        ("vague", ""),
    ]
