"""What README says is true: each of its commands runs."""

import doctest
import importlib
import json
import re
import shlex
from pathlib import Path

import pytest
from tests.docs.test_docs import ROOT, written

README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (?:\.venv/bin/)?(.*?) *(?:#.*)?$", README, re.M)
PAIR = {"turns": [["Ann", "Lunch at noon?"], ["Bo", "Yes, at Luigi's, number {}."]]}


def test_every_command_has_its_test():
    """`make` and `pip` lines are checked below and in tests/packaging, all others are run here."""
    kinds = {command.split()[0] for command in COMMANDS}
    assert kinds == {"make", "dialogist", "pip"}
    assert sum(command.startswith("dialogist") for command in COMMANDS) == 7


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """The files that README's commands name."""
    chat = "Agent: Hello.\nCustomer: My order 48213 has not come.\nAgent: I'll send it today.\n"
    (tmp_path / "chat.txt").write_text(chat)
    examples = ROOT / "src" / "dialogist" / "assets" / "examples"
    (tmp_path / "meeting.txt").write_text((examples / "meeting.txt").read_text(encoding="utf-8"))
    (tmp_path / "calls").mkdir()
    (tmp_path / "calls" / "one.txt").write_text(chat)
    turns = [line.split(": ") for line in chat.splitlines()]
    (tmp_path / "calls.jsonl").write_text(json.dumps({"id": "1", "turns": turns}) + "\n")
    lines = (
        json.dumps(
            {
                "id": str(n),
                "turns": [[who, text.format(n)] for who, text in PAIR["turns"]],
                "summary": f"Ann and Bo will have lunch at {n}.",
            }
        )
        for n in range(12)
    )
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


IS_SLOW = ("finetune", "serve")


@pytest.mark.parametrize(
    "command",
    [c for c in COMMANDS if c.startswith("dialogist") and c.split()[1] not in IS_SLOW],
)
def test_commands_run(command, desk, dialogist):
    done = dialogist(*shlex.split(command)[1:])
    assert done.returncode == 0, done.stderr.decode()
    output = re.search(r"--output (\S+)", command)
    assert (desk / output[1]).exists() if output else b"(reported)" in done.stdout


def test_the_service_starts(desk, dialogist, monkeypatch):
    """Up to where it listens; tests/service/test_process.py asks a process of it."""
    served = []

    def run(settings, make, listener):
        served.append((settings.model, listener.getsockname()[1]))

    monkeypatch.setattr("dialogist.service.server.run", run)
    [command] = [c for c in COMMANDS if " serve" in c]
    words = shlex.split(command)[1:]
    started = dialogist(*words, "--store", f"sqlite:///{desk / 's.db'}")
    assert started.returncode == 0, started.stderr.decode()
    assert served == [("default", int(command.split("--port ")[1]))]
    assert b"#key=dlg_" in started.stderr


@pytest.mark.slow
def test_fine_tuning_runs(desk, dialogist):
    [command] = [c for c in COMMANDS if " finetune" in c]
    done = dialogist(*shlex.split(command)[1:], "--epochs", "1", "--threads", "1")
    assert done.returncode == 0, done.stderr.decode()
    assert (desk / "runs" / "mine" / "model" / "config.json").exists()


def test_extras_that_readme_names_exist():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    named = set(re.findall(r"'\.\[(\w+)\]'", README))
    named |= set(re.findall(r"`(\w+)`", README.split("Further extras: ")[1].split(". ")[0]))
    assert named <= set(re.findall(r"^(\w+) = \[", text, re.M))
    torch = re.search(r"torch==\S+", README)
    assert torch
    assert torch[0] in (ROOT / "constraints.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["", ".pipeline.summarizer"])
def test_docstrings_tell_the_truth(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"dialogist{name}"))
    assert tried
    assert not failed


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in written():
        for target in re.findall(r"(?:`|\$ )make ([a-z-]+)", page.read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:", makefile, re.M), f"{page.name}: make {target}"
