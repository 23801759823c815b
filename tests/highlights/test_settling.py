"""Brief answers told with what they settle: pairs checked by hand."""

from pathlib import Path

import pytest
import yaml

from dialogist.highlights.select import report_dialogue

_PAIRS = yaml.safe_load((Path(__file__).parent / "settled.yaml").read_text(encoding="utf-8"))[0]


def _dialogues() -> list[tuple[list[tuple[str, str]], str]]:
    found = []
    for line in _PAIRS.strip().splitlines():
        said, _, expected = line.partition(" => ")
        turns = [tuple(turn.split(": ", 1)) for turn in said.split(" | ")]
        found.append((turns, expected))
    return found


@pytest.mark.parametrize(("turns", "expected"), _dialogues())
def test_a_brief_answer_is_told_with_what_it_settles(turns, expected):
    last = len(turns) - 1
    found = report_dialogue(turns)
    told = [
        one.text
        for one in found.candidates
        if one.is_settled and found.units[one.units[-1]].turn == last
    ]
    assert (told or ["-"]) == [expected]
