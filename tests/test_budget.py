"""The house does not grow by accident: see `bench/budget.py`, which prints the figures."""

import json

from bench.budget import STORED, figures

ROOM = {"lines of the tool": 1.01, "lines of the laboratory": 1.01}
"""A feature may add some lines before its author has to think about what could go."""


def test_no_figure_is_worse_than_the_stored_one() -> None:
    known = json.loads(STORED.read_text(encoding="utf-8"))
    found = figures()
    assert found.keys() == known.keys()
    worse = {
        name: f"{count} instead of {known[name]}"
        for name, count in found.items()
        if count > known[name] * ROOM.get(name, 1)
    }
    assert not worse, f"{worse}: make it better, or python bench/budget.py --store and say why"
