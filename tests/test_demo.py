"""`make demo` prints what tests/demo.txt has; pages and the picture show it.

Where the writer or a form changes, run ``make demo-text``, read the output, look at the picture.
"""

import html
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 80
"""Characters of a line that the picture certainly shows in one piece."""


def test_the_demo_prints_what_is_stored():
    done = subprocess.run(
        [sys.executable, "bench/demo.py"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    stored = (ROOT / "tests" / "demo.txt").read_text(encoding="utf-8")
    chance = re.compile(r"\d+% likely")  # its last digit differs from CPU to CPU
    assert chance.sub("", done.stdout) == chance.sub("", stored)


def test_the_picture_shows_the_stored_demo():
    picture = (ROOT / "docs" / "images" / "demo.svg").read_text(encoding="utf-8")
    stored = (ROOT / "tests" / "demo.txt").read_text(encoding="utf-8")
    parts = stored.split("\n=== ")
    [support, hard] = [p for p in parts if p.startswith(("A support chat as", "A chat that"))]
    for line in (support + hard).splitlines():
        shown = html.escape(line.strip()[:WIDTH]).replace(" ", "&#160;")
        assert shown in picture, line


def test_pages_show_what_is_stored(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    bench = importlib.import_module("demo_picture")
    stored = (ROOT / "tests" / "demo.txt").read_text(encoding="utf-8")
    for path in bench.PAGES:
        page = path.read_text(encoding="utf-8")
        assert bench.BLOCK.search(page), path
        assert bench.with_outputs(page, stored) == page, f"{path}: run make demo-text"
