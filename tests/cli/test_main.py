"""The command line from outside: exit codes, streams, and one clear line for every mistake."""

import json
import signal
import subprocess
import sys
from importlib import metadata

import pytest
import typer

from dialogist import plugins
from dialogist.cli.main import EXAMPLES, command_line

CHAT = b"Ann: Lunch at noon?\nBo: Yes! At Luigi's, as we always do.\n"


def one_line(result) -> str:
    """stderr must be exactly one line without a traceback; return it."""
    [line] = result.err.splitlines()
    assert "Traceback" not in line
    assert line.startswith("dialogist: ")
    return line


def test_help_needs_nothing_heavy():
    code = (
        "import sys; from dialogist.cli.main import command_line; command_line(); "
        "assert not {'torch', 'numpy', 'pydantic', 'fastapi', 'yaml'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_one_summary_loads_few_modules(dialogist, tmp_path):
    (tmp_path / "a.txt").write_bytes(CHAT)
    code = (
        "import sys; sys.argv = ['dialogist', 'summarize', 'a.txt']\n"
        "from dialogist.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: print(*sys.modules, file=sys.stderr)"
    )
    command, caught = [sys.executable, "-c", code], {"capture_output": True, "text": True}
    loaded = subprocess.run(command, cwd=tmp_path, check=True, **caught).stderr.split()
    assert not {"torch", "httpx", "rich", "concurrent.futures"} & {*loaded}
    assert sum(name.startswith("dialogist") for name in loaded) <= 50


def test_commands_stand_by_task_with_examples(dialogist):
    shown = dialogist("--help").out
    for panel, names in {
        "Summaries": ("summarize", "batch", "forms", "mask"),
        "Service": ("serve", "client", "keys", "feedback"),
        "Data and machine": ("data", "doctor"),
    }.items():
        part = shown.split(f"─ {panel} ─")[1].split("╰")[0]
        assert all(f"│ {name} " in part for name in names), part
    assert "templates" not in shown  # works, but is not the name of today
    assert dialogist("templates", "list").out == dialogist("forms", "list").out


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_are_calls_of_today(dialogist, name):
    command = typer.main.get_command(command_line())
    for example in EXAMPLES[name]:
        called, rest = command, example.split()[1:]
        while hasattr(called, "commands"):
            called, rest = called.commands[rest[0]], rest[1:]
        called.make_context(name, list(rest), resilient_parsing=False)
        assert example in dialogist(*name.split("."), "--help", env={"COLUMNS": "200"}).out


def test_completion(dialogist):
    asked = {"COMP_WORDS": "dialogist summarize --format ", "COMP_CWORD": "3"}
    completed = dialogist(env={"_DIALOGIST_COMPLETE": "complete_bash", **asked}, real=True)
    assert "jsonl" in completed.out


def test_commands_of_other_packages(dialogist, monkeypatch, tmp_path):
    (tmp_path / "other_package.py").write_text(
        "import typer\n"
        "app = typer.Typer()\n"
        "@app.command()\n"
        "def list(): print('listed')\n"
        "@app.command()\n"
        "def show(): print('shown')\n"
        "def train():\n    'Train it.'\n    import no_such_package\n"
        "def split(): print('split')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    values = {
        "train": "other_package:train [lab]",
        "recipes": "other_package:app",
        "data.split": "other_package:split",
        "rate": "no_such_module:rate [lab]",
        "broken": "no_such_module:f",
    }
    points = {name: metadata.EntryPoint(name, value, "g") for name, value in values.items()}
    monkeypatch.setattr(plugins, "_entry_points", lambda group: points)
    shown = dialogist("--help").out
    assert "Train it." in shown
    assert "recipes" in shown.split("More commands")[1]
    assert dialogist("recipes", "show").out == "shown\n"
    assert dialogist("data", "split").out == "split\n"
    assert "check" in dialogist("data", "--help").out
    for name in ("train", "rate"):
        failed = dialogist(name)
        assert failed.returncode == 1
        remedy = f"dialogist: {name} needs an extra: pip install 'dialogist[lab]'"
        assert one_line(failed).startswith(remedy)
    assert "unexpected ModuleNotFoundError: " in one_line(dialogist("broken"))


WRONG_CALLS = {
    "sumarize": (2, "No such command 'sumarize'"),
    "summarize --nonsense": (2, "--nonsense"),
    "summarize nope.txt": (1, "nope.txt: no such file"),
    "summarize --format jsom": (2, "'jsom' is not one of 'text', 'json'"),
    "summarize --words 0": (2, "--words"),
    "summarize --writer highlight": (2, "did you mean 'highlights'?"),
    "summarize --writer openai:http://a/v1#b": (2, "say --allow-network"),
    "summarize --form meetin": (2, "did you mean 'meeting'"),
    "summarize --speaker Agent": (2, "write it as OLD=NEW"),
    "summarize --speaker A=C --speaker B=C": (2, "both be called"),
    "summarize --speaker A=C --speaker A=D": (2, "given twice"),
    "summarize --mask-names all": (2, "with mask only"),
    "summarize --columns id": (2, "--columns goes with --format csv"),
    "summarize -f csv --columns txt": (2, "did you mean 'text'"),
    "summarize --resume": (2, "--resume goes with --output FILE.jsonl"),
    "summarize --resume -o out.json": (2, "--resume goes with"),
    "forms show nope": (2, "nope"),
    "doctor -o out.md": (2, "does not write md; it writes text, json"),
    "doctor -o out.xlsx": (2, "does not write xlsx; it writes text, json"),
    "doctor -o no/out.json": (2, "there is no folder no"),
    "doctor -o .": (2, "is a folder"),
    "mask none.jsonl": (1, "none.jsonl: no such file"),
    "mask t.csv --kinds PHON": (2, "no such kind; did you mean 'PHONE'"),
    "mask t.csv --names me": (2, "'me' is not one of 'none', 'speakers', 'people', 'all'"),
    "mask t.csv --pack none.yaml": (2, "none.yaml: privacy pack cannot be read"),
    "mask t.csv --table t.csv": (2, "exists already; give another --table"),
    "mask t.csv --table x/t.jsonl": (2, "x: no such folder for --table"),
    "mask t.csv --restore none": (1, "none: cannot be read"),
    "mask t.csv --restore t.csv": (1, "t.csv:1: is no table of masks"),
    "mask t.csv --restore t.csv --kinds PHONE": (2, "--restore goes without"),
    "mask t.csv --where public": (2, "write it as NAME=VALUE or NAME!=VALUE"),
    "mask t.csv --encoding cp12525": (2, "unknown encoding 'cp12525'"),
    "mask t.csv --one-dialogue --sorted": (2, "exclude each other"),
    "mask t.csv --column id": (2, "write it as NAME=KEY"),
    "mask t.csv --column id=nix": (1, "no column 'nix'"),
    "mask t.csv --input-format cvs": (2, "did you mean 'csv'"),
}


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_wrong_calls_are_one_line_and_leave_nothing(dialogist, tmp_path, call):
    (tmp_path / "t.csv").write_text("id,speaker,text\n1,Ann,hi\n1,Bo,ho\n")
    result = dialogist(*call.split(), input=CHAT)
    code, message = WRONG_CALLS[call]
    assert (result.returncode, result.out) == (code, "")
    assert message in one_line(result)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"Only prose here, and nobody speaks.\n", "no format recognised"),
        (bytes(range(256)) * 8, "binary"),
        (b"\x1f\x8b\x08\x00broken", "gzip"),
    ],
)
def test_unusable_input(dialogist, tmp_path, content, message):
    (tmp_path / "input.txt").write_bytes(content)
    for result in (dialogist("summarize", "input.txt"), dialogist("summarize", input=content)):
        assert (result.returncode, result.stdout) == (1, b"")
        assert message in one_line(result)


def test_a_bug_is_one_line_and_debugging_shows_where(dialogist, monkeypatch):
    monkeypatch.setattr("dialogist.cli.flags.pairs", lambda *_: 1 / 0)
    broken = dialogist("summarize", input=CHAT)
    assert broken.returncode == 1
    assert "unexpected ZeroDivisionError" in one_line(broken)
    assert "Traceback" in dialogist("summarize", input=CHAT, env={"DIALOGIST_DEBUG": "1"}).err


def test_reader_that_leaves_and_full_disk(dialogist, tmp_path):
    line = json.dumps({"turns": [["A", "hello to all of you here"], ["B", "hi"]]}) + "\n"
    (tmp_path / "many.jsonl").write_text(line * 2000)
    command = ("summarize", "many.jsonl", "--format", "jsonl")
    process = dialogist.start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(timeout=60) == 1
    assert errors.splitlines()[-1] == "dialogist: the reader of the output closed it early"
    with open("/dev/full", "wb") as full:
        process = dialogist.start(*command, stdout=full, stderr=subprocess.PIPE)
        _, message = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"No space left" in message
    assert b"Traceback" not in message + errors.encode()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15)])
def test_signals(dialogist, number, code):
    """A shell sees 130 and 143: SIGTERM ends the process by the signal itself.

    What is written to it fits no pipe, so it reads before it is stopped, and waits for more.
    """
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = dialogist.start("summarize", "-", **pipes)
    process.stdin.write(CHAT * 10_000)
    process.stdin.flush()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"Traceback" not in errors


def test_doctor(dialogist, monkeypatch):
    lines = ["pydantic>=2", 'no-such-one>=1 ; extra == "serve"', "typer[all]; extra=='pg'"]
    monkeypatch.setattr(metadata, "requires", lambda _: lines)
    facts = json.loads(dialogist("doctor", "--format", "json").out)
    assert facts["writers"][:2] == ["highlights", "openai"]
    assert facts["packages"]["pydantic"]
    assert facts["extras"] == {"serve": False, "pg": True}
    shown = dialogist("doctor", "--output", "-").out
    assert "writers: highlights, openai" in shown
    assert (
        "extra serve: no-such-one missing: pip install 'dialogist[serve]' "
        "(in a checkout: pip install '.[serve]')\nextra pg: installed\n"
    ) in shown
