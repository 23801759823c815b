"""What CONTRIBUTING shows is real: each diff applies to the sources, and what it adds works."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dialogist

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Adding things")[1]
FORMAT, METRIC, MODEL, FIELD = "An input format", "A metric", "A model family", "A field"
FILES = {FORMAT: 2, METRIC: 2, MODEL: 3, FIELD: 2}
"""The most files that each diff touches; that of a field has one more, which a command writes."""
LONGEST = 60

WORDY = ["--no-safe", "--min-tokens", "4"]  # it has seen eight dialogues, once
COMMANDS = {
    FORMAT: [["data", "check", "chat.log"]],
    METRIC: [["evaluate", "lead-1", "dev.jsonl", "--metrics", "sentences", "--format", "json"]],
    MODEL: [
        ["train", "bag", "--data", ".", "--output", "run", "--set", "tokenizer.size=400"],
        ["summarize", "chat.txt", "--model", "run", *WORDY, "--format", "jsonl"],
    ],
    FIELD: [["summarize", "chat.txt", "--mask", "output", "--format", "jsonl"]],
}
QUICK = ["--set", "training.epochs=1", "--set", "validation.samples=0"]

# All commands in one process, which has the sources with the diffs.
RUN = """
import json, sys
from pathlib import Path
from bench.summary_schema import summary_schema
from tests.command import CommandLine

run = CommandLine(Path.cwd())
found = {}
for name, commands in json.loads(sys.stdin.read()).items():
    done = [run(*words) for words in commands]
    found[name] = [[one.returncode, one.stdout.decode(), one.stderr.decode()] for one in done]
print(json.dumps([found, summary_schema()]))
"""


def diff_of(section: str) -> str:
    text = PAGE.split(f"### {section}")[1].split("\n### ")[0]
    [diff] = re.findall(r"^```diff\n(.*?)^```", text, re.M | re.S)
    return diff


def shown(section: str) -> list[list[str]]:
    text = PAGE.split(f"### {section}")[1].split("\n### ")[0]
    return [line.split() for line in re.findall(r"^\$ dialogist (.*)$", text, re.M)]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What the commands of all sections say where all diffs are applied."""
    folder = tmp_path_factory.mktemp("contributing")
    package = ROOT / "src" / "dialogist"
    unneeded = shutil.ignore_patterns("__pycache__", "*.safetensors")
    shutil.copytree(package, folder / "src" / "dialogist", ignore=unneeded)
    for weights in (package / "assets").rglob("*.safetensors"):
        (folder / weights.relative_to(ROOT)).symlink_to(weights)
    (folder / "src" / "dialogist_lab").symlink_to(ROOT / "src" / "dialogist_lab")
    for section in FILES:
        apply = ["git", "apply", "-"]
        done = subprocess.run(
            apply, cwd=folder, input=diff_of(section), capture_output=True, text=True
        )
        assert done.returncode == 0, (
            f"CONTRIBUTING.md, {section}: {done.stderr}; make the change by hand, and put "
            "there what git diff -U1 shows of it"
        )
    (folder / "chat.log").write_text("12:00 -!- ann joined\n12:01 <ann> Lunch?\n12:02 <@bo> Yes.\n")
    (folder / "chat.txt").write_text("Ann: Can you send it by Friday?\nBo: Yes, on Thursday.\n")
    rows = [
        {"id": f"d{n}", "turns": [["Ann", f"Shall we meet at {n}?"], ["Bo", "Yes. Gladly."]]}
        for n in range(8)
    ]
    lines = [json.dumps({**row, "summary": "They meet."}) + "\n" for row in rows]
    for name in ("train", "dev"):
        (folder / f"{name}.jsonl").write_text("".join(lines))
    asked = {**COMMANDS, MODEL: [[*COMMANDS[MODEL][0], *QUICK], COMMANDS[MODEL][1]]}
    paths = os.pathsep.join((str(folder / "src"), str(ROOT)))
    ran = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=folder,
        input=json.dumps(asked),
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("section", FILES)
def test_a_diff_is_short_and_touches_few_files(section):
    diff = diff_of(section)
    assert len(diff.splitlines()) <= LONGEST
    assert len(re.findall(r"^\+\+\+ b/", diff, re.M)) <= FILES[section]


@pytest.mark.parametrize("section", [FORMAT, METRIC, MODEL])
def test_the_commands_that_are_shown_are_those_that_are_run(section):
    for words, ran in zip(shown(section), COMMANDS[section], strict=True):
        assert words == ran[: len(words)]


def test_a_format(found):
    [[code, out, _]] = found[0][FORMAT]
    assert (code, out) == (0, "chat.log: 1 dialogue, 2 utterances, 0 summaries\n")


def test_a_metric(found):
    [[code, out, _]] = found[0][METRIC]
    assert code == 0
    figures = json.loads(out)["card"]["rows"][0]["figures"]
    assert figures["sentences.count"]["figure"] == 1
    assert figures["sentences.words"]["figure"] == 6  # Ann: Shall we meet at 3?


def test_a_model_family(found):
    trained, used = found[0][MODEL]
    assert (trained[0], trained[1]) == (0, "run/model\n"), trained[2]
    summary = json.loads(used[1])
    assert summary["text"]
    assert {one["kind"] for one in summary["sentences"]} == {"free"}


def test_a_field(found):
    [[code, out, _]] = found[0][FIELD]
    assert code == 0
    assert json.loads(out)["release"] == dialogist.__version__
    assert found[1]["properties"]["release"]["type"] == "string"
    assert "release" in found[1]["required"]
