"""--help: panels, plain types, examples; completion; the bundled recipes."""

import json

import pytest
import typer

from dialogist.cli.command_tree import _EXAMPLES, COMMAND_GROUPS, dress, respelled
from dialogist.cli.main import app


@pytest.fixture(scope="module")
def command():
    found = typer.main.get_command(app)
    dress(found)
    return found


def test_panels_examples_and_plain_types(dialogist):
    shown = dialogist("summarize", "--help").stdout.decode()
    for panel in ("Input", "Output", "Model", "Decoding", "Privacy", "Summary"):
        assert f"─ {panel} ─" in shown
    assert "dialogist summarize tickets.jsonl --output summaries.jsonl --resume" in shown
    for name in ("<list", "<str>", "<int>", "<float>", "<path>"):
        assert name not in shown
    assert "greedy|beam|sample" in shown


def test_commands_stand_by_task(dialogist):
    shown = dialogist("--help").stdout.decode()
    for group, names in COMMAND_GROUPS.items():
        panel = shown.split(f"─ {group} ─")[1].split("╰")[0]
        for name in names:
            assert f"│ {name} " in panel
    assert "dialogist summarize chat.txt" in shown.split("Examples:")[1]


@pytest.mark.parametrize("name", sorted(_EXAMPLES))
def test_examples_are_calls_of_today(command, name):
    """Every example parses, and is in today's spelling."""
    for example in _EXAMPLES[name]:
        words = example.split()[1:]
        notes: list[str] = []
        assert respelled(command, words, notes.append) == words
        assert notes == []
        called, rest = command, words
        while hasattr(called, "commands"):
            called, rest = called.commands[rest[0]], rest[1:]
        called.make_context(words[0], list(rest), resilient_parsing=False)


def test_every_command_with_something_to_say_shows_an_example(command):
    """Of its own: ``rate report`` once showed those of ``report``."""

    def shown(root, words=()):
        for last, one in root.commands.items():
            if hasattr(one, "commands"):
                yield from shown(one, (*words, last))
            elif any(p.required or p.param_type_name == "argument" for p in one.params):
                yield (*words, last), one.epilog or one.help or ""

    found = dict(shown(command))
    assert ("rate", "report") in found
    for words, text in found.items():
        assert f"dialogist {' '.join(words)}" in text, words


def test_completion(dialogist):
    completed = dialogist(
        env={
            "_DIALOGIST_COMPLETE": "complete_bash",
            "COMP_WORDS": "dialogist summarize --format ",
            "COMP_CWORD": "3",
        },
        real=True,
    )
    assert b"jsonl" in completed.stdout


def test_recipes(dialogist):
    listed = json.loads(dialogist("recipes", "list", "--format", "json").stdout)
    assert {row["name"]: row["licence"] for row in listed}["dialogsum-minilm"] == "cc-by-nc-sa-4.0"
    assert all(row["description"] for row in listed)
    assert dialogist("recipes", "list").stdout.count(b"\n") == len(listed)
    shown = dialogist("recipes", "show", "kdd-seq2seq")
    assert shown.stdout.startswith(b"#")
    near = dialogist("recipes", "show", "kdd-seq2se")
    assert near.returncode == 2
    assert b"did you mean 'kdd-seq2seq'" in near.stderr
