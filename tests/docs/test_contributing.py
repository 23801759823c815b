"""What CONTRIBUTING shows is real: each diff applies to the sources, and what it adds works."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dialogist

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Adding things")[1]
FORMAT, METRIC, MODEL = "An input format", "A metric", "A model family"
FIELD, TYPE, PARAMETER = "A field of", "A type of", "A parameter of"
SIZES = {FORMAT: (1, 15), METRIC: (2, 40), MODEL: (3, 70), FIELD: (2, 30), TYPE: (3, 35)}
SIZES[PARAMETER] = (3, 30)
"""The most files and lines of each diff."""

COMMANDS = {
    FORMAT: ["data check pigeon.json"],
    METRIC: ["evaluate lead-1 dev.jsonl --metrics sentences --format json"],
    MODEL: [
        "train bag --data . --output run --set tokenizer.size=400",
        "summarize chat.txt --writer model:run --format jsonl",
    ],
    TYPE: ["summarize visit.txt --form clinical"],
}
QUICK = " --set training.epochs=1 --set decoding.min_tokens=4 --threads 1"

# All commands in one process, which has the sources with the diffs.
RUN = """
import json, sys
from pathlib import Path
from bench.summary_schema import summary_schema
from dialogist.service.tables import open_store
from tests.command import CommandLine
from tests.service.conftest import ask

run, made = CommandLine(Path.cwd()), {"schema": summary_schema()}
for name, commands in json.load(sys.stdin).items():
    called = [run(*words) for words in commands]
    made[name] = [[c.returncode, c.stdout.decode(), c.stderr.decode()] for c in called]

async def replies(service):
    sent = {"content": Path("chat.txt").read_bytes(), "headers": {"Content-Type": "text/plain"}}
    async with service.client() as client:
        posts = [await client.post(f"/v1/summaries?spans={n}", **sent) for n in (1, 2, 0)]
    return [[post.status_code, post.json()] for post in posts]

made["replies"] = ask(open_store("sqlite:///service.db"), replies)
print(json.dumps(made))
"""


def section(name: str) -> str:
    return PAGE.split(f"### {name}")[1].split("\n### ")[0]


def diff_of(name: str) -> str:
    [diff] = re.findall(r"^```diff\n(.*?)^```", section(name), re.M | re.S)
    return str(diff)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the commands of all sections say where all diffs are applied."""
    folder = tmp_path_factory.mktemp("contributing")
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in SIZES:
        given = {"cwd": folder, "input": diff_of(name), "capture_output": True, "text": True}
        done = subprocess.run(["git", "apply", "-"], **given)
        assert done.returncode == 0, (
            f"CONTRIBUTING.md, {name}: {done.stderr}; make the change by hand, and put "
            "there what git diff -U1 shows of it"
        )
    told = (("Ann", "letter", "Lunch?"), ("Cy", "rest", "arrives"), ("Bo", "letter", "Yes."))
    letters = [{"bird": bird, "kind": kind, "note": note} for bird, kind, note in told]
    (folder / "pigeon.json").write_text(json.dumps({"coop": 1, "letters": letters}))
    (folder / "chat.txt").write_text("Ann: Can you send it by Friday?\nBo: Yes, on Thursday.\n")
    (folder / "visit.txt").write_text(
        "Doctor: Take 500 mg twice a day.\nLin: And 250mg at noon? Fine.\n"
    )
    turns = [[["Ann", f"Shall we meet at {n}?"], ["Bo", "Yes. Gladly."]] for n in range(8)]
    rows = ({"id": f"d{n}", "turns": t, "summary": "They meet."} for n, t in enumerate(turns))
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    for name in ("train", "dev"):
        (folder / f"{name}.jsonl").write_text(lines)
    commands = {name: [line.split() for line in lines] for name, lines in COMMANDS.items()}
    commands[MODEL][0] += QUICK.split()
    paths = (str(folder / "src"), str(ROOT), os.environ.get("PYTHONPATH", ""))
    ran = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=folder,
        input=json.dumps(commands),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize("name", SIZES)
def test_a_diff_is_short_and_its_commands_are_those_that_run(name: str) -> None:
    diff, (files, lines) = diff_of(name), SIZES[name]
    assert len(diff.splitlines()) <= lines
    assert len(re.findall(r"^\+\+\+ b/", diff, re.M)) <= files
    shown = re.findall(r"^\$ dialogist (.*)$", section(name), re.M)
    assert shown == COMMANDS.get(name, [])


def test_every_addition_works(made: Any) -> None:
    assert made[FORMAT][0][:2] == [0, "pigeon.json: 1 dialogue, 2 utterances, 0 summaries\n"]
    figures = json.loads(made[METRIC][0][1])["rows"][0]["figures"]
    assert figures["sentences.words"]["figure"] == 6  # Ann: Shall we meet at 3?
    trained, used = made[MODEL]
    assert trained[0] == 0, trained[2]
    summary = json.loads(used[1])
    verdicts = {statement["verdict"] for statement in summary["statements"]}
    assert verdicts <= {"doubtful", "contradicted"}
    assert summary["release"] == dialogist.__version__
    assert "release" in made["schema"]["required"]
    assert "Doses: 500 mg [1], 250mg [2]" in made[TYPE][0][1]
    assert [code for code, _ in made["replies"]] == [200, 200, 422]
    most = [max(len(s["evidence"]) for s in body["statements"]) for _, body in made["replies"][:2]]
    assert most == [1, 2]
