"""What README says is true: its commands exist, its links lead somewhere, its tree is the tree."""

import doctest
import importlib
import json
import re
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


_GROUPS = {"models", "data", "keypoints", "rate", "keys", "feedback", "recipes", "templates"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_tree_names_every_room() -> None:
    tree = (ROOT / "README.md").read_text(encoding="utf-8").split("## Where things are")[1]
    named = set(re.findall(r"^  (\w+)/? ", tree, re.MULTILINE)) | set(
        re.findall(r"^  (\w+)\.py ", tree, re.MULTILINE)
    )
    package = ROOT / "src" / "dialogist"
    rooms = {p.name for p in package.iterdir() if p.is_dir() and p.name != "__pycache__"}
    modules = {p.stem for p in package.glob("*.py") if not p.stem.startswith("_")}
    assert rooms | modules == named


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_exist(page: Path, dialogist) -> None:
    """Every `$ dialogist ...` of a page names a real command with real flags."""
    commands = re.findall(r"^\$ (dialogist [^#\n|<]*)", page.read_text(encoding="utf-8"), re.M)
    helps: dict[tuple[str, ...], str] = {}
    for line in commands:
        words = shlex.split(line)[1:]
        command = tuple(words[: 2 if words[0] in _GROUPS else 1])
        if command not in helps:
            result = dialogist(*command, "--help", env={"COLUMNS": "250"})
            assert result.returncode == 0, line
            helps[command] = result.stdout.decode()
        for flag in (word for word in words if re.match(r"--?[a-z]", word)):
            assert re.search(rf"(?<![\w-]){flag}(?![\w-])", helps[command]), f"{line}: {flag}"


@pytest.mark.parametrize("name", ["README.md", "docs/summary.md", "docs/key-points.md"])
def test_python_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page, one after the other; what they print is not compared.

    The file that a page reads is there.
    """
    monkeypatch.chdir(tmp_path)
    turns = [["Ann", "Shall we have lunch at noon?"], ["Bo", "Yes, let's go to Luigi's."]]
    Path("chats.jsonl").write_text(json.dumps({"id": "1", "turns": turns}), encoding="utf-8")
    names: dict[str, object] = {}
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / name).read_text("utf-8"), re.M | re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, name, "exec"), names)


@pytest.mark.parametrize("name", ["", ".engine.summarizer", ".engine.session"])
def test_docstrings_tell_the_truth(name: str) -> None:
    failed, tried = doctest.testmod(importlib.import_module(f"dialogist{name}"))
    assert tried
    assert not failed


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in PAGES:
        for target in re.findall(r"(?:`|\$ )make ([a-z-]+)", page.read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:", makefile, re.M), f"{page.name}: make {target}"
