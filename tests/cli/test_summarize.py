"""``summarize`` and ``forms``: from files and flags to what is written."""

import csv
import io
import json
import re
import signal
import subprocess
import time

import pytest
from tests.core.writers import Scripted

from dialogist.cli.summarize_command import SummaryFile
from dialogist.errors import UsageError
from dialogist.files import claimed
from dialogist.records import Dialogue, Draft

CALL = """Agent: Good morning, Northwind support. How can I help you today?
Customer: Hello, my parcel has not come yet. My number is 415-555-0132 if you want to call me.
Agent: Thank you, I will send you a new one by Friday, and an email to ann.lee@example.com too.
Customer: That is great, thank you very much for your help.
"""
SECRETS = (b"415-555-0132", b"ann.lee@example.com")


@pytest.fixture
def call(dialogist, tmp_path):
    (tmp_path / "call.txt").write_text(CALL)

    def run(*flags, **more):
        return dialogist("summarize", "call.txt", *flags, **more)

    return run


def test_a_summary_on_stdout_and_what_was_read_on_stderr(call):
    result = call("--format", "jsonl", real=True)
    assert result.returncode == 0
    first, *_ = result.err.splitlines()  # on a busy machine the time it took stands behind
    assert first == "dialogist: call.txt: read as transcript: 4 utterances, 2 speakers"
    [line] = result.out.splitlines()
    summary = json.loads(line)
    assert (summary["schema_version"], summary["status"]) == (4, "ready")
    assert {statement["verdict"] for statement in summary["statements"]} == {"quoted"}
    assert summary["coverage"]["utterances_read"] == 4
    inside = call("--format", "jsonl").out  # what the other tests see of a command is the same
    assert json.loads(inside) | {"timings": 0} == summary | {"timings": 0}


def test_nothing_is_told_to_the_makers_of_libraries(call, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    assert call(real=True, env={"HOME": str(home)}).returncode == 0
    assert list(home.rglob("*")) == []  # onnxruntime keeps there what it is to send


@pytest.mark.parametrize("form", ["text", "json", "jsonl", "md", "csv"])
def test_a_suffix_says_the_form_of_output(dialogist, tmp_path, form):
    (tmp_path / "a.txt").write_text(CALL)
    (tmp_path / "b.txt").write_text(CALL)
    shown = dialogist("summarize", "a.txt", "b.txt", "-f", form).out
    suffix = "txt" if form == "text" else form
    assert dialogist("summarize", "a.txt", "b.txt", "-o", f"out.{suffix}").returncode == 0
    written = (tmp_path / f"out.{suffix}").read_text(encoding="utf-8")
    assert written.startswith("\ufeff") == (form == "csv")  # by which Excel knows UTF-8
    timings = r'"timings": {.*?}'
    assert re.sub(timings, "", written.removeprefix("\ufeff")) == re.sub(timings, "", shown)


@pytest.mark.parametrize("stage", ["input", "output", "low", "medium", "high"])
def test_masks_leave_nothing_personal(call, stage):
    for flags in (
        [],
        ["-f", "json"],
        ["-f", "md", "-t", "ticket"],
        ["--form", "call"],
        ["-f", "csv"],
    ):
        assert any(secret in call(*flags).stdout for secret in SECRETS)
        masked = call("--mask", stage, *flags)
        assert masked.returncode == 0
        assert not any(secret in masked.stdout + masked.stderr for secret in SECRETS)


def test_evidence_of_a_file_refers_to_text_that_its_reader_has(dialogist, tmp_path):
    """It is the text of the JSON record, or the summary has what was read."""
    turns = [
        {"speaker": "Ann", "text": "<p>Hello &amp; hi,</p> <b>I want</b> to return the shoes."},
        {"speaker": "Bo", "text": "INTERNAL: the customer is a liar, says Cy.", "public": False},
        {"speaker": "Bo", "text": "We will refund 40 dollars to 415-555-0132 on Friday."},
    ]
    plain = [{"speaker": "Ann", "text": "I want to return the shoes."}, *turns[2:]]
    lines = [json.dumps({"utterances": record}) for record in (turns, plain)]
    (tmp_path / "calls.jsonl").write_text("\n".join(lines))
    (tmp_path / "call.txt").write_text("\n".join(f"{u['speaker']}: {u['text']}" for u in plain))

    def cited(file, *flags):
        for summary in json.loads(dialogist("summarize", file, "-f", "json", *flags).stdout):
            texts = [turn["text"] for turn in summary.get("utterances", plain)]
            words = ""
            for statement in summary["statements"]:
                for span in statement["evidence"]:
                    quoted = texts[span["utterance"]][span["start"] : span["end"]]
                    assert " ".join(quoted.split()) in statement["text"]
                    words += quoted
            yield "utterances" in summary, "to [PHONE_1] on" in words, "40 dollars" in words

    assert [*cited("calls.jsonl")] == [(True, False, True), (False, False, True)]
    assert [*cited("call.txt")] == [(True, False, True)]
    assert [*cited("call.txt", "--no-evidence")] == [(False, False, False)]
    for where in ("input", "output"):
        assert [*cited("calls.jsonl", "--mask", where)] == [(True, True, True)] * 2


def test_a_form_stands_beside_its_summary(call):
    [record] = json.loads(call("--format", "json", "--form", "ticket").stdout)
    assert {"text", "status", "coverage"} < record.keys()
    entries = [entry for s in record["filled"]["sections"] for entry in s["entries"]]
    assert "415-555-0132" in [entry["text"] for entry in entries]
    assert "415-555-0132" in call("-t", "ticket").out
    row = next(csv.DictReader(io.StringIO(call("-t", "ticket", "-f", "csv").out)))
    assert {s["title"] for s in record["filled"]["sections"]} <= set(list(row)[6:])
    assert "415-555-0132" in row.values()


def test_people_are_called_as_wanted(call):
    for flags in ([], ["-f", "md"], ["-t", "meeting"]):
        shown = call("--speaker", "Customer=Zoe", *flags).out
        assert "Zoe" in shown
        assert "Customer" not in shown
    assert "[2]" in call().out
    bare = call("--no-evidence").out
    assert "[2]" not in bare
    assert bare.count("\n") == call().out.count("\n") - 2  # no status


def test_what_fails_is_told_once_and_strict_ends_there(dialogist, tmp_path, monkeypatch):
    def drafts(dialogue: Dialogue) -> list[Draft]:
        if dialogue.id == "poison":
            raise ValueError("it broke")
        return [Draft("All meet at the gym.")]

    monkeypatch.setattr("dialogist.summarizer.open_writer", lambda name: Scripted(drafts))
    turn = {"speaker": "Ann", "text": "We all meet at the gym, is that fine?"}
    lines = [json.dumps({"id": name, "turns": [turn]}) for name in ("gym", "poison", "park")]
    (tmp_path / "talks.jsonl").write_text("\n".join(lines))
    result = dialogist("summarize", "talks.jsonl", "-f", "jsonl", "--verify", "rules")
    assert result.returncode == 3
    assert [json.loads(line)["status"] for line in result.out.splitlines()] == [
        "review",
        "error",
        "review",
    ]
    assert "1 dialogue failed (status error); the others are done" in result.err
    [message] = [line for line in result.err.splitlines() if "it broke" in line]
    assert (
        json.loads(result.out.splitlines()[1])["reason"].rpartition(" ")[2].rstrip(")") in message
    )
    strict = dialogist("summarize", "talks.jsonl", "-f", "jsonl", "--strict")
    assert strict.returncode == 1
    assert len(strict.out.splitlines()) == 1
    assert strict.err.splitlines()[-1].startswith("dialogist: poison: ValueError: it broke")
    shown = dialogist("summarize", "talks.jsonl", env={"DIALOGIST_DEBUG": "1"})
    assert "Traceback" in shown.err


def test_half_characters_in_ids_stay_apart(dialogist, tmp_path):
    """Names of files may be no text; two such ids must not become one."""
    files = [name.decode("utf-8", "surrogateescape") for name in (b"a\xff.txt", b"a\xfe.txt")]
    for name in files:
        (tmp_path / name).write_text("Ann: We meet at noon at the gym, fine?\n")
    result = dialogist("summarize", *files, "-f", "jsonl")
    assert result.returncode == 0
    assert [json.loads(line)["id"] for line in result.out.splitlines()] == ["a\udcff", "a\udcfe"]


def test_output_that_is_an_input_is_refused(dialogist, tmp_path):
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "call.txt").write_text(CALL)
    for output, message in (
        ("calls/call.txt", "is another file of this call"),
        ("calls/out.txt", "lies in the input calls"),
        ("out.jsonl.gz", "does not write gz"),
    ):
        inputs = "calls" if "out" in output else output
        result = dialogist("summarize", inputs, "-o", output)
        assert result.returncode == 2
        assert message in result.err


# --resume


def line(id: str) -> str:
    return json.dumps({"id": id}) + "\n"


def talks(ids: str) -> list[Dialogue]:
    return [Dialogue((), id) for id in ids.split()]


def ids_in(path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_text().splitlines()]


SETTINGS = {"writer": "w", "options": {"words": 4}}


def test_a_run_and_the_rest_of_an_interrupted_one(tmp_path):
    path, partial = tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    file = SummaryFile(path, SETTINGS, resume=False)
    assert [d.id for d in file.missing(talks("a b a"))] == ["a", "b", "a"]
    partial.write_text(line("a") + line("b") + '{"id": "c", "te')
    file = SummaryFile(path, SETTINGS, resume=True)
    assert file.done.total() == 2
    assert [d.id for d in file.missing(talks("a b a c"))] == ["a", "c"]
    file.write(map(line, "ac"))
    assert ids_in(path) == ["a", "b", "a", "c"]
    assert {p.name for p in tmp_path.iterdir()} == {"out.jsonl", "out.jsonl.run.json"}
    more = SummaryFile(path, SETTINGS, resume=True)
    assert [d.id for d in more.missing(talks("a b a c d"))] == ["d"]
    more.write([line("d")])
    assert ids_in(path) == ["a", "b", "a", "c", "d"]


def test_runs_that_cannot_be_gone_on_with(tmp_path):
    path, partial = tmp_path / "out.jsonl", tmp_path / "out.jsonl.partial"
    assert SummaryFile(path, SETTINGS, resume=True).done.total() == 0
    partial.write_text(line("a"))
    with pytest.raises(UsageError, match=r"left summaries there; add --resume"):
        SummaryFile(path, SETTINGS, resume=False)
    with pytest.raises(UsageError, match=r"made with other settings \(options\)"):
        SummaryFile(path, {**SETTINGS, "options": {}}, resume=True)
    partial.write_text('{"no": "id"}\n')
    with pytest.raises(UsageError, match=r"partial:1: is no summary"):
        SummaryFile(path, SETTINGS, resume=True)
    partial.write_text(line("a"))
    partial.rename(path)  # killed between the two renames at the end
    assert SummaryFile(path, SETTINGS, resume=True).done.total() == 1
    for left in tmp_path.iterdir():
        left.unlink()
    path.write_text(line("a"))
    with pytest.raises(UsageError, match=r"what .* was made with is not known"):
        SummaryFile(path, SETTINGS, resume=True)


def test_a_second_run_on_a_file_is_refused(call, tmp_path):
    with claimed(tmp_path / "out.jsonl"):
        second = call("-o", "out.jsonl", "--resume")
        assert second.returncode == 2
        assert "another process is writing this file" in second.err
    assert call("-o", "out.jsonl", "--resume").returncode == 0


def test_kill_and_resume(dialogist, tmp_path):
    """The bytes are those of a run without interruption, but for the timings."""
    request = "Can you send {} reports by Friday? I need them for our meeting with the bank."
    rows = [
        {"id": f"d{n % 120}", "turns": [["A", request.format(n)], ["B", "Yes, I will."]] * 3}
        for n in range(150)
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert dialogist("summarize", "in.jsonl", "-o", "whole.jsonl").returncode == 0
    process = dialogist.start("summarize", "in.jsonl", "-o", "cut.jsonl", stderr=subprocess.DEVNULL)
    partial = tmp_path / "cut.jsonl.partial"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        if partial.exists() and partial.read_bytes().count(b"\n") > 10:
            break
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert partial.exists(), "it was done before it could be killed"
    with partial.open("ab") as file:
        file.write(b'{"id": "torn')
    result = dialogist("summarize", "in.jsonl", "-o", "cut.jsonl", "--resume")
    assert result.returncode == 0
    assert "summaries of the run before are kept" in result.err
    whole, cut = (
        [{**json.loads(row), "timings": 0} for row in (tmp_path / name).read_text().splitlines()]
        for name in ("whole.jsonl", "cut.jsonl")
    )
    assert len(whole) == 150
    assert whole == cut


# forms


def test_forms_are_listed_shown_and_checked(dialogist, tmp_path):
    assert dialogist("forms", "list").out.startswith("call ")
    rows = json.loads(dialogist("forms", "list", "--format", "json").out)
    assert {"call", "meeting", "ticket", "clinical", "plain"} <= {row["name"] for row in rows}
    (tmp_path / "mine.yaml").write_bytes(dialogist("forms", "show", "meeting").stdout)
    (tmp_path / "bad.yaml").write_text("name: bad\nlanguage: en\nversion: 1\nsections:\n- {}\n")
    checked = dialogist("forms", "check", "mine.yaml", "bad.yaml", "plain")
    assert checked.returncode == 2
    assert "bad.yaml, line 5: key 'sections.0.title' is missing" in checked.err
    lines = checked.out.splitlines()
    assert lines[0].startswith("mine.yaml: meeting ")
    assert any(line.startswith("plain: plain ") for line in lines)


TEAM_CHAT = b"Ann: Where is my parcel, please?\nBo: It will come to you on Friday.\n"


def test_a_team_sets_its_writer_once(dialogist, tmp_path, monkeypatch):
    config = tmp_path / "config.yaml"
    config.write_text("writer: file.jsonl\nunsupported: mark\nform: plain\ncache: off\n")
    (tmp_path / "file.jsonl").write_text('{"summary": "Nobody said 4711."}\n')
    monkeypatch.setenv("DIALOGIST_CONFIG", str(config))
    [record] = json.loads(dialogist("summarize", "-f", "json", input=TEAM_CHAT).out)
    assert (record["writer"], record["filled"]["form"]) == ("file:file.jsonl", "plain")
    assert record["statements"][0]["verdict"] == "contradicted"
    [record] = json.loads(
        dialogist("summarize", "-f", "json", "--writer", "highlights", input=TEAM_CHAT).out
    )
    assert record["writer"] == "highlights"
    (tmp_path / "deny").write_text("parcel\n")
    config.write_text(f"deny: {tmp_path / 'deny'}\n")
    monkeypatch.setenv("DIALOGIST_MASK_DENY", "")  # what the flag sets goes with the test
    assert "[DENIED_1]" in dialogist("mask", input=TEAM_CHAT).out
    config.write_text("writter: a")
    wrong = dialogist("summarize", input=TEAM_CHAT)
    assert wrong.returncode == 2
    assert "config.yaml: unknown key 'writter'; did you mean 'writer'?" in wrong.stderr.decode()


MEETING = [
    {"speaker": "Ann", "text": "Can you send me the report by Friday?", "start": 65.5},
    {"speaker": "Bo", "text": "Yes, I will send it on Thursday evening.", "start": 3_731},
    {"speaker": "Ann", "text": "We decided to move the launch to the first of May.", "start": 4000},
]


def test_what_statements_rest_on_is_told_by_its_time_or_number(dialogist, tmp_path):
    (tmp_path / "m.jsonl").write_text(json.dumps({"turns": MEETING}))
    shown = dialogist("summarize", "m.jsonl", "--length", "long").out
    assert "[1:05]" in shown
    assert "Times: 1:05 to 1:06:40; told: 1:05, " in shown
    assert "\\[1:02:11\\]" in dialogist("summarize", "m.jsonl", "-f", "md", "--length", "long").out
    numbers = dialogist("summarize", "m.jsonl", "--length", "long", "--evidence", "numbers").out
    assert "[1]" in numbers
    assert "1:05" not in numbers
    record = json.loads(dialogist("summarize", "m.jsonl", "-f", "jsonl").stdout)
    spans = [span for statement in record["statements"] for span in statement["evidence"]]
    assert {span["time"] for span in spans} <= {turn["start"] for turn in MEETING}


def test_what_was_read_is_in_json_and_misreading_is_warned_of(dialogist, tmp_path):
    turns = [{"text": turn["text"]} for turn in MEETING]
    turns += [{"text": "VIP", "private": True}]
    (tmp_path / "m.jsonl").write_text(json.dumps({"messages": turns}))
    done = dialogist("summarize", "m.jsonl", "-f", "jsonl")
    reading = json.loads(done.stdout)["reading"]
    assert (reading["format"], reading["utterances"], reading["speakers"]) == ("jsonl", 3, 0)
    assert reading["left_out"] == {"internal notes": 1}
    assert ["no speaker is named" in warning for warning in reading["warnings"]] == [True]
    assert "read as jsonl: 3 utterances, 0 speakers; left out: 1 internal note" in done.err
    assert "warning: no speaker is named" in done.err
    assert "Note:** no speaker is named" in dialogist("summarize", "m.jsonl", "-f", "md").out
    whole = dialogist("summarize", "m.jsonl", "-f", "jsonl", "--include-internal")
    assert json.loads(whole.stdout)["coverage"]["utterances"] == 4
