"""What comes out for one dialogue in fifty, in every kind of output, is what is stored."""

import re
from difflib import unified_diff

import pytest
from tests.snapshot.take import EVERY, KINDS, SAMPLE, dialogues, page, taken

ROUNDED = 0.03
"""Of the lines may differ on another CPU: networks round there in another way."""


@pytest.fixture(scope="module")
def now() -> dict[str, dict[str, str]]:
    return taken(dialogues(EVERY))


@pytest.mark.parametrize("kind", KINDS)
def test_output_is_as_stored(now: dict[str, dict[str, str]], kind: str) -> None:
    """`python -m tests.snapshot.take --store` stores a change that is meant (``make snapshot``)."""
    assert len(now[kind]) == len(dialogues(EVERY))
    stored = _lines((SAMPLE / f"{kind}.txt").read_text("utf-8"))
    found = unified_diff(stored, _lines(page(now[kind])), lineterm="", n=0)
    changed = [line for line in found if re.match(r"[+-](?!--|\+\+)", line)]
    assert len(changed) <= ROUNDED * len(stored), "\n".join(changed)


def _lines(text: str) -> list[str]:
    """Chances differ in their last digits from CPU to CPU."""
    return re.sub(r"\d+% likely|\b0\.\d+", "N", text).splitlines()
