"""Draw docs/demo.svg: the support chat and the hard chat of `make demo`.

    python bench/demo_picture.py

For the README; `make demo-text` runs it.
"""

import io
from pathlib import Path

from demo import HARD, SUPPORT, shown
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    console = Console(record=True, width=110, file=io.StringIO(), force_terminal=True)
    for line in shown((SUPPORT, HARD)):
        console.print(Text(line, style="bold green" if line.startswith("\n$ ") else ""))
    console.save_svg(str(ROOT / "docs" / "demo.svg"), title="make demo", unique_id="demo")


if __name__ == "__main__":
    main()
