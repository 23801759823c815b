"""What docs/how-to/templates.md shows is so."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path

from dialogist.forms.template_config import parse_template

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "templates.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


def test_the_example_template_is_sound():
    [text] = blocks("yaml")
    assert parse_template(text).name == "returns"


def test_the_examples_print_what_stands_below_them():
    for code in blocks("python"):
        out = io.StringIO()
        with redirect_stdout(out):
            exec(compile(code, "templates.md", "exec"), {})
        comments = [line[1:].strip() for line in code.splitlines() if line.startswith("#")]
        assert [line.strip() for line in out.getvalue().rstrip().splitlines()] == comments
