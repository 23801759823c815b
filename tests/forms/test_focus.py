"""Focus on one speaker, and what people are called."""

import pytest
from tests.forms.samples import dialogue_of, span, summary_of

from dialogist.errors import UsageError
from dialogist.records import Statement, Warning
from dialogist.forms.perspective import focus, names_by, rename

DIALOGUE = dialogue_of("Ann: I like it.", "Bo: I don't.", "Cy: Whatever.")
SUMMARY = summary_of(
    "Ann likes the car.",
    "Bo does not like it.",
    "The price is high.",
    "Ann and Bo buy it.",
    "Cy is bored, but Ann laughs.",
    evidence=[[span(0)], [span(0)], [span(1, 0.6), span(0, 0.3)], [], []],
    warnings=(
        Warning("number", "m", 37, 39, "Th"),
        Warning("name", "bored", 82, 87, "bored"),
        Warning("input", "about none"),
    ),
    alternatives=("Ann likes it.",),
)


def kept(speaker):
    return [s.text for s in focus(SUMMARY, DIALOGUE, speaker)[0].sentences]


def test_subjects_count_first_then_evidence():
    assert kept("Ann") == [
        "Ann likes the car.",
        "Ann and Bo buy it.",
        "Cy is bored, but Ann laughs.",
    ]
    assert kept("Bo") == ["Bo does not like it.", "The price is high.", "Ann and Bo buy it."]
    assert kept("Cy") == ["Cy is bored, but Ann laughs."]


def test_places_move_and_what_is_left_out_is_said():
    summary, notes = focus(SUMMARY, DIALOGUE, "Ann")
    assert summary.text == "Ann likes the car. Ann and Bo buy it. Cy is bored, but Ann laughs."
    for one in summary.sentences:
        assert summary.text[one.start : one.end] == one.text
    assert notes[0] == "2 of 5 sentences are not about Ann: left out"
    assert [w.message for w in summary.warnings] == ["bored", "about none"]
    assert summary.warnings[0].start >= 0
    assert summary.alternatives == ()
    assert "alternatives" in notes[1]


def test_key_points_keep_their_labels_and_make_up_the_text():
    text = "Ann asks. Bo refuses. Ann agrees."
    points = (Statement("Ann asks.", 0, 9, "Q"), Statement(" Bo refuses. Ann agrees.", 9, 33, "R"))
    summary = summary_of("Ann asks.", "Bo refuses.", "Ann agrees.", key_points=points)
    assert summary.text == text
    new = focus(summary, DIALOGUE, "Ann")[0]
    assert [(p.label, p.text) for p in new.key_points] == [
        ("Q", "Ann asks."),
        ("R", " Ann agrees."),
    ]
    assert "".join(p.text for p in new.key_points) == new.text


def test_nothing_about_a_speaker_is_said():
    summary = summary_of("Ann likes it.")
    new, notes = focus(summary, DIALOGUE, "Cy")
    assert new.text == ""
    assert notes == ("no sentence of the summary is about Cy",)


def test_whole_summaries_need_no_note():
    assert focus(summary_of("Ann likes it."), DIALOGUE, "Ann")[1] == ()


def test_an_unknown_speaker_is_refused():
    with pytest.raises(UsageError, match=r"'An' says nothing .*did you mean 'Ann'"):
        focus(SUMMARY, DIALOGUE, "An")


def test_roles_are_numbered_where_several_have_one():
    dialogue = dialogue_of("Ann/agent: Hi.", "Bo/customer: Hi.", "Cy/agent: Hi.", "Di: Hm.")
    names, notes = names_by("role", dialogue)
    assert names == {"Ann": "Agent 1", "Bo": "Customer", "Cy": "Agent 2"}
    assert notes == ("no role is known for Di: kept as written",)
    assert rename(summary_of("Bo calls Ann."), names).text == "Customer calls Agent 1."


def test_tags_get_the_names_that_the_dialogue_says():
    dialogue = dialogue_of(
        "#Person1#: Good morning, Mr. Smith.",
        "#Person2#: Hi, Anna, how are you?",
        "#Person1#: Fine. Thanks, Mr. Smith.",
    )
    names, notes = names_by("name", dialogue)
    assert names == {"#Person1#": "Anna", "#Person2#": "Mr. Smith"}
    assert notes == ()


def test_speakers_with_names_keep_them_and_unknown_ones_are_told():
    assert names_by("name", DIALOGUE) == ({}, ())
    names, notes = names_by("name", dialogue_of("#Person1#: Hello.", "#Person2#: Hello."))
    assert names == {}
    assert notes == ("no name is known for #Person1#, #Person2#: kept as written",)
