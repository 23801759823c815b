"""``dialogist data entities`` from outside."""

import json

LINE = {
    "id": "1",
    "turns": [["Ann", "Call 415-555-0132 at 5:30 pm."], ["Bo", "4155550132? \u001b[31m 6:30 pm"]],
    "summary": "Bo calls 415-555-0132 at 5:30pm or at 7 pm.",
}


def test_as_a_table(dialogist, tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps(LINE) + "\n")
    result = dialogist("data", "entities", "a.jsonl")
    assert result.returncode == 0
    out = result.stdout.decode()
    assert out.startswith("1 dialogue, 1 of them with entities\n")
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line[:1].isupper()}
    assert rows["PHONE"] == ["2", "1", "1", "0", "1", "1"]
    assert rows["TIME"] == ["2", "2", "1", "0", "2", "1"]
    assert "Call [415-555-0132] at 5:30 pm." in out
    assert "\x1b" not in out


def test_as_json_and_bad_lines(dialogist, tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps(LINE) + "\n{\n")
    result = dialogist("data", "entities", "a.jsonl", "--format", "json", "--examples", "1")
    assert result.returncode == 3
    report = json.loads(result.stdout)
    assert report["dialogues"] == report["with_entities"] == 1
    assert report["kinds"]["PHONE"]["mentions"] == 2
    assert len(report["kinds"]["TIME"]["examples"]) == 1
    assert report["kinds"]["IBAN"]["mentions"] == 0


def test_no_such_file(dialogist):
    result = dialogist("data", "entities", "none.jsonl")
    assert result.returncode == 1
    assert len(result.stderr.decode().splitlines()) == 1
