"""What is released: a wheel and a source archive that work where nothing else of ours is.

The packages that Dialogist needs are those of this environment; Dialogist itself comes from what
was built, in a new virtual environment, far from the checkout.
"""

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import dialogist

ROOT = Path(__file__).resolve().parents[1]
VERSION = dialogist.__version__
CHAT = "Agent: Hello.\nCustomer: My order 48213 has not come.\nAgent: I'll send it today.\n"


def test_the_version_is_told_once():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.M)[1] in (VERSION, "Unreleased")
    assert f"## {VERSION} (" in changes
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == VERSION
    assert {"title", "authors", "message", "cff-version", "license"} <= citation.keys()


def test_changes_are_added_changed_or_fixed():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^### (.*)", changes, re.M)) == {"Added", "Changed", "Fixed"}


@pytest.mark.parametrize("name", ["bug", "wrong-summary", "feature", "config"])
def test_forms_for_issues_are_forms(name):
    form = yaml.safe_load((ROOT / f".github/ISSUE_TEMPLATE/{name}.yml").read_text(encoding="utf-8"))
    if name == "config":
        return
    assert {"name", "description", "body"} <= form.keys()
    for part in form["body"]:
        assert part["type"] in ("markdown", "textarea", "input", "dropdown", "checkboxes")
        assert part["type"] == "markdown" or (part["id"] and part["attributes"]["label"])


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder with wheel and source archive; the wheel is built from the archive."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--outdir", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution" in done.stdout + done.stderr:
        pytest.skip("no package index to take the build backend from")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.slow
def test_the_wheel_holds_what_it_needs_and_no_more(built):
    [wheel] = built.glob("*.whl")
    assert wheel.name == f"dialogist-{VERSION}-py3-none-any.whl"
    names = set(zipfile.ZipFile(wheel).namelist())
    for name in ("dialogist/py.typed", "dialogist/assets/summary.schema.json"):
        assert name in names
    assert any(name.endswith("selection/open.safetensors") for name in names)
    assert sum(name.endswith("/LICENSE") for name in names) >= 2
    assert not [n for n in names if n.startswith(("tests", "bench")) or ".jsonl" in n]
    assert wheel.stat().st_size < 60 << 20


@pytest.mark.slow
def test_the_archive_holds_the_sources_of_all(built):
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    for name in ("CITATION.cff", "SECURITY.md", "mkdocs.yml", "docs/index.md", "Makefile"):
        assert name in names
    assert any(name.startswith("examples/") for name in names)
    assert not [n for n in names if n.startswith((".venv", "runs", "site"))]


@pytest.mark.slow
@pytest.mark.parametrize("pattern", ["*.whl", "*.tar.gz"])
def test_it_works_in_a_new_environment(built, tmp_path, pattern):
    [package] = built.glob(pattern)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "DIALOGIST_HOME")}
    environment["HOME"] = str(tmp_path)

    def run(*words: object) -> str:
        done = subprocess.run(
            [python, *map(str, words)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("-m", "pip", "install", "--quiet", "--no-deps", package)
    # Other packages come from here, behind the environment's own; editable installs do not count.
    paths = run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    here = sysconfig.get_path("purelib")
    (Path(paths) / "needed.pth").write_text(f"import sys; sys.path.append({here!r})\n")
    where = run("-c", "import dialogist, dialogist_lab; print(dialogist.__file__)")
    assert str(tmp_path / "env") in where
    (tmp_path / "chat.txt").write_text(CHAT)
    assert run("-m", "dialogist", "--version") == f"dialogist {VERSION}\n"
    assert "today" in run("-m", "dialogist", "summarize", "chat.txt")
    assert "meeting" in run("-m", "dialogist", "forms", "list")
    assert "dialogsum-report-1" in run("-m", "dialogist", "recipes", "list")
    assert "writers: highlights, endpoint, model" in run("-m", "dialogist", "doctor")
    told = run(
        "-c", "from importlib import metadata as m; print(m.metadata('dialogist')['Version'])"
    )
    assert told.strip() == VERSION
