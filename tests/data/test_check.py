import gzip
import json

import pytest

from dialogist.formats import ReadOptions
from dialogist.data.stats import check_dialogues
from dialogist.errors import DataError


def write(tmp_path, *records):
    path = tmp_path / "x.jsonl"
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def row(name, *texts, **more):
    return {"id": name, "turns": [["AB"[n % 2], text] for n, text in enumerate(texts)], **more}


def test_every_kind_of_finding(tmp_path):
    path = write(
        tmp_path,
        row("1", "hello you there", "ho", summary="fine"),
        row("1", "other words", "ho", summary=" "),
        row("2", "Hello  you there", "ho", summary="fine"),
        row("3", "alone", summary="far longer than what was said"),
        row("4", "x", ""),
        {"id": "5"},
    )
    report = check_dialogues(path, ReadOptions())
    found = {each.kind: each.examples for each in report.warnings}
    assert found == {
        "duplicate_id": ("1",),
        "duplicate_dialogue": ("2",),
        "empty_utterance": ("4",),
        "one_speaker": ("3",),
        "empty_summary": ("1",),
        "long_summary": ("3",),
        "no_reference": ("4",),
    }
    assert (report.dialogues, report.utterances, report.references) == (5, 9, 4)
    assert [problem.line for problem in report.problems] == [6]
    assert not report.ok
    assert json.loads(json.dumps(report.to_json()))["problems"][0]["line"] == 6


def test_a_good_file(tmp_path):
    path = write(tmp_path, row("1", "hi", "ho"), row("2", "hey", "you"))
    report = check_dialogues(path, ReadOptions())
    assert report.ok
    assert report.warnings == ()


def test_examples_are_few(tmp_path):
    path = write(tmp_path, *(row(str(n), f"alone {n}") for n in range(9)))
    (finding,) = check_dialogues(path, ReadOptions()).warnings
    assert (finding.count, finding.examples) == (9, ("0", "1", "2", "3", "4"))
    assert str(finding) == "9 have one speaker or none (0, 1, 2, 3, 4, ...)"


def test_a_file_that_breaks_off(tmp_path):
    path = tmp_path / "t.jsonl.gz"
    lines = "".join(json.dumps(row(str(n), "a", str(n))) + "\n" for n in range(3000))
    path.write_bytes(gzip.compress(lines.encode())[:-30])
    report = check_dialogues(path, ReadOptions())
    assert "truncated gzip" in report.error
    assert report.dialogues > 1000
    assert not report.ok


def test_a_missing_file(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        check_dialogues(tmp_path / "no", ReadOptions())
