"""``--set key.key=value`` over a recipe."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.config import Config
from dialogist.errors import ConfigError
from dialogist_lab.recipe import override


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("+2.5e2", 250.0),
        ("1.e1", 10.0),
        ("1e", "1e"),
        ("", None),
        ("{kind: cosine, peak: 3}", {"kind": "cosine", "peak": 3}),
        ("nan", "nan"),
        ("[unclosed", "[unclosed"),
        ("2024-13-45", "2024-13-45"),
        ("a=b", "a=b"),
    ],
)
def test_override_reads_values_as_yaml(text, value):
    [found] = override({}, [f"key={text}"]).values()
    assert found == value
    assert type(found) is type(value)


def test_exponents_inside_lists_reach_a_float_field():
    class Floats(Config):
        values: list[float]

    assert Floats.parse(override({}, ["values=[1e-4, 2]"])).values == [1e-4, 2.0]


@given(st.text())
def test_override_never_fails_on_a_value(text):
    assert list(override({}, [f"key={text}"])) == ["key"]


def test_override_paths():
    before = {"a": {"b": 1, "c": 2}, "d": [1]}
    after = override(before, ["a.b=5", "e.f.g=x", "d=[2]", "a.b=6"])
    assert after == {"a": {"b": 6, "c": 2}, "d": [2], "e": {"f": {"g": "x"}}}
    assert before == {"a": {"b": 1, "c": 2}, "d": [1]}


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("a", r"write it as key\.key=value"),
        ("=1", r"write it as key\.key=value"),
        ("a.b=1", "'a' is a value"),
    ],
)
def test_an_override_that_makes_no_sense_is_refused(assignment, message):
    with pytest.raises(ConfigError, match=message):
        override({"a": 3}, [assignment])
