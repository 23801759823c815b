"""Errors, their exit codes, the nearest word, and what other packages add."""

from importlib import metadata

import pytest

from dialogist import errors, plugins
from dialogist.errors import DialogistError, MissingExtraError, nearest, requirements_of


@pytest.mark.parametrize(
    ("name", "parent", "code"),
    [
        ("DialogistError", "Exception", 1),
        ("UsageError", "DialogistError", 2),
        ("ConfigError", "UsageError", 2),
        ("DataError", "DialogistError", 1),
        ("ModelError", "DialogistError", 1),
        ("CheckpointError", "DialogistError", 1),
        ("MissingExtraError", "DialogistError", 1),
    ],
)
def test_tree_and_exit_codes_are_those_of_the_docstring(name: str, parent: str, code: int) -> None:
    error = getattr(errors, name)
    assert (error.__base__.__name__, error.exit_code) == (parent, code)
    assert name in str(errors.__doc__)


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert str(MissingExtraError("the service", "serve")) == (
        "the service needs an extra: pip install 'dialogist[serve]' "
        "(in a checkout: pip install '.[serve]')"
    )
    lines = ["typer>=0.19", 'httpx>=0.28 ; extra == "endpoint"', "psycopg[binary]; extra=='pg'"]
    monkeypatch.setattr(metadata, "requires", lambda _: lines)
    assert requirements_of() == {"": ["typer"], "endpoint": ["httpx"], "pg": ["psycopg"]}


@pytest.mark.parametrize(
    ("word", "valid", "expected"),
    [
        ("epoch", ["epochs", "seed"], "; did you mean 'epochs'?"),
        ("zzz", ["epochs", "seed"], ""),
        ("x", [], ""),
    ],
)
def test_nearest(word: str, valid: list[str], expected: str) -> None:
    assert nearest(word, valid) == expected


def test_plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    points = {
        name: metadata.EntryPoint(name, value, "g")
        for name, value in {
            "good": "json:loads",
            "bare": "no_such_module:f [lab]",
            "broken": "no_such_module:f",
        }.items()
    }
    monkeypatch.setattr(plugins, "_entry_points", lambda group: points)
    assert plugins.plugin_names("g") == ["bare", "broken", "good"]
    loads = plugins.plugin("g", "good")
    assert loads is not None
    assert loads("[1]") == [1]
    assert plugins.plugin("g", "none") is None
    with pytest.raises(DialogistError, match=r"bare needs an extra: pip install 'dialogist\[lab\]"):
        plugins.plugin("g", "bare")
    with pytest.raises(ModuleNotFoundError):
        plugins.plugin("g", "broken")
    assert [plugins.extra_of("g", name) for name in ("bare", "good", "none")] == ["lab", "", ""]
