import re

import pytest

from dialogist import errors
from dialogist.errors import MissingExtraError, how_to_install, nearest


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
def test_tree_and_exit_codes_are_those_of_the_docstring(name, parent, code):
    error = getattr(errors, name)
    assert error.__base__.__name__ == parent
    assert error.exit_code == code
    assert name == "DialogistError" or name in errors.__doc__


def test_missing_extra_says_what_to_install():
    message = str(MissingExtraError("plots", "eval"))
    assert message.startswith("plots needs optional packages: pip install '")
    assert {"matplotlib", "sacrebleu", "jinja2"} <= set(re.findall(r"'([a-z0-9]+)>=", message))
    assert "dialogist" not in message  # no index has it


def test_an_extra_whose_packages_are_not_known_is_installed_from_a_checkout(monkeypatch):
    monkeypatch.setattr("importlib.metadata.requires", lambda _: None)
    assert how_to_install("eval") == "in a checkout, pip install '.[eval]'"


@pytest.mark.parametrize(
    ("word", "valid", "expected"),
    [
        ("epoch", ["epochs", "seed"], "; did you mean 'epochs'?"),
        ("epochs", ["seed", "epochs"], "; did you mean 'epochs'?"),
        ("zzz", ["epochs", "seed"], ""),
        ("x", [], ""),
    ],
)
def test_nearest(word, valid, expected):
    assert nearest(word, valid) == expected
