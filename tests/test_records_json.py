"""Any summary as JSON, and back: nothing is lost, nothing is changed."""

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dialogist import Summary
from dialogist.records import SCHEMA_VERSION, Statement
from dialogist.records import Warning as SummaryWarning

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TIMINGS = st.dictionaries(st.text(), NUMBERS)
SCORES = st.none() | NUMBERS
STATEMENTS = st.builds(Statement, confidence=SCORES)
LISTS: dict[str, Any] = {
    "key_points": st.lists(STATEMENTS, max_size=2).map(tuple),
    "sentences": st.lists(STATEMENTS, max_size=2).map(tuple),
    "warnings": st.lists(st.builds(SummaryWarning), max_size=2).map(tuple),
}
SUMMARIES = st.builds(Summary, score=SCORES, timings=TIMINGS, **LISTS)


def as_plain(value: Any) -> Any:
    """All fields of a record, those of the records in it among them."""
    if is_dataclass(value):
        return {f.name: as_plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {key: as_plain(one) for key, one in value.items()}
    return [as_plain(one) for one in value] if isinstance(value, tuple) else value


@given(SUMMARIES)
def test_a_summary_comes_back_as_it_was(summary: Summary) -> None:
    values = summary.to_json()
    assert values == {"schema_version": SCHEMA_VERSION, **as_plain(summary)}
    assert Summary.from_json(values) == summary
    assert Summary.from_json(json.dumps(values)) == summary
