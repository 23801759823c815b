"""Show what Dialogist does today, on the example dialogues: `make demo`.

Each command is printed before its output, and runs in a temporary folder with copies of
src/dialogist/assets/examples. `make demo-text` stores the output for the test, and draws its
picture.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[1] / "src" / "dialogist" / "assets" / "examples"


@dataclass(frozen=True, slots=True)
class Step:
    """A part of the demo: what it shows, and the commands of a shell that show it."""

    title: str
    commands: tuple[str, ...]
    comment: str = ""


SUPPORT = Step(
    "A support chat as a ticket: problem, what was done, next steps, and where each is said",
    (
        "cat support-chat.txt",
        "dialogist summarize support-chat.txt --form ticket",
    ),
)
VISIT = Step(
    "A visit to the doctor, as text",
    ("cat visit.txt", "dialogist summarize visit.txt"),
)
MEETING = Step(
    "A short meeting: decisions, actions, open questions",
    (
        "cat meeting.txt",
        "dialogist summarize meeting.txt --form meeting",
    ),
)
HARD = Step(
    "A chat that is hard",
    (
        "cat hard-chat.txt",
        "dialogist summarize hard-chat.txt",
    ),
    "Seven was refused: the summary shows the offer with what became of it.",
)
MASKS = Step(
    "The support chat without personal data, and back",
    (
        "dialogist mask support-chat.txt --table masks.jsonl --output masked/support-chat.txt",
        "cat masked/support-chat.txt",
        "dialogist mask masked/support-chat.txt --restore masks.jsonl --output back.txt",
        "cmp support-chat.txt back.txt && echo the same, byte for byte",
    ),
)
TEACHING = Step(
    "A network that was trained on made-up calls, and how it wrote (of the laboratory)",
    (
        "dialogist data synth --pairs 1 --seed 11 --split dev --output call.jsonl",
        "dialogist summarize call.jsonl --writer kdd-leader-pointer-writer",
        "dialogist explain call.jsonl --output explanation.html",
    ),
    "It plans key points and writes a text for each. What it makes up is taken out, or marked.",
)
STEPS = (SUPPORT, VISIT, MEETING, HARD, MASKS, *((TEACHING,) if find_spec("torch") else ()))
NEXT = """
=== Next
Your own chats:          .venv/bin/dialogist summarize chat.txt
All commands:            .venv/bin/dialogist --help
As a service:            make serve
"""


def main() -> None:
    for line in shown(STEPS):
        print(line, flush=True)
    print(NEXT)


def shown(steps: Sequence[Step]) -> Iterator[str]:
    """The lines of some steps: titles, commands, and what each prints."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
        (Path(folder) / "masked").mkdir()
        for step in steps:
            yield f"\n=== {step.title}"
            for command in step.commands:
                yield f"\n$ {command}"
                yield from _output_of(command, Path(folder)).splitlines()
            if step.comment:
                yield f"\n{step.comment}"


def _output_of(command: str, folder: Path) -> str:
    """What a command prints; its counts and notes on stderr are shown only if it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        sys.exit(f"{command}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    main()
