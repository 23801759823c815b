"""`make demo` prints what tests/demo.txt has.

The commands compute in fp32: other number formats, which ``auto`` chooses by machine, write other
words now and then. Confidences alone are left out of the comparison: their last digit may differ
between processors. Where the model or the rules change, read the demo's output, see that nothing in
it is wrong and unflagged, store it (``python bench/demo.py > tests/demo.txt``) and draw the
picture again (``python bench/demo_picture.py``).
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONFIDENCE = re.compile(r"confidence \d\.\d+")


def test_the_demo_prints_what_is_stored():
    done = subprocess.run(
        [sys.executable, "bench/demo.py"], cwd=ROOT, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    stored = (ROOT / "tests" / "demo.txt").read_text(encoding="utf-8")
    assert CONFIDENCE.sub("", done.stdout) == CONFIDENCE.sub("", stored)


def test_the_picture_shows_the_stored_demo():
    picture = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    for words in ("4471120", "Jon&#160;to&#160;pick&#160;Mia&#160;up", "--template"):
        assert words in picture
