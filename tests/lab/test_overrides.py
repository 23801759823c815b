"""Recipes in and out: ``--set key.key=value``, and YAML with all defaults."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dialogist.config import Config
from dialogist.errors import ConfigError
from dialogist_lab.recipe import override, to_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("-1E3", -1000.0),
        ("+2.5e2", 250.0),
        ("1.e1", 10.0),
        ("3", 3),
        ("0.5", 0.5),
        ("hello", "hello"),
        ("True", True),
        ("false", False),
        ("e", "e"),
        ("1e", "1e"),
        ("e5", "e5"),
        ("'1e5'", "1e5"),
        ("", None),
        ("null", None),
        ("[1, 2]", [1, 2]),
        ("[0.9, 0.98]", [0.9, 0.98]),
        ("[one, three]", ["one", "three"]),
        ("{kind: cosine, peak: 3}", {"kind": "cosine", "peak": 3}),
        ("data/some:where.jsonl", "data/some:where.jsonl"),
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


@pytest.mark.parametrize("assignment", ["a", "=1", ""])
def test_override_without_key_or_value_is_refused(assignment):
    with pytest.raises(ConfigError, match=r"write it as key\.key=value"):
        override({}, [assignment])


def test_override_through_a_value_is_refused():
    with pytest.raises(ConfigError, match="'a' is a value"):
        override({"a": 3}, ["a.b=1"])


def test_yaml_round_trip_spells_out_defaults():
    class Titled(Config):
        title: str
        count: int = 1

    config = Titled(title="订单")
    text = to_yaml(config)
    assert "订单" in text
    assert "count: 1" in text
    assert Titled.parse(yaml.safe_load(text)) == config
