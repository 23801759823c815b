"""Reading sheets, the page for annotators, and blind comparisons."""

import csv

import pytest
from tests.lab.evaluation.conftest import EVIL, dialogue, page_data, rated

from dialogist.errors import DataError
from dialogist.records import Dialogue, EvidenceSpan, Statement, Summary, Utterance
from dialogist_lab.evaluation import judgements
from dialogist_lab.evaluation.judgements import (
    QUESTIONS,
    rating_page,
    read_answers,
    read_sheet,
    write_sheet,
)
from dialogist_lab.evaluation.systems import output_of, sample


def summary(number: int = 0) -> Summary:
    first, second = 'Ann: "Shall we meet at noon?"', f"Bo says 45 {EVIL}."
    return Summary(
        f"{first} {second}",
        f"d{number}",
        statements=(
            Statement(first, evidence=(EvidenceSpan(0, 0, 5),), verdict="quoted"),
            Statement(second, verdict="contradicted", reasons=("nobody says 45",)),
        ),
    )


def test_a_sheet_goes_out_and_comes_back(tmp_path):
    outputs = [output_of(summary(i), dialogue(i)) for i in range(3)]
    table, page = write_sheet(outputs, tmp_path / "sheet")
    assert judgements.is_sheet(table)
    assert not judgements.is_sheet(page)
    rows = list(csv.DictReader(table.read_text().splitlines(keepends=True)))
    assert [row["check"] for row in rows] == ["quoted", "contradicted"] * 3
    assert rows[0]["evidence"] == "Ann: Shall"
    assert rows[0]["transcript"].startswith("Ann: Shall we meet at noon?\nBo: Yes")
    assert rows[1]["transcript"] == ""
    data = page_data(page.read_text())
    assert [item["cited"] for item in data["items"]] == [[[0], []]] * 3
    assert data["columns"] == list(rows[0])
    with pytest.raises(DataError, match="no row has a verdict yet"):
        read_sheet(table)


def test_a_bare_text_is_read_by_its_sentences():
    rows = judgements.sheet_item(output_of(Summary("Ann goes. Bo stays."), dialogue()))["rows"]
    assert [row["statement"] for row in rows] == ["Ann goes.", "Bo stays."]


def filled(tmp_path, *cells: dict[str, str]):
    """A sheet of two statements a dialogue, filled."""
    outputs = [output_of(summary(i), dialogue(i)) for i in range((len(cells) + 1) // 2)]
    table, _ = write_sheet(outputs, tmp_path / "sheet")
    rows = list(csv.DictReader(table.read_text().splitlines(keepends=True)))
    for row, own in zip(rows, cells, strict=False):
        row.update(own)
    with table.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return table


def test_what_a_reader_found(tmp_path):
    table = filled(
        tmp_path,
        {"verdict": "correct", "facts": "4", "held": "2"},
        {"verdict": "Wrong ", "error": "number"},
        {"verdict": "vague", "facts": "2", "held": "1"},
        {"verdict": "correct"},
    )
    rows, unread = read_sheet(table)
    scores = judgements.sheet_scores(rows)
    assert (len(rows), unread) == (4, 0)
    expected = {"wrong": 25, "vague": 25, "dialogues": 50, "facts": 50, "error.number": 25}
    expected |= {"check.contradicted": 50, "check.quoted": 0}
    assert {key: scores.figure(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("cells", "error"),
    [
        ({"verdict": "good"}, "row 2: verdict 'good': write one of correct, vague, wrong"),
        ({"verdict": "wrong", "error": "spelling"}, "error 'spelling': write one of role"),
        ({"verdict": "vague", "error": "role"}, "of a statement that is not called wrong"),
        ({"verdict": "correct", "facts": "two"}, "facts 'two': write a whole number"),
        ({"verdict": "correct", "facts": "2", "held": "3"}, "held 3 of facts 2"),
    ],
)
def test_sheets_with_a_fault(tmp_path, cells, error):
    with pytest.raises(DataError, match=error):
        read_sheet(filled(tmp_path, cells))


def test_a_sample_is_the_head_of_a_larger_one():
    talks = [dialogue(i) for i in range(20)]
    assert sample(talks, 5, 1) == sample(talks, 9, 1)[:5]
    assert sample(talks, 5, 1) != sample(talks, 5, 2)
    assert sorted(d.id for d in sample(talks, 99, 1)) == sorted(d.id for d in talks)


def test_the_page_for_annotators():
    html = judgements.annotation_page([dialogue()], [summary()], model=True)
    [item] = page_data(html)["items"]
    assert item["turns"][1] == ["Bo", "Yes, at Luigi's bar."]
    assert item["draft"].endswith(f"{EVIL}.")
    assert [s["doubts"] for s in item["sentences"]] == [[], ["nobody says 45"]]
    assert "a model's draft" in html
    html = judgements.annotation_page([dialogue()], [Summary("x")], model=False)
    assert "The text is the summary that the file" in html


PAIRS = [
    (
        output_of(Summary(f"A on {i} {EVIL}"), dialogue(i)),
        output_of(Summary(f"A on {i} {EVIL}" if i == 7 else f"B on {i}"), dialogue(i)),
    )
    for i in range(8)
]


def preferring(html: str, letter: str, **more: object) -> dict:
    """Answers that prefer a system in everything."""
    answers = {}
    for number, item in enumerate(page_data(html)["items"]):
        place = "first" if item["first"].startswith(letter) else "second"
        answers[number] = dict.fromkeys(QUESTIONS, place) | {"false": [], "note": "", **more}
    return answers


def test_pages_are_blind_and_repeatable():
    html, shown, identical = rating_page(PAIRS, ("alpha", "beta"), 8, 1)
    items = page_data(html)["items"]
    assert (shown, identical) == (7, 1)
    assert sum(item["first"].startswith("B") for item in items) == 3
    assert "alpha" not in html
    assert "beta" not in html
    assert rating_page(PAIRS, ("alpha", "beta"), 8, 1)[0] == html
    assert rating_page(PAIRS, ("alpha", "beta"), 8, 2)[0] != html


def test_what_raters_say(tmp_path):
    html, shown, _ = rating_page(PAIRS, ("alpha", "beta"), 8, 1)
    ann = rated(tmp_path, html, "Ann", preferring(html, "A"))
    bo = rated(tmp_path, html, "Bo", preferring(html, "A", note="see line 2", false=["first"]))
    with pytest.raises(DataError, match="rater 'Ann' is there already"):
        read_answers([ann, ann])
    sheets = read_answers([ann, bo])
    (preferences, falsehoods), notes = judgements.rating_report(sheets)
    assert preferences[0][:4] == ["", "alpha", "equal", "beta"]
    assert preferences[1][:4] == ["overall", str(2 * shown), "0", "0"]
    assert preferences[1][4:7] == ["100.0 (100.0 to 100.0)", "7:0", "0.016"]
    assert sum(int(row[1].split()[0]) for row in falsehoods[1:]) == shown
    assert notes[0] == "7 items, 1 more were the same; answered whole: Ann 7, Bo 7"
    assert notes[1].startswith("Bo, item 1 (")


def test_preferred_summaries_are_those_that_nobody_marks(tmp_path):
    html, shown, _ = rating_page(PAIRS, ("alpha", "beta"), 8, 1)
    page = tmp_path / "page.html"
    page.write_text(html)
    answers = preferring(html, "A")
    answers[0]["false"] = ["first", "second"]
    answers[1]["overall"] = "equal"
    saved = read_answers([rated(tmp_path, html, "Ann", answers)])
    preferred = list(judgements.preferred_dialogues(page, saved))
    assert len(preferred) == shown - 2
    assert all(talk.references[0].startswith("A on") for talk in preferred)
    assert preferred[0].utterances[0] == Utterance("Ann", "Shall we meet at noon?")
    other = tmp_path / "other.html"
    other.write_text(rating_page(PAIRS[:3], ("alpha", "beta"), 8, 1)[0])
    with pytest.raises(DataError, match="not the page of these answers"):
        list(judgements.preferred_dialogues(other, saved))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"kind": "x"}, "is no file of answers"),
        ({"rater": ""}, "rater: .*save it again from the page"),
        ({"answers": {"0": {"overall": "third"}}}, "answers.0.overall"),
        ({"answers": {"99": {}}}, "items that are not on its page"),
        ({"key": "AAAA"}, "its key is damaged"),
    ],
)
def test_answers_with_a_fault(tmp_path, changes, error):
    html, _, _ = rating_page(PAIRS, ("alpha", "beta"), 3, 1)
    with pytest.raises(DataError, match=error):
        read_answers([rated(tmp_path, html, "Ann", {}, **changes)])


def test_texts_of_any_kind_can_be_shown():
    talk = Dialogue((Utterance("A\x00", "\ud800 \uffff ok"),), "d")
    page_data(judgements.annotation_page([talk], [Summary("\x07")], model=True))
