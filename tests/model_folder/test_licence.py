"""Licences of models: where they are named, how they are shown, what a mean inherits."""

import tomllib
from pathlib import Path

import pytest

from dialogist.model_folder.bundle import describe
from dialogist.model_folder.model_files import (
    bundled_models,
    combined_licence,
    is_non_commercial,
    licence_of,
    shown_licence,
)


def test_where_a_licence_is_named(tmp_path):
    assert licence_of(tmp_path, {}) == ""
    card = tmp_path / "README.md"
    card.write_text("---\nlibrary_name: dialogist\nlicense: 'cc-by-4.0'\n---\n# x\n")
    assert licence_of(tmp_path, {}) == "cc-by-4.0"
    assert licence_of(tmp_path, {"licence": "mit"}) == "mit"
    card.write_text("# x\nlicense: no head, so nothing of the card\n")
    assert licence_of(tmp_path, {}) == ""


@pytest.mark.parametrize(
    ("licence", "shown"),
    [
        ("", "no licence named"),
        ("apache-2.0", "Apache-2.0"),
        ("cc-by-4.0", "CC-BY-4.0"),
        ("cc-by-nc-sa-4.0", "CC-BY-NC-SA-4.0 (not for commercial use)"),
        ("cc-by-nc-4.0 AND mit", "CC-BY-NC-4.0 AND MIT (not for commercial use)"),
    ],
)
def test_how_it_is_shown(licence, shown):
    assert shown_licence(licence) == shown


def test_a_mean_inherits_every_licence():
    assert combined_licence(["mit", "cc-by-nc-4.0", "mit", ""]) == "mit AND cc-by-nc-4.0"


def test_the_bundled_model_comes_with_the_text_of_its_licence():
    folder = bundled_models() / "default"
    assert is_non_commercial(describe(folder)["licence"])
    text = (folder / "LICENSE").read_text(encoding="utf-8")
    assert text.startswith("Creative Commons Attribution-NonCommercial-ShareAlike 4.0")
    assert "Section 8 – Interpretation." in text


def test_the_package_declares_both_licences():
    root = Path(__file__).resolve().parents[2]
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["license"] == "Apache-2.0 AND CC-BY-NC-SA-4.0"
    first = [(root / name).read_text(encoding="utf-8")[:200] for name in project["license-files"]]
    assert "Apache License" in first[0]
    assert "Attribution-NonCommercial-ShareAlike 4.0" in first[1]
