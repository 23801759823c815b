"""Renaming: whole words, all at once, all places moved."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.forms.samples import MEETING, MINUTES, dialogue_of, summary_of

from dialogist.errors import UsageError
from dialogist.records import Entity, Statement, Summary, Warning
from dialogist.forms.fill import fill
from dialogist.forms.perspective import Renamer, check_names, rename, rename_filled
from dialogist.forms.template_config import load_template


@pytest.mark.parametrize(
    ("names", "text", "expected"),
    [
        (
            {"#Person1#": "Anna"},
            "#Person1#'s cat. #Person1#, #Person10#.",
            "Anna's cat. Anna, #Person10#.",
        ),
        ({"Ann": "Bo"}, "Ann, Anna and Anne-Marie; Ann's.", "Bo, Anna and Anne-Marie; Bo's."),
        ({"Ann": "Bo"}, "Ann-Marie, O'Ann, Mc-Ann, Ann-led.", "Ann-Marie, O'Ann, Mc-Ann, Bo-led."),
        ({"Ann": "Bo", "Ann Lee": "Cy"}, "Ann Lee met Ann.", "Cy met Bo."),
        ({"Ann": "Bo", "Bo": "Ann"}, "Ann told Bo.", "Bo told Ann."),
        ({"Will": "Bo"}, "Will will go.", "Bo will go."),
        (
            {"anna": "Bo"},
            "anna mails anna@x.com or www.x.com/anna.",
            "Bo mails anna@x.com or www.x.com/anna.",
        ),
        ({"Ann": "Bo"}, "Ann'll go, Ann'd stay, 'Ann' said.", "Bo'll go, Bo'd stay, 'Bo' said."),
        ({"客服": "小王"}, "客服回答用户，Ann客服A。", "小王回答用户，Ann小王A。"),
        ({"王": "李"}, "王国的王 王。", "王国的王 李。"),
        ({"Ann": "李"}, "用户Ann说", "用户李说"),
        ({"José": "Bo"}, "José y Joséa", "Bo y Joséa"),
        ({"A.": "Bo"}, "A. met AA.", "Bo met AA."),
        ({"Ann": r"\1"}, "Ann", r"\1"),
        ({}, "Ann", "Ann"),
    ],
)
def test_text(names, text, expected):
    assert Renamer(names).text(text) == expected


FULL = Summary(
    "#Person1# asks Tom Lee. Tom helps #Person1#.",
    key_points=(
        Statement("#Person1# asks Tom Lee.", 0, 23, "Question"),
        Statement(" Tom helps #Person1#.", 23, 44, "Offer"),
    ),
    sentences=(
        Statement("#Person1# asks Tom Lee.", 0, 23),
        Statement("Tom helps #Person1#.", 24, 44),
    ),
    warnings=(
        Warning("name", "'Tom Lee' is not in the dialogue", 15, 22, "Tom Lee"),
        Warning("name", "'Lee' is not there", 19, 22, "Lee"),
        Warning("input", "#Person1# was merged"),
    ),
    entities=(Entity("NAME", "Tom", 0, 3, 6), Entity("EMAIL", "Tom@x.com", 0, 9, 18)),
    alternatives=("Tom helps #Person1#.",),
    reason="#Person1# is unsure",
)


def consistent(summary):
    for one in (*summary.key_points, *summary.sentences):
        assert summary.text[one.start : one.end] == one.text
    for one in summary.warnings:
        if one.start >= 0:
            assert summary.text[one.start : one.end] == one.text
    if summary.key_points:
        assert "".join(p.text for p in summary.key_points) == summary.text


def test_everything_is_renamed_and_moved():
    new = rename(FULL, {"#Person1#": "Anna", "Tom": "Bartholomew"})
    consistent(FULL)
    consistent(new)
    assert new.text == "Anna asks Bartholomew Lee. Bartholomew helps Anna."
    assert [w.message for w in new.warnings] == [
        "'Bartholomew Lee' is not in the dialogue",
        "'Lee' is not there",
        "Anna was merged",
    ]
    assert new.warnings[1].text == "Lee"
    assert [e.text for e in new.entities] == ["Bartholomew", "Tom@x.com"]
    assert (new.entities[0].start, new.entities[0].end) == (3, 6)
    assert new.alternatives == ("Bartholomew helps Anna.",)
    assert new.reason == "Anna is unsure"


def test_a_span_within_a_name_becomes_the_name():
    new = rename(FULL, {"Tom Lee": "Cy"})
    consistent(new)
    assert new.warnings[1].text == "Cy"


def test_statements_without_places_are_renamed_all_the_same():
    summary = Summary("Ann goes.", sentences=(Statement("Ann left."),))
    assert rename(summary, {"Ann": "Bo"}).sentences[0].text == "Bo left."


WORDS = [
    "Ann",
    "Bo",
    "#Person1#",
    "Anna",
    "and",
    "Bo's",
    ",",
    "你好",
    "Ann.",
    "\n",
    "Bobby",
    "客服",
]
TEXTS = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)


@given(
    st.lists(TEXTS.map(str.strip).filter(bool), max_size=4),
    st.sampled_from(
        [
            {"Ann": "Bo", "Bo": "Ann"},
            {"#Person1#": "客服", "客服": "#Person1#"},
            {"Ann": "Bo", "Bo": "Anna", "Anna": "Ann"},
        ]
    ),
)
def test_changing_places_again_and_again_comes_back(sentences, names):
    summary = summary_of(*sentences)
    once = rename(summary, names)
    consistent(once)
    back = once
    for _ in range(len(names) - 1):
        back = rename(back, names)
    assert back == summary
    for name in names:
        assert Renamer({name: "Q"}).text(once.text).count("Q") == Renamer(
            {old: "Q" for old, new in names.items() if new == name}
        ).text(summary.text).count("Q")


@given(TEXTS, st.sampled_from(["Ann", "#Person1#"]), st.text("xyz#'é我-", min_size=1, max_size=4))
def test_no_letter_beside_a_name_ever_changes(text, old, new):
    renamed = Renamer({old: new}).renamed(text)
    kept = renamed.text
    for first, last, _ in reversed(renamed.spans):
        start, end = renamed.around(first, last)
        assert kept[start:end] == new
        kept = kept[:start] + old + kept[end:]
    assert kept == text


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"": "Bo"}, "is no name"),
        ({"Ann": " "}, "is no name"),
        ({"Ann": "B\no"}, "is no name"),
        ({"Ann": "Cy", "Bo": "Cy"}, "Ann and Bo would both be called 'Cy'"),
    ],
)
def test_refused_names(names, message):
    with pytest.raises(UsageError, match=message):
        rename(FULL, names)


def test_names_are_checked_against_the_dialogue():
    check_names({"Anna": "Bo", "Bo": "Anna"}, MEETING)
    with pytest.raises(UsageError, match=r"'Ana' says nothing .*did you mean 'Anna'"):
        check_names({"Ana": "Eve"}, MEETING)
    with pytest.raises(UsageError, match="cannot be called 'Bo': somebody else is"):
        check_names({"Anna": "Bo"}, MEETING)
    with pytest.raises(UsageError, match="nobody by name"):
        check_names({"Anna": "Bo"}, dialogue_of(": hm"))


def test_a_filled_template_is_renamed_but_what_was_said_is_not():
    filled = fill(MINUTES, MEETING, load_template("meeting"))
    new = rename_filled(filled, {"Anna": "Bo", "Bo": "Anna"})
    assert [e.text for e in new.sections[1].entries] == ["Bo", "Anna", "Cy"]
    assert new.sections[3].entries[0].owner == "Anna"
    assert new.cited[0].speaker == "Bo"
    assert [c.text for c in new.cited] == [c.text for c in filled.cited]
    assert rename_filled(new, {"Anna": "Bo", "Bo": "Anna"}) == filled
    assert replace(new, sections=()) != filled


def test_a_role_is_renamed_as_reports_write_it_and_quotations_stay():
    told = "Agent has booked it, and Agent’s boss agrees. AGENT: “Ask Agent.”"
    renamed = rename(summary_of(told), {"AGENT": "Carla"})
    assert renamed.text == "Carla has booked it, and Carla’s boss agrees. Carla: “Ask Agent.”"
    assert rename(summary_of("Agents rest"), {"AGENT": "Carla"}).text == "Agents rest"
