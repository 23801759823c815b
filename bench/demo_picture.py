"""Draw docs/images/demo.svg, and put outputs of `make demo` into the pages that show them.

    python bench/demo_picture.py

`make demo-text` runs it once it has written tests/demo.txt. A page shows a command's output between
the marks ``<!-- demo: COMMAND -->`` and ``<!-- /demo -->``, or only its beginning where the first
mark ends with ``(first N lines)``.
"""

import io
import re
from pathlib import Path

from demo import HARD, SUPPORT, shown
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", ROOT / "docs" / "tutorials" / "first-summary.md")
_MARK = r"(<!-- demo: (.*?)(?: \(first (\d+) lines\))? -->\n)"
BLOCK = re.compile(_MARK + r".*?(<!-- /demo -->)", re.S)


def main() -> None:
    console = Console(record=True, width=110, file=io.StringIO(), force_terminal=True)
    for line in shown((SUPPORT, HARD)):
        console.print(Text(line, style="bold green" if line.startswith("\n$ ") else ""))
    picture = ROOT / "docs" / "images" / "demo.svg"
    console.save_svg(str(picture), title="make demo", unique_id="demo")
    stored = (ROOT / "tests" / "demo.txt").read_text(encoding="utf-8")
    for page in PAGES:
        page.write_text(with_outputs(page.read_text(encoding="utf-8"), stored), encoding="utf-8")


def with_outputs(page: str, demo: str) -> str:
    """The text of a page with every output as the demo printed it."""

    def block(match: re.Match[str]) -> str:
        output = demo.split(f"\n$ {match[2]}\n")[1]
        lines = re.split(r"\n(?=\n(?:\$ |=== ))", output)[0].strip("\n").splitlines()
        if match[3] and len(lines) > int(match[3]):
            lines = [*lines[: int(match[3])], "..."]
        return "\n".join((f"{match[1]}```text", *lines, "```", match[4]))

    return BLOCK.sub(block, page)


if __name__ == "__main__":
    main()
