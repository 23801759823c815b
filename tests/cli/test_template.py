"""``dialogist templates``, and what ``summarize`` is wired to."""

import json

import pytest
from tests.forms.samples import MEETING, MINUTES, dialogue_of, summary_of

from dialogist.cli.flags import present_options_of
from dialogist.cli.output_formats import OutputFormat
from dialogist.cli.summarize_run import write_summaries
from dialogist.errors import ConfigError, UsageError


def test_list_show_and_check(dialogist, tmp_path):
    listed = dialogist("templates", "list")
    assert listed.returncode == 0
    assert listed.stdout.decode().splitlines()[0].startswith("call ")
    rows = json.loads(dialogist("templates", "list", "--format", "json").stdout)
    assert {"call", "meeting", "ticket", "clinical", "plain"} <= {row["name"] for row in rows}
    shown = dialogist("templates", "show", "meeting")
    (tmp_path / "mine.yaml").write_bytes(shown.stdout)
    checked = dialogist("templates", "check", "mine.yaml", "plain")
    assert checked.returncode == 0
    lines = checked.stdout.decode().splitlines()
    assert lines[0] == "mine.yaml: meeting 2, 6 sections"
    assert "  Actions: actions" in lines
    assert lines[-1] == "  Summary: summary all sentences, required"


def test_a_fault_is_one_line_on_stderr_and_the_rest_is_checked(dialogist, tmp_path):
    (tmp_path / "bad.yaml").write_text("name: bad\nlanguage: en\nversion: 1\nsections:\n- {}\n")
    result = dialogist("templates", "check", "bad.yaml", "plain")
    assert result.returncode == 2
    assert b"bad.yaml, line 5: key 'sections.0.title' is missing" in result.stderr
    assert b"plain: plain 1" in result.stdout
    assert dialogist("templates", "show", "bad.yaml").returncode == 2


def test_shaping_focuses_fills_and_renames_last(capsysbinary):
    shape = present_options_of("meeting", None, None, ["Cy=Eve", "Anna=Bo", "Bo=Anna"])
    shaped = shape.apply(MINUTES, MEETING)
    assert shaped.summary.text.startswith("The group decided to use rubber buttons. Eve will")
    assert shaped.filled is not None
    write_summaries([shaped, shaped], OutputFormat.text)
    assert capsysbinary.readouterr().out.count(b"- Eve: Call the supplier tomorrow") == 2
    write_summaries([shaped], OutputFormat.json)
    [record] = json.loads(capsysbinary.readouterr().out)
    assert record["text"] == shaped.summary.text
    assert record["filled"]["sections"][1]["entries"][0]["text"] == "Bo"
    write_summaries([], OutputFormat.json)
    assert json.loads(capsysbinary.readouterr().out) == []
    write_summaries([shaped], OutputFormat.jsonl)
    assert json.loads(capsysbinary.readouterr().out) == record
    write_summaries([shaped], OutputFormat.md)
    assert b"- Eve: Call the supplier" in capsysbinary.readouterr().out


def test_focus_and_roles():
    dialogue = dialogue_of("Ann/agent: I can help.", "Bo/customer: Thanks.")
    summary = summary_of("Ann helps Bo.", "Bo is happy.")
    shaped = present_options_of(None, "Bo", "role", None).apply(summary, dialogue)
    assert shaped.summary.text == "Customer is happy."
    assert shaped.notes == ("1 of 2 sentences are not about Bo: left out",)
    assert shaped.filled is None
    named = present_options_of(None, None, "role", ["Bo=Eve"]).apply(summary, dialogue)
    assert named.summary.text == "Agent helps Eve. Eve is happy."


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("meetin", None, None, None), ConfigError, "did you mean 'meeting'"),
        ((None, None, None, ["Ann"]), UsageError, "write it as OLD=NEW"),
        ((None, None, None, ["Ann=Bo", "Ann=Cy"]), UsageError, "renamed twice"),
        ((None, None, None, ["Ann=Cy", "Bo=Cy"]), UsageError, "both be called"),
    ],
)
def test_wrong_wishes_are_refused_before_anything_is_read(arguments, error, message):
    with pytest.raises(error, match=message):
        present_options_of(*arguments)


def test_a_name_that_nobody_has_is_refused():
    with pytest.raises(UsageError, match="says nothing in this dialogue"):
        present_options_of(None, None, None, ["Zed=Eve"]).apply(MINUTES, MEETING)
