"""``dialogist keypoints``: label, stats, check, list."""

import json

import pytest

PACK = """
name: mine
language: en
version: 3
default: Start
rules:
  - {label: Start, pattern: '^ann asks', examples: [Ann asks Bo.]}
  - {label: 'Yes', pattern: 'agrees', examples: [Bo agrees.]}
  - {label: 'No', pattern: 'refuses', examples: [Bo refuses.]}
"""


@pytest.fixture
def data(tmp_path):
    rows = [
        {"id": "a", "turns": [["Ann", "Lunch?"]], "summary": "Ann asks Bo. Bo eats. He agrees."},
        {"id": "b", "turns": [["Ann", "Lunch?"]], "summary": "Bo \x1b[1mrefuses."},
        {"id": "c", "turns": [["Ann", "Lunch?"]]},
    ]
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "mine.yaml").write_text(PACK)
    return path


def test_label_as_text(dialogist, data):
    result = dialogist("keypoints", "label", data, "--pack", "mine.yaml")
    assert result.returncode == 0, result.stderr
    assert result.stdout.decode().splitlines() == [
        "a: Start -> Yes",
        "  0-21 Start: Ann asks Bo. Bo eats.",
        "  21-32 Yes: He agrees.",
        "b: No",
        "  0-15 No: Bo  [1mrefuses.",
    ]
    assert b"1 dialogue without a summary" in result.stderr


def test_label_as_json_lines_from_stdin(dialogist, data):
    arguments = ("keypoints", "label", "-", "--pack", "mine.yaml", "--format", "jsonl")
    result = dialogist(*arguments, input=data.read_bytes())
    assert result.returncode == 0, result.stderr
    first, second = map(json.loads, result.stdout.splitlines())
    assert first["key_points"] == ["Start", "Yes"]
    assert (first["id"], first["reference"], first["pack"]) == ("a", 0, "mine")
    summary = "Ann asks Bo. Bo eats. He agrees."
    for part in first["sub_summaries"]:
        assert summary[part["start"] : part["end"]] == part["text"]
    assert "".join(part["text"] for part in first["sub_summaries"]) == summary
    assert second["sub_summaries"][0]["text"] == "Bo \x1b[1mrefuses."


def test_bad_records_are_said_and_the_rest_is_done(dialogist, data):
    data.write_text(data.read_text() + "{broken\n")
    result = dialogist("keypoints", "label", data, "--pack", "mine.yaml")
    assert result.returncode == 3
    assert b"data.jsonl:4: not JSON" in result.stderr
    assert b"a: Start" in result.stdout
    assert dialogist("keypoints", "label", data, "--strict").returncode == 1


def test_bad_calls(dialogist, data):
    missing = dialogist("keypoints", "label", "nothing.jsonl")
    assert missing.returncode == 1
    unknown = dialogist("keypoints", "stats", data, "--pack", "dialogsun")
    assert unknown.returncode == 2
    assert b"did you mean 'dialogsum'" in unknown.stderr
    for result in (missing, unknown):
        assert result.stderr.count(b"\n") == 1
        assert result.stdout == b""


def test_stats(dialogist, data):
    result = dialogist("keypoints", "stats", data, "--pack", "mine.yaml")
    assert result.returncode == 0, result.stderr
    text = result.stdout.decode()
    assert "mine: 2 summaries, 4 sentences, 75.0% of them labelled by a rule" in text
    assert "1 dialogue without a summary" in text
    assert "Start -> Yes" in text
    result = dialogist("keypoints", "stats", data, "--pack", "mine.yaml", "--format", "json")
    facts = json.loads(result.stdout)
    assert facts["origins"] == {"rule": 3, "inherited": 1, "section": 0, "default": 0}
    assert facts["lengths"] == {"1": 1, "2": 1}
    assert [rule["line"] for rule in facts["rules"]] == [7, 8, 9]


def test_check(dialogist, data, tmp_path):
    good = dialogist("keypoints", "check", "mine.yaml", "dialogsum", "clinical")
    assert good.returncode == 0, good.stderr
    assert b"mine.yaml: mine 3, 3 labels, 3 rules, 3 examples hold" in good.stdout
    (tmp_path / "bad.yaml").write_text(PACK.replace("[Bo agrees.]", "[Bo accepts.]"))
    bad = dialogist("keypoints", "check", "bad.yaml", "mine.yaml")
    assert bad.returncode == 2
    assert b"bad.yaml, line 8: no rule fits this example of 'Yes'" in bad.stderr
    assert b"mine.yaml: mine 3" in bad.stdout  # one bad pack does not hide the others


def test_list(dialogist):
    result = dialogist("keypoints", "list")
    assert result.returncode == 0
    assert b"dialogsum" in result.stdout
    packs = {
        pack["name"]: pack
        for pack in json.loads(dialogist("keypoints", "list", "--format", "json").stdout)
    }
    assert {"clinical", "dialogsum"} <= packs.keys()
    assert packs["dialogsum"]["default"] in packs["dialogsum"]["labels"]
