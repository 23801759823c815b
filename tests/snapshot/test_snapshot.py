"""What comes out for one dialogue in fifty, in every kind of output, is what is stored."""

import pytest
from tests.snapshot.take import EVERY, KINDS, SAMPLE, dialogues, page, taken


@pytest.fixture(scope="module")
def now() -> dict[str, dict[str, str]]:
    return taken(dialogues(EVERY))


@pytest.mark.parametrize("kind", KINDS)
def test_output_is_as_stored(now: dict[str, dict[str, str]], kind: str) -> None:
    """`python -m tests.snapshot.take --store` stores a change that is meant (``make snapshot``)."""
    assert len(now[kind]) == len(dialogues(EVERY))
    assert page(now[kind]) == (SAMPLE / f"{kind}.txt").read_text("utf-8")
