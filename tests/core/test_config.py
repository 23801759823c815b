"""Configuration: what is refused, in one line with the remedy; YAML; dotted overrides."""

from typing import Annotated, Literal

import pytest
from pydantic import Field, model_validator

from dialogist.config import Config, differences, read_yaml
from dialogist.errors import ConfigError


class Flat(Config):
    kind: Literal["flat"] = "flat"
    peak: float = 1.0


class Sloped(Config):
    kind: Literal["sloped"] = "sloped"
    peak: float = 1.0
    floor: float = Field(0.0, ge=0)


class Inner(Config):
    rate: float = 1.0
    names: tuple[str, ...] = ()


class Outer(Config):
    title: str = "none"
    count: int = 1
    inner: Inner = Inner()
    parts: tuple[Inner, ...] = ()
    shape: Annotated[Flat | Sloped, Field(discriminator="kind")] = Flat()


def refusal(values, model=Outer):
    with pytest.raises(ConfigError) as caught:
        model.parse(values, "x.yaml")
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("x.yaml: ")
    return message


@pytest.mark.parametrize(
    ("values", "key", "right"),
    [
        ({"cuont": 2}, "cuont", "count"),
        ({"inner": {"rat": 2}}, "inner.rat", "rate"),
        ({"parts": [{}, {"name": []}]}, "parts.1.name", "names"),
        ({"shape": {"kind": "sloped", "flor": 2}}, "shape.flor", "floor"),
    ],
)
def test_unknown_key_names_the_nearest_of_its_level(values, key, right):
    assert refusal(values) == f"x.yaml: unknown key '{key}'; did you mean '{right}'?"


def test_nearest_key_comes_from_the_chosen_member_of_a_union():
    # 'floor' belongs to the other member.
    message = refusal({"shape": {"kind": "flat", "floor": 2}})
    assert "unknown key 'shape.floor'" in message
    assert "did you mean" not in message


@pytest.mark.parametrize(
    ("values", "key", "shown"),
    [
        ({"count": "many"}, "'count'", "(got 'many')"),
        ({"inner": {"rate": [1]}}, "'inner.rate'", "(got [1])"),
        ({"title": 3}, "'title'", "(got 3)"),
        ({"shape": {"kind": "sloped", "floor": -1.5}}, "'shape.floor'", "(got -1.5)"),
    ],
)
def test_wrong_value_is_shown_with_its_key(values, key, shown):
    message = refusal(values)
    assert key in message
    assert message.endswith(shown)


class Named(Config):
    name: str
    parts: dict[str, Inner | str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _starts_small(self) -> "Named":
        if self.name[:1].isupper():
            raise ValueError("'name' must begin with a small letter")
        return self


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "x.yaml: key 'name' is missing"),
        ({"name": "A"}, "x.yaml: 'name' must begin with a small letter"),
        (
            {"name": "a", "parts": {"b": {"rat": 1}}},
            "unknown key 'parts.b.rat'; did you mean 'rate'?",
        ),
        ({"name": "a", "parts": {"b": {"rate": "x"}}}, "key 'parts.b.rate': "),
    ],
)
def test_missing_keys_rules_over_several_keys_and_members_of_mappings(values, message):
    assert message in refusal(values, Named)


def test_unknown_member_of_a_union_lists_the_members():
    message = refusal({"shape": {"kind": "flt"}})
    assert "key 'shape'" in message
    assert "'flat', 'sloped'" in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a: 1\nb: [1, 2\nc: 3\n", ", line 3: "),
        (b"a: 1\n\tb: 2\n", ", line 2: "),
        (b"- a\n- b\n", "must hold 'key: value' lines"),
        (b"", "must hold 'key: value' lines"),
        (b"a: \xff\n", "cannot be read"),
        (b"a: 2024-13-45\n", "cannot be read"),
        (b"a: \x07\n", "is not allowed"),
        (None, "cannot be read"),
    ],
)
def test_bad_yaml_is_refused_in_one_line(tmp_path, content, message):
    path = tmp_path / "c.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_differences_are_short_and_name_what_has_a_name():
    before = {"template": {"name": "ticket", "sections": ["x" * 500]}, "words": 1}
    after = {"template": {"name": "call", "sections": []}, "words": 2, "list": ["y" * 500]}
    lines = differences(before, after)
    assert lines[1:] == ["template: 'ticket' there, 'call' now", "words: 1 there, 2 now"]
    assert len(lines[0]) < 100
