"""Take the pictures of pages in docs/images anew: the service, a report, an explanation.

    python bench/screenshots.py [NAME...]

Needs playwright and Debian's Chromium (the extra ``dev``). Every page is made by the command that
its caption names, from examples that are in the repository or made up. Look at the pictures before
you commit them.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
CHAT = ROOT / "src" / "dialogist" / "assets" / "examples" / "support-chat.txt"
WIDTH, HEIGHT = 1200, 860


def dialogist(folder: Path, *words: object) -> None:
    """Run a command in a folder; its messages are shown if it fails."""
    command = [sys.executable, "-m", "dialogist", *map(str, words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"dialogist {' '.join(map(str, words))}\n{done.stderr}")


def page(browser: Any, folder: Path) -> None:
    """The page of the service with a summary, its first statement pointed at."""
    command = [sys.executable, "-m", "dialogist", "serve", "--port", "8797"]
    store = f"sqlite:///{folder / 'service.db'}"
    service = subprocess.Popen([*command, "--store", store], stderr=subprocess.PIPE, text=True)
    try:
        assert service.stderr is not None
        address = next(filter(None, (re.search(r"http\S+#key=\S+", s) for s in service.stderr)))[0]
        shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        shown.goto(address)
        shown.wait_for_selector("#text")
        shown.fill("#text", CHAT.read_text(encoding="utf-8"))
        shown.click("button.main")
        shown.wait_for_selector("[data-evidence], .statement, ol li")
        shown.mouse.move(0, 0)
        shown.screenshot(path=IMAGES / "page.png")
    finally:
        service.terminate()
        service.wait(60)


def explanation(browser: Any, folder: Path) -> None:
    """`dialogist explain hard-chat.txt`, a word of the summary pointed at."""
    dialogist(folder, "explain", CHAT.with_name("hard-chat.txt"), "--output", "page.html")
    shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    shown.goto(f"file://{folder / 'page.html'}")
    shown.locator("#target .tok", has_text="seven").hover()
    shown.screenshot(path=IMAGES / "explain-page.png")


def report(browser: Any, folder: Path) -> None:
    """`dialogist report lead-3 longest-3` on made-up dialogues."""
    dialogist(folder, "data", "synth", "--pairs", "60", "--split", "dev", "--output", "dev.jsonl")
    words = ("report", "lead-3", "longest-3", "--on", "dev.jsonl", "--output", "report")
    dialogist(folder, *words, "--metrics", "rouge,faithfulness,copying")
    shown = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    shown.goto(f"file://{folder / 'report' / 'report.html'}")
    shown.screenshot(path=IMAGES / "report.png")


PICTURES: dict[str, Callable[[Any, Path], None]] = {
    one.__name__: one for one in (page, explanation, report)
}


def main() -> None:
    os.environ.setdefault("DIALOGIST_HOME", tempfile.mkdtemp())
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        path = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in sys.argv[1:] or PICTURES:
            PICTURES[name](browser, Path(folder))
            print(name)
        browser.close()


if __name__ == "__main__":
    main()
