"""``verify``: summaries of anybody, judged by their dialogues."""

import csv
import io
import json

import pytest

CALL = """Agent: Thanks for calling Northlink, this is Priya.
Customer: My broadband has been dropping every evening since Sunday.
Agent: I can send an engineer on Thursday between one and five.
Customer: Make it after two and we have a deal.
Agent: After two it is. If nobody is home there is a 40 pound charge.
"""
SUMMARY = "The broadband drops every evening.\nNobody home costs 80 pounds.\n"


@pytest.fixture
def verified(dialogist, tmp_path):
    (tmp_path / "call.txt").write_text(CALL)
    (tmp_path / "summary.txt").write_text(SUMMARY)

    def run(*flags, summaries="summary.txt"):
        return dialogist("verify", summaries, "--on", "call.txt", *flags)

    return run


def test_the_worst_comes_first_with_its_lines(verified):
    done = verified("--format", "jsonl")
    assert done.returncode == 0, done.err
    worst, other = map(json.loads, done.out.splitlines())
    assert worst["verdict"] == "contradicted"
    assert worst["reason"] == "nobody says 80"
    assert worst["lines"] == [5]
    assert worst["said"] == [CALL.splitlines()[4]]
    assert other["statement"] == "The broadband drops every evening."
    assert 0 <= other["probability"] <= 1
    assert "2 statements: 1 contradicted" in done.err


def test_a_table_a_page_and_a_text(verified):
    rows = list(csv.reader(io.StringIO(verified("--format", "csv").out)))
    assert rows[0][:3] == ["dialogue", "statement", "verdict"]
    assert rows[1][1] == "Nobody home costs 80 pounds."
    page = verified("--format", "html").out
    assert '<tr class="contradicted"><td>Nobody home costs 80 pounds.' in page
    assert "$" not in page
    text = verified().out
    assert text.startswith("contradicted")
    assert "\n    [5] Agent: After two it is." in text


def test_rules_alone_leave_the_rest_unverified(verified):
    rows = verified("--verifier", "rules", "--format", "jsonl").out.splitlines()
    assert [json.loads(row)["verdict"] for row in rows] == ["contradicted", "unverified"]


@pytest.mark.parametrize(
    ("id", "line", "code", "message"),
    [
        ("call", '{"id": "call", "summary": "Ho."}', 2, "jsonl:2: a second summary of 'call'"),
        ("other", '{"id": "more", "summary": "Ho."}', 3, "holds no summary of 'call'"),
        ("call", '{"id": "more", "summary": "Ho."}', 3, "no dialogue has the id 'more'"),
        ("other", '{"id": "call"}', 2, "jsonl:2: holds no summary"),
        ("other", "{", 2, "jsonl:2: is no line of JSON"),
        ("other", '[{"summary": "A."}]', 2, "jsonl:2: a summary is an object"),
    ],
)
def test_what_cannot_be_judged_is_told(verified, tmp_path, id, line, code, message):
    first = json.dumps({"id": id, "summary": "Hi."})
    (tmp_path / "summaries.jsonl").write_text(f"{first}\n{line}\n")
    done = verified(summaries="summaries.jsonl")
    assert done.returncode == code
    assert message in done.err


@pytest.mark.parametrize(
    ("summary", "statements"),
    [
        ("[Call of 3 May] Bo stole it.", ["[Call of 3 May] Bo stole it."]),
        ("[2] Bo stole it.", ["Bo stole it."]),
        ("<think>Bo stole it.</think>", ["<think>Bo stole it.</think>"]),
        ("Next steps:\nBo stole 9 million euros:\nA.", ["Bo stole 9 million euros:", "A."]),
        ("It rains.\n" * 205 + "Bo stole it.", ["It rains."] * 205 + ["Bo stole it."]),
        ("so " * 1_000 + "it is.", ["so " * 1_000 + "it is."]),
    ],
)
def test_all_that_was_written_is_judged(verified, tmp_path, summary, statements):
    (tmp_path / "s.jsonl").write_text(json.dumps({"summary": summary}))
    rows = verified("--verifier", "rules", "--format", "jsonl", summaries="s.jsonl").out
    judged = [json.loads(row)["statement"] for row in rows.splitlines()]
    assert sorted(judged) == sorted(statements)


def test_a_verifier_that_is_none(verified):
    done = verified("--verifier", "loacl")
    assert done.returncode == 2
    assert "loacl" in done.err


def test_a_verifier_of_another_machine_is_allowed_as_the_message_says(verified, monkeypatch):
    monkeypatch.setenv("DIALOGIST_ALLOW_NETWORK", "")  # what the flag sets goes with the test
    remote = "openai:http://192.0.2.2:9/v1#a?retries=0&timeout=1"
    assert "to 192.0.2.2:9: say --allow-network" in verified("--verifier", remote).err
    assert "say --allow-network" not in verified("--verifier", remote, "--allow-network").err


def test_summaries_that_are_not_there_or_the_output(verified, tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n")
    assert "empty.jsonl: holds no summary" in verified(summaries="empty.jsonl").err
    assert "none: cannot be read: No such file" in verified(summaries="none").err
    assert verified("-o", "summary.txt").returncode == 2
