"""The reading flags are the same in all commands that read dialogues."""

import json

import pytest

FLAGS = ("--input-format", "--column", "--where", "--encoding", "--one-dialogue", "--sorted")
COMMANDS = ["summarize", "mask", "evaluate", "compare", "explain", "report"]
COMMANDS += [
    "data check",
    "data stats",
    "finetune",
    "annotate",
    "data split",
    "data entities",
    "data vectors",
]
COMMANDS += ["keypoints label", "keypoints stats", "rate make"]
TICKETS = (
    "ticket_id,author,body,public\n1,Ann,hi,true\n2,Cy,hey,true\n1,Bo,psst,false\n"
    "1,Bo,That is £5,true\n,Bo,lost,true\n"
)


def test_every_command_has_them(dialogist):
    for command in COMMANDS:
        shown = dialogist(*command.split(), "--help", env={"COLUMNS": "250"}).stdout.decode()
        missing = [flag for flag in (*FLAGS, "--internal-notes") if flag not in shown]
        assert not missing, f"{command}: {missing}"


def test_what_was_decided_is_told_and_what_is_bad_is_counted(dialogist, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(TICKETS.encode("cp1252"))
    result = dialogist("mask", str(path), "--kinds", "EMAIL")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    told = result.stderr.decode()
    assert [(row["id"], len(row["turns"])) for row in rows] == [("1", 2), ("2", 1)]
    assert result.returncode == 3
    assert "t.csv:6: has no id in column 'ticket_id'" in told
    assert "read as cp1252" in told
    assert "1 internal note left out" in told


@pytest.mark.parametrize(
    ("flags", "code", "message"),
    [
        (["--where", "public"], 2, "write it as NAME=VALUE or NAME!=VALUE"),
        (["--encoding", "cp12525"], 2, "unknown encoding 'cp12525'"),
        (["--one-dialogue", "--sorted"], 2, "exclude each other"),
        (["--column", "id"], 2, "write it as NAME=KEY"),
        (["--input-format", "cvs"], 2, "did you mean 'csv'"),
        (["--column", "id=nix"], 1, "no column 'nix'"),
    ],
)
def test_wrong_flags_are_one_line(dialogist, tmp_path, flags, code, message):
    path = tmp_path / "t.csv"
    path.write_text(TICKETS, encoding="utf-8")
    result = dialogist("mask", str(path), *flags)
    assert result.returncode == code
    assert message in result.stderr.decode()
    assert result.stderr.count(b"\n") == 1
