"""``dialogist mask`` from outside, and personal data in what commands say on stderr."""

import json
import stat

import pytest

from dialogist.cli import console

LINES = [
    {
        "id": "a",
        "turns": [["Ann", "Call 415-555-0132 at 5:30 pm."], ["Agent", "4155550132, Ann?"]],
        "summary": "Ann gives 415-555-0132.",
    },
    {"id": "+1 212-555-0199", "turns": [["Bo", "Nothing here."], ["Cy", "No."]]},
]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in LINES))
    return path


@pytest.fixture
def call(dialogist, monkeypatch):
    """Runs a command: ``call("mask", file) -> (code, stdout, stderr)``."""
    monkeypatch.delenv(console.SHOW_PERSONAL_DATA, raising=False)

    def run(*arguments):
        called = dialogist(*arguments)
        return called.returncode, called.stdout.decode(), called.stderr.decode()

    return run


def test_masked_dialogues_and_counts(call, file):
    code, out, err = call("mask", file, "--names", "speakers")
    assert code == 0
    first, second = map(json.loads, out.splitlines())
    assert [turn["text"] for turn in first["turns"]] == [
        "Call [PHONE_1] at 5:30 pm.",
        "[PHONE_1], [PERSON_1]?",
    ]
    assert [turn["speaker"] for turn in first["turns"]] == ["[PERSON_1]", "Agent"]
    assert first["summaries"] == ["[PERSON_1] gives [PHONE_1]."]
    assert second["id"] == "[PHONE_1]#2"
    assert err.splitlines()[1:] == [
        "dialogist: masked 5 PERSON, 3 PHONE in 2 of 2 dialogues",
        "dialogist: ids that held personal data are masked and numbered: 1",
    ]


def test_levels_and_files_of_values(call, file, tmp_path, monkeypatch):
    for name in ("ALLOW", "DENY"):
        monkeypatch.setenv(f"DIALOGIST_MASK_{name}", "")  # what the flags set goes with the test
    (tmp_path / "allow").write_text("+1 212 555-0199\n")
    (tmp_path / "deny").write_text("Nothing\n")
    flags = ("--allow", str(tmp_path / "allow"), "--deny", str(tmp_path / "deny"))
    code, out, _ = call("mask", file, "--mask", "high", *flags)
    assert code == 0
    assert json.loads(out.splitlines()[1])["id"] == "+1 212-555-0199"
    assert "[DENIED_1] here." in out
    assert "[PERSON_1]" in out
    assert "[PERSON_1]" not in call("mask", file, "--mask", "low")[1]
    code, _, err = call("mask", file, "--deny", str(tmp_path / "none"))
    assert (code, "none' does not exist" in err) == (2, True)


def test_counts_are_not_masked_themselves(call, tmp_path):
    numbers = "12 Oak Road, 9 Elm Road: 9400111899223817"
    (tmp_path / "c.txt").write_text(f"Ann: {numbers}\nBo: Yes.\n")
    _, _, err = call("mask", "c.txt")
    assert err.splitlines() == [
        "dialogist: c.txt: read as transcript: 2 utterances, 2 speakers",
        "dialogist: masked 2 ADDRESS, 1 CODE in 1 of 1 dialogue",
    ]


def test_as_a_transcript(call, file):
    _, out, _ = call("mask", file, "--format", "text")
    assert out == (
        "Ann: Call [PHONE_1] at 5:30 pm.\nAgent: [PHONE_1], Ann?\n---\nBo: Nothing here.\nCy: No.\n"
    )


def test_there_and_back(call, file, tmp_path):
    _, out, _ = call("mask", file, "--names", "people", "--table", "t.jsonl")
    assert stat.S_IMODE((tmp_path / "t.jsonl").stat().st_mode) == 0o600
    (tmp_path / "m.jsonl").write_text(out)
    code, back, _ = call("mask", "m.jsonl", "--restore", "t.jsonl")
    records = [json.loads(line) for line in back.splitlines()]
    assert code == 0
    assert [record["id"] for record in records] == [line["id"] for line in LINES]
    assert [[[t["speaker"], t["text"]] for t in r["turns"]] for r in records] == [
        line["turns"] for line in LINES
    ]


def test_a_list_of_summaries_is_restored(call, file):
    call("mask", file, "--table", "t.jsonl", "-o", "m.jsonl")
    call("summarize", "m.jsonl", "-o", "s.json")
    _, back, _ = call("mask", "s.json", "--restore", "t.jsonl")
    assert [json.loads(line)["id"] for line in back.splitlines()] == ["a", "+1 212-555-0199"]


def test_a_table_and_an_output_are_two_files(call, file, tmp_path):
    assert call("mask", file, "--table", "t.jsonl", "-o", "./t.jsonl")[0] == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]
    call("mask", file, "--table", "t.jsonl", "-o", "m.jsonl")
    assert call("mask", "m.jsonl", "--restore", "t.jsonl", "-o", "t.jsonl")[0] == 2
    assert '"values"' in (tmp_path / "t.jsonl").read_text()


def test_a_dialogue_without_a_table_is_said_and_counted(call, file, tmp_path):
    call("mask", file, "--table", "t.jsonl")
    code, out, err = call("mask", file, "--restore", "t.jsonl")
    assert code == 3
    assert out == ""
    assert "no table fits the dialogue 'a': it is not of this file, or was changed" in err
    assert "and summaries of summarize as JSON (no .txt, .md or .csv of them)" in err


def test_kinds_and_a_pack_of_ones_own(call, file, tmp_path):
    (tmp_path / "p.yaml").write_text(
        "name: p\nlanguage: en\nversion: 1\nkinds: {HOUR: times}\n"
        "rules: [{kind: HOUR, entity: TIME, examples: ['at [[5:30 pm]]']}]\n"
    )
    _, out, _ = call("mask", file, "--kinds", "HOUR", "--pack", "p.yaml")
    assert json.loads(out.splitlines()[0])["turns"][0]["text"] == "Call 415-555-0132 at [HOUR_1]."
    _, out, _ = call("mask", "--list", "--pack", "p.yaml")
    assert out.splitlines()[0].split() == ["HOUR", "times"]


def test_bad_lines_are_left_out_and_no_table_is_left_after_a_failure(call, file, tmp_path):
    file.write_text(file.read_text() + "{\n")
    code, out, err = call("mask", file)
    assert (code, len(out.splitlines())) == (3, 2)
    assert "a.jsonl:3: not JSON" in err
    code, _, _ = call("mask", file, "--strict", "--table", "t.jsonl")
    assert code == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jsonl"]


BAD = {"id": "x", "415-555-0132 ann@example.com": []}


def test_messages_about_input_show_nobodys_data_unless_asked(call, tmp_path, monkeypatch):
    (tmp_path / "b.jsonl").write_text(json.dumps(LINES[0]) + "\n" + json.dumps(BAD) + "\n")
    (tmp_path / "c.jsonl").write_text(json.dumps({**LINES[1], "id": "train_301", "summary": ""}))
    assert "without text (train_301)" in call("data", "check", "c.jsonl")[1]
    for command in (["mask"], ["data", "check"]):
        _, out, err = call(*command, "b.jsonl")
        assert "[PHONE_1] [EMAIL_1]" in err + out
        assert "ann@" not in err + out
    assert "ann@example.com" in call("--show-personal-data", "mask", "b.jsonl")[2]
    assert "ann@example.com" not in call("mask", "b.jsonl")[2]
    monkeypatch.setenv(console.SHOW_PERSONAL_DATA, "1")
    assert "ann@example.com" in call("mask", "b.jsonl")[2]


@pytest.mark.parametrize(
    "arguments",
    [
        ("mask", "--kinds", "ann@example.com", "b"),  # our error
        ("mask", "--bad-ann@example.com"),  # the parser's own
        ("mask", "chat-with-ann@example.com.jsonl"),  # a file
        ("ann@example.com",),  # a command
    ],
)
def test_errors_about_the_call(call, arguments):
    code, _, err = call(*arguments)
    assert code in (1, 2)
    assert "EMAIL_1]" in err
    assert "ann@" not in err.lower()


def test_a_traceback_too(call, file, monkeypatch):
    def broken(*_):
        raise RuntimeError("cannot deal with ann@example.com")

    monkeypatch.setattr("dialogist.privacy.packs.described_kinds", broken)
    monkeypatch.setenv("DIALOGIST_DEBUG", "1")
    code, _, err = call("mask", "--list")
    assert code == 1
    assert err.count("[EMAIL_1]") >= 2
    assert "Traceback" in err
    assert "ann@" not in err
