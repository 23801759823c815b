"""Draw docs/demo.svg: what the bundled model says about the example dialogues.

    python bench/demo_picture.py

For the README, to be run again whenever the bundled model or its search changes. The commands in
the picture are run as they stand there; another machine may compute in another number format, and
some words be others.
"""

import io
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

_ROOT = Path(__file__).resolve().parents[1]
_EXAMPLES = _ROOT / "src" / "dialogist" / "assets" / "examples"
_COMMANDS = (
    "cat gym.txt",
    "dialogist summarize gym.txt",
    "dialogist summarize --format md hotel-call.srt support-chat.txt",
)


def main() -> None:
    console = Console(record=True, width=110, file=io.StringIO(), force_terminal=True)
    for command in _COMMANDS:
        console.print(Text(f"$ {command}", style="bold green"))
        console.print(Text(_said(command)))
    console.save_svg(str(_ROOT / "docs" / "demo.svg"), title="dialogist", unique_id="demo")


def _said(command: str) -> str:
    bin_folder = Path(sys.executable).parent
    found = subprocess.run(
        command.split(),
        cwd=_EXAMPLES,
        env={**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return "\n".join(line for line in found.stdout.splitlines() if line)


if __name__ == "__main__":
    main()
