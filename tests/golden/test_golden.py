"""Nothing that people see changes unless it is meant to: see `tests.golden.cases`."""

import json
from typing import Any

import pytest
from tests.golden.cases import CASES, STORED

from dialogist.records import STATUSES


def stored(name: str) -> Any:
    return json.loads((STORED / f"{name}.json").read_text(encoding="utf-8"))


def alike(found: Any, known: Any) -> Any:
    """``found``, with its numbers those of ``known`` where they differ by rounding alone."""
    if isinstance(found, dict) and isinstance(known, dict):
        return {key: alike(value, known.get(key)) for key, value in found.items()}
    if isinstance(found, list) and isinstance(known, list) and len(found) == len(known):
        return [alike(*pair) for pair in zip(found, known, strict=True)]
    if isinstance(found, float) and isinstance(known, float):
        return known if found == pytest.approx(known, rel=1e-3, abs=2e-4) else found
    return found


@pytest.mark.parametrize("name", ["bundled", "random"])
def test_summaries_are_those_stored(name: str) -> None:
    found, known = json.loads(json.dumps(CASES[name]())), stored(name)
    assert found.keys() == known.keys()
    for case in known:
        assert alike(found[case], known[case]) == known[case], case


def test_every_status_is_among_them() -> None:
    text = json.dumps([stored("bundled"), stored("random")])
    assert {status for status in STATUSES if f'"status": "{status}"' in text} == set(STATUSES)


def test_twenty_updates_end_at_the_same_weights() -> None:
    found, known = CASES["training"](), stored("training")
    assert found["losses"] == pytest.approx(known["losses"], rel=1e-4)
    if found["machine"] == known["machine"]:  # other processors and releases round otherwise
        assert found["sha256"] == known["sha256"]
