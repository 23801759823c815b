"""What the rules find in conversations whose truth was written down beforehand."""

import pytest
from bench.spoken import SPOKEN, measured, says

# Recalled and right, of those wanted and found: what later changes must not make worse.
FLOORS = {
    SPOKEN: {"issue": 26, "done": 21, "decisions": 28, "actions": 72, "outcome": 18},
    SPOKEN.with_name("unseen.yaml"): {
        "issue": 4,
        "done": 3,
        "decisions": 10,
        "actions": 16,
        "outcome": 2,
    },
}


@pytest.mark.parametrize("path", FLOORS, ids=lambda path: path.stem)
def test_conversations_give_what_they_say(path):
    counts, told = measured(path)
    for kind, recalled in FLOORS[path].items():
        assert counts[f"{kind} recalled"] >= recalled, told
        assert counts[f"{kind} found"] - counts[f"{kind} right"] <= 1, told


def test_a_line_says_what_was_expected():
    assert says("Ann: send Bo the report on Friday", "Ann: send report !Monday")
    assert not says("Ann: send Bo the report on Monday", "Ann: send report !Monday")
    assert not says("Bo: send the report", "Ann: send report")
