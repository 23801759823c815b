"""The reading flags, and ``data check``."""

import gzip
import json

from dialogist.cli.data_command import checked
from dialogist.formats import ReadOptions

TICKETS = (
    "ticket_id,author,body,public\n1,Ann,hi,true\n2,Cy,hey,true\n1,Bo,psst,false\n"
    "1,Bo,That is £5,true\n,Bo,lost,true\n"
)


def test_what_was_decided_is_told_and_what_is_bad_is_counted(dialogist, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TICKETS.encode("cp1252"))
    result = dialogist("mask", str(path), "--kinds", "EMAIL")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(row["id"], len(row["turns"])) for row in rows] == [("1", 2), ("2", 1)]
    assert result.returncode == 3
    assert "t.csv:6: has no id in column 'ticket_id'" in result.err
    assert "read as cp1252" in result.err
    assert "left out: 1 internal note (--include-internal tells them)" in result.err


def write(tmp_path, *records):
    path = tmp_path / "x.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def row(name, *texts, **more):
    return {"id": name, "turns": [["AB"[n % 2], text] for n, text in enumerate(texts)], **more}


def test_every_kind_of_finding(dialogist, tmp_path):
    path = write(
        tmp_path,
        row("1", "hello you there", "ho", summary="fine"),
        row("1", "other words", "ho", summary=" "),
        row("2", "Hello  you there", "ho", summary="fine"),
        row("3", "alone", summary="far longer than what was said"),
        row("4", "x", ""),
        {"id": "5"},
    )
    report = checked(path, ReadOptions())
    assert {finding["kind"]: tuple(finding["examples"]) for finding in report["warnings"]} == {
        "duplicate_id": ("1",),
        "duplicate_dialogue": ("2",),
        "empty_utterance": ("4",),
        "one_speaker": ("3",),
        "empty_summary": ("1",),
        "long_summary": ("3",),
        "no_reference": ("4",),
    }
    assert (report["dialogues"], report["utterances"], report["references"]) == (5, 9, 4)
    assert [problem["line"] for problem in report["problems"]] == [6]
    shown = dialogist("data", "check", "x.jsonl")
    assert shown.returncode == 3
    assert "x.jsonl: 5 dialogues, 9 utterances, 4 summaries" in shown.out
    assert "  odd  1 have one speaker or none (3)" in shown.out
    assert "  bad  x.jsonl:6: " in shown.out
    assert json.loads(dialogist("data", "check", "x.jsonl", "-f", "json").out)["x.jsonl"] == {
        **report,
        "problems": [{"line": 6, "text": shown.out.split("  bad  ")[1].splitlines()[0]}],
    }


def test_a_good_file_few_examples_and_profiles(dialogist, tmp_path):
    write(tmp_path, row("1", "hi", "ho"), row("2", "hey", "you"))
    good = dialogist("data", "check", "x.jsonl")
    assert (good.returncode, good.out) == (0, "x.jsonl: 2 dialogues, 4 utterances, 0 summaries\n")
    rows = [row(str(n), f"alone {n}", profile={"a": 1, "contacts": {}}) for n in range(9)]
    write(tmp_path, *rows, row("9", "x", "y", profile={"note": None}))
    odd = dialogist("data", "check", "x.jsonl").out
    assert "  odd  9 have one speaker or none (0, 1, 2, 3, 4, ...)" in odd
    assert "  odd  10 have fields in their profile that are not read: no text or number" in odd
    assert "(contacts, note, ...)" in odd


def test_a_file_that_breaks_off(dialogist, tmp_path):
    lines = "".join(json.dumps(row(str(n), "a", str(n))) + "\n" for n in range(3000))
    (tmp_path / "t.jsonl.gz").write_bytes(gzip.compress(lines.encode())[:-30])
    result = dialogist("data", "check", "t.jsonl.gz")
    assert result.returncode == 3
    assert "truncated gzip" in result.out.split("  stop ")[1]
    assert "no such file" in dialogist("data", "check", "no").err
