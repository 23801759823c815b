"""Filled templates as text, Markdown and JSON."""

import json
from dataclasses import replace

from tests.forms.samples import MEETING, MINUTES, dialogue_of, summary_of

from dialogist.forms.fill import fill
from dialogist.forms.filled import (
    Entry,
    Filled,
    FilledSection,
    as_markdown,
    as_text,
    filled_to_json,
    plain,
)
from dialogist.forms.template_config import load_template, parse_template

FILLED = fill(MINUTES, MEETING, load_template("meeting"))


def test_text():
    assert as_text(FILLED) == (
        "Title: Buttons, remote control [1] [6]\n"
        "Attendees: Anna, Bo, Cy\n"
        "\nDecisions\n- Use rubber buttons (reported) [1] [2]\n"
        '    [1] Anna: "OK, shall we use rubber buttons then?"\n'
        "\nActions\n- Bo: Send the *minutes* to the team by Friday (reported) [3] [4]\n"
        '    [3] Anna: "Bo, can you send the *minutes* to the team by Friday?"\n'
        "- Cy: Call the supplier tomorrow morning (reported) [5]\n"
        "\nOpen questions\n"
        "- Anna: Who pays for the buttons and the remote control? (reported) [6] [7]\n"
        "\nSummary\n- The group decided to use rubber buttons. (not verified) [1]\n"
        "- Cy will call the supplier. (not verified) [5]\n"
        '    [5] Cy: "I\'ll call the supplier tomorrow morning."\n'
        "- It was a short meeting. (not verified)\n"
    )


def test_markdown_is_escaped_and_lists_what_it_refers_to():
    text = as_markdown(FILLED)
    assert text.startswith("# m1\n\n**Title**: Buttons, remote control [1] [6]\n")
    assert "- Bo: Send the \\*minutes\\* to the team by Friday (reported) [3] [4]\n" in text
    evidence = text.partition("## Evidence\n\n")[2].splitlines()
    assert evidence[2] == (
        "- [3] **Anna**: Bo, can you send the \\*minutes\\* to the team by Friday?"
    )
    assert [line[:5] for line in evidence] == [f"- [{n}]" for n in range(1, 8)]


def test_nothing_in_a_text_steers_a_terminal_or_a_page():
    dialogue = dialogue_of("A\x1b[2J: I'll send <script>alert(1)</script> | `x` to Bo\u202e.")
    summary = summary_of("# Not a heading\x07 & <b>bold</b>.")
    form = parse_template(
        "name: x\nlanguage: en\nversion: 1\nsections:\n"
        "  - {title: S, source: summary}\n  - {title: A, source: actions}\n"
    )
    filled = fill(summary, dialogue, form)
    assert "\x1b" not in as_text(filled) + as_markdown(filled)
    assert "\u202e" not in as_text(filled) + as_markdown(filled)
    assert "- \\# Not a heading &amp; \\<b\\>bold\\</b\\>." in as_markdown(filled)
    assert "<script>" not in as_markdown(filled)


def test_plain_lines_begin_no_list():
    assert plain("1. one") == "1\\. one"
    assert plain("- one") == "\\- one"
    assert plain("2024 was fine") == "2024 was fine"
    assert plain("") == ""


def test_what_is_empty_unclear_or_more_is_said():
    money = (Entry("$1", "dialogue", type="amount"), Entry("$2", "dialogue", type="amount"))
    filled = Filled(
        "x",
        1,
        "en",
        "d",
        (
            FilledSection("Sum", "field", money, unclear=True),
            FilledSection("Plan", "actions", says="None found.", missing=True),
            FilledSection("All", "summary", (Entry("It is.", "summary"),), more=2),
        ),
    )
    assert as_text(filled) == (
        "Sum: $1 or $2 (the dialogue has several)\n"
        "\nPlan\n  None found.\n"
        "\nAll\n- It is.\n  (2 more)\n"
        "\nNote: nothing was found for 'Plan', which this template requires\n"
    )
    assert "*None found.*" in as_markdown(filled)
    assert "- *2 more*" in as_markdown(filled)


def test_json_has_every_key_always():
    full = json.loads(json.dumps(filled_to_json(FILLED)))
    empty = json.loads(json.dumps(filled_to_json(replace(FILLED, sections=(), cited=()))))
    assert full.keys() == empty.keys()
    assert list(full) == [
        "schema_version",
        "template",
        "version",
        "language",
        "id",
        "sections",
        "left_out",
        "cited",
        "notes",
        "missing",
    ]
    keys = {frozenset(entry) for s in full["sections"] for entry in s["entries"]}
    assert keys == {
        frozenset(
            (
                "text",
                "origin",
                "evidence",
                "label",
                "confidence",
                "owner",
                "deadline",
                "type",
                "role",
                "doubt",
                "kind",
                "profile",
            )
        )
    }
    assert {frozenset(s) for s in full["sections"]} == {
        frozenset(
            (
                "title",
                "source",
                "entries",
                "says",
                "missing",
                "more",
                "unclear",
                "elsewhere",
                "empty",
            )
        )
    }
    action = full["sections"][3]["entries"][0]
    said = MEETING.utterances[action["evidence"][0]["utterance"]].text
    span = action["evidence"][0]
    assert action["text"] in said[span["start"] : span["end"]]
