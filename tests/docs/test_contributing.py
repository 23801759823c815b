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
RULE, TYPE, PARAMETER = "A reported-speech rule", "A type of", "A parameter"
SIZES = {
    FORMAT: (2, 60),
    METRIC: (2, 60),
    MODEL: (3, 60),
    FIELD: (2, 60),
    RULE: (2, 40),
    TYPE: (3, 40),
    PARAMETER: (1, 40),
}
"""The most files and lines of each diff; that of a field has one more, which a command writes."""

WORDY = ["--no-safe", "--min-tokens", "4"]  # it has seen eight dialogues, once
COMMANDS = {
    FORMAT: [["data", "check", "chat.log"]],
    METRIC: [["evaluate", "lead-1", "dev.jsonl", "--metrics", "sentences", "--format", "json"]],
    MODEL: [
        ["train", "bag", "--data", ".", "--output", "run", "--set", "tokenizer.size=400"],
        ["summarize", "chat.txt", "--model", "run", *WORDY, "--format", "jsonl"],
    ],
    FIELD: [["summarize", "chat.txt", "--mask", "output", "--format", "jsonl"]],
    TYPE: [["summarize", "visit.txt", "--template", "clinical"]],
}
TABLE = "tests/language/reported_speech.yaml"
QUICK = [
    *("--set", "training.epochs=1", "--set", "validation.samples=0"),
    *("--set", "decoding.min_tokens=4"),
]

# All commands in one process, which has the sources with the diffs.
RUN = """
import json, sys
from pathlib import Path
from bench.summary_schema import summary_schema
from dialogist.pipeline.summarizer import Summarizer
from dialogist.service.tables import open_store
from dialogist.language.reported_speech import Conversation
from tests.command import CommandLine
from tests.service.conftest import ask

run = CommandLine(Path.cwd())
wanted = json.load(sys.stdin)
found = {"schema": summary_schema()}
for name, commands in wanted["commands"].items():
    done = [run(*words) for words in commands]
    found[name] = [[one.returncode, one.stdout.decode(), one.stderr.decode()] for one in done]
talks = [Conversation([("Ann", said), ("Bo", "Hm.")]) for said in wanted["said"]]
found["reports"] = [[one.text for one in talk.report(0)] for talk in talks]

async def replies(service):
    sent = {"content": Path("chat.txt").read_bytes(), "headers": {"Content-Type": "text/plain"}}
    async with service.client() as client:
        urls = [f"/v1/summaries?safe=false&{query}" for query in wanted["queries"]]
        found = [await client.post(url, **sent) for url in urls]
    return [[one.status_code, one.json()] for one in found]

store = open_store("sqlite:///service.db")
found["replies"] = ask(store, replies, Summarizer.load("run"))
print(json.dumps(found))
"""
QUERIES = ["min_confidence=1", "min_confidence=0", "min_confidence=2"]
QUERIES += ["min_confidence=1&style=faithful"]


def diff_of(section: str) -> str:
    text = PAGE.split(f"### {section}")[1].split("\n### ")[0]
    [diff] = re.findall(r"^```diff\n(.*?)^```", text, re.M | re.S)
    return diff


def shown(section: str) -> list[list[str]]:
    text = PAGE.split(f"### {section}")[1].split("\n### ")[0]
    return [line.split() for line in re.findall(r"^\$ dialogist (.*)$", text, re.M)]


def pairs_of(diff: str) -> dict[str, str]:
    """What is said in the lines that a diff adds to the table, and how it is reported."""
    lines = re.findall(r"^\+ {4}(.*) => (.*)$", diff, re.M)
    return dict(lines)


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
    table = folder / TABLE
    table.parent.mkdir(parents=True)
    shutil.copy(ROOT / TABLE, table)
    for section in SIZES:
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
    (folder / "visit.txt").write_text("Doctor: Take 500 mg twice a day.\nLin: Not 250mg? Fine.\n")
    rows = [
        {"id": f"d{n}", "turns": [["Ann", f"Shall we meet at {n}?"], ["Bo", "Yes. Gladly."]]}
        for n in range(8)
    ]
    lines = [json.dumps({**row, "summary": "They meet."}) + "\n" for row in rows]
    for name in ("train", "dev"):
        (folder / f"{name}.jsonl").write_text("".join(lines))
    commands = {**COMMANDS, MODEL: [[*COMMANDS[MODEL][0], *QUICK], COMMANDS[MODEL][1]]}
    said = list(pairs_of(diff_of(RULE)))
    asked = {"commands": commands, "said": said, "queries": QUERIES}
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


@pytest.mark.parametrize("section", SIZES)
def test_a_diff_is_short_and_touches_few_files(section):
    diff, (files, lines) = diff_of(section), SIZES[section]
    assert len(diff.splitlines()) <= lines
    assert len(re.findall(r"^\+\+\+ b/", diff, re.M)) <= files


@pytest.mark.parametrize("section", [FORMAT, METRIC, MODEL, TYPE])
def test_the_commands_that_are_shown_are_those_that_are_run(section):
    for words, ran in zip(shown(section), COMMANDS[section], strict=True):
        assert words == ran[: len(words)]


def test_a_format(found):
    [[code, out, _]] = found[FORMAT]
    assert (code, out) == (0, "chat.log: 1 dialogue, 2 utterances, 0 summaries\n")


def test_a_metric(found):
    [[code, out, _]] = found[METRIC]
    assert code == 0
    figures = json.loads(out)["card"]["rows"][0]["figures"]
    assert figures["sentences.count"]["figure"] == 1
    assert figures["sentences.words"]["figure"] == 6  # Ann: Shall we meet at 3?


def test_a_model_family(found):
    trained, used = found[MODEL]
    assert (trained[0], trained[1]) == (0, "run/model\n"), trained[2]
    summary = json.loads(used[1])
    assert summary["text"]
    assert {one["kind"] for one in summary["sentences"]} == {"free"}


def test_a_field(found):
    [[code, out, _]] = found[FIELD]
    assert code == 0
    assert json.loads(out)["release"] == dialogist.__version__
    assert found["schema"]["properties"]["release"]["type"] == "string"
    assert "release" in found["schema"]["required"]


def test_a_rule(found):
    pairs = pairs_of(diff_of(RULE))
    assert pairs
    assert found["reports"] == [[report] for report in pairs.values()]


def test_a_type_of_a_field(found):
    [[code, out, _]] = found[TYPE]
    assert code == 0
    assert "Doses: 500 mg [1], 250mg [2]" in out


def test_a_parameter(found):
    unsure, sure, beyond, unused = found["replies"]
    assert [code for code, _ in found["replies"]] == [200, 200, 422, 422]
    kinds = [{one["kind"] for one in body["warnings"]} for _, body in (unsure, sure)]
    assert "unsure" in kinds[0] - kinds[1]
    assert "min_confidence: Input should be less than or equal to 1" in beyond[1]["detail"]
    assert "use safe and min_confidence in style free only" in unused[1]["detail"]
