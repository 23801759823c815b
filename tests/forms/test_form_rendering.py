"""Filled forms as text, Markdown, cells and JSON."""

import json
from dataclasses import replace

from tests.forms.samples import MEETING, MINUTES, dialogue_of, scored, summary_of

from dialogist.forms.fill import (
    Entry,
    FilledForm,
    FilledSection,
    fill,
    form_as_markdown,
    form_as_text,
    section_as_cell,
)
from dialogist.forms.form_file import load_form, parse_form

FILLED = fill(MINUTES, MEETING, load_form("meeting"))


def test_text():
    assert form_as_text(FILLED, MEETING.utterances) == (
        "Title: “OK, shall we use rubber buttons then?” [1]\n"
        "Attendees: Anna, Bo, Cy\n"
        "\nDecisions\n- Anna: “OK, shall we use rubber buttons then?” – Bo: “Yes, sounds good.” "
        "[1] [2]\n"
        "\nActions\n- Anna: “Bo, can you send the *minutes* to the team by Friday?” – "
        "Bo: “Sure, I will.” [3] [4]\n"
        "- Cy: “I'll call the supplier tomorrow morning.” [5]\n"
        "\nOpen questions\n- Anna: “Who pays for the buttons and the remote control?” – "
        "Bo: “I don't know.” [6] [7]\n"
        "\nSummary\n- The group decided to use rubber buttons. (unverified) [1]\n"
        '    [1] Anna: "OK, shall we use rubber buttons then?"\n'
        "- Cy will call the supplier. (unverified) [5]\n"
        '    [5] Cy: "I\'ll call the supplier tomorrow morning."\n'
        "- It was a short meeting. (unverified)\n"
    )


def test_markdown_is_escaped_and_lists_what_it_refers_to():
    text = form_as_markdown(FILLED, MEETING.utterances)
    assert text.startswith("# m1\n\n**Title**: “OK, shall we use rubber buttons then?” [1]\n")
    assert "- Anna: “Bo, can you send the \\*minutes\\* to the team by Friday?” – Bo" in text
    evidence = text.partition("## Evidence\n\n")[2].splitlines()
    assert evidence[2] == (
        "- [3] **Anna**: Bo, can you send the \\*minutes\\* to the team by Friday?"
    )
    assert [line[:5] for line in evidence] == [f"- [{n}]" for n in range(1, 8)]


def test_nothing_in_a_text_steers_a_terminal_or_a_page():
    dialogue = dialogue_of("A\x1b[2J: I'll send <script>alert(1)</script> | `x` to Bo\u202e.")
    form = parse_form(
        "name: x\nlanguage: en\nversion: 1\nsections:\n"
        "  - {title: S, source: summary}\n  - {title: A, source: actions}\n"
    )
    filled = fill(summary_of("# Not a heading\x07 & <b>bold</b>."), dialogue, form)
    markdown = form_as_markdown(filled, dialogue.utterances)
    for text in (form_as_text(filled, dialogue.utterances), markdown):
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "- \\# Not a heading &amp; \\<b\\>bold\\</b\\>." in markdown
    assert "<script>" not in markdown


def test_what_is_empty_unclear_more_or_wrong_is_said():
    money = (Entry("$1", "dialogue", type="amount"), Entry("$2", "dialogue", type="amount"))
    wrong = Entry("It is.", "summary", verdict="contradicted", reasons=("nobody says 45",))
    sections = (
        FilledSection("Sum", "field", money, unclear=True),
        FilledSection("Plan", "actions", says="None found.", missing=True),
        FilledSection("All", "summary", (wrong,), more=2),
    )
    filled = FilledForm("x", 1, "en", "d", sections)
    assert form_as_text(filled, ()) == (
        "Sum: $1 or $2 (the dialogue has several)\n"
        "\nPlan\n  None found.\n"
        "\nAll\n- It is. (contradicted: nobody says 45)\n  (2 more)\n"
        "\nNote: nothing was found for 'Plan', which this form requires\n"
    )
    assert "*None found.*" in form_as_markdown(filled, ())
    assert "- *2 more*" in form_as_markdown(filled, ())


def test_a_cell_has_no_verdicts_and_says_where_the_outcome_stands():
    said = dialogue_of(
        "Tom: I was charged twice for order AB-20931 and for order AB-20932.",
        "Agent: I have refunded the fee to your card. I'll check the rest on April 2.",
    )
    scored(said, done=["refunded"], outcome=["refunded"])
    filled = fill(summary_of("Tom pays."), said, load_form("ticket"))
    cells = {section.title: section_as_cell(section) for section in filled.sections}
    assert cells["What was done"] == "Agent: “I have refunded the fee to your card.”"
    assert cells["Outcome"] == "As under 'What was done'."
    assert cells["Summary"] == "Tom pays."
    assert cells["Order"] == "AB-20931 or AB-20932 (the dialogue has several)"
    assert cells["Phone"] == ""


def test_json_has_every_key_always():
    full = json.loads(json.dumps(FILLED.to_json()))
    assert full.keys() == replace(FILLED, sections=()).to_json().keys() == {
        "schema_version", "form", "version", "language", "id", "sections", "left_out", "notes",
        "missing",
    }  # fmt: skip
    assert {key for s in full["sections"] for entry in s["entries"] for key in entry} == {
        "text", "origin", "evidence", "verdict", "reasons", "owner", "deadline", "type", "role",
        "profile",
    }  # fmt: skip
    assert {frozenset(s) for s in full["sections"]} == {
        frozenset(("title", "source", "entries", "says", "missing", "more", "unclear", "elsewhere"))
    }
    action = full["sections"][3]["entries"][1]
    span = action["evidence"][0]
    said = MEETING.utterances[span["utterance"]].text[span["start"] : span["end"]]
    assert said in action["text"]
