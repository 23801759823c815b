"""What is released: a wheel and a source archive that work where nothing else of ours is."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

import dialogist

ROOT = Path(__file__).resolve().parents[1]
VERSION = dialogist.__version__
CHAT = "Agent: Hello.\nCustomer: My order 48213 has not come.\nAgent: I'll send it today.\n"
MOST_MEGABYTES = 316
"""Of the packages that a core installation brings, ours among them, without pip."""


def test_the_version_is_told_once() -> None:
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    [newest, *_] = re.findall(r"^## (\S+)", changes, re.M)
    assert newest in (VERSION, "Unreleased")
    assert f"## {VERSION} (" in changes
    assert set(re.findall(r"^### (.*)", changes, re.M)) <= {"Added", "Changed", "Fixed"}
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == VERSION


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with wheel and source archive; the wheel is built from the archive."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True)
    return folder


@pytest.mark.slow
def test_wheel_and_archive_hold_what_they_need_and_no_more(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "dialogist/py.typed" in names
    for network in ("highlights/sections", "highlights/speech", "verifier/verifier"):
        assert f"dialogist/assets/{network}.onnx" in names
    assert not [n for n in names if n.startswith(("tests", "bench")) or ".jsonl" in n]
    assert wheel.stat().st_size < 50 << 20
    [archive] = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        sources = {name.partition("/")[2] for name in file.getnames()}
    assert {"CITATION.cff", "SECURITY.md", "mkdocs.yml", "docs/index.md", "Makefile"} <= sources
    assert not [n for n in sources if n.startswith((".venv", "runs", "site"))]


@pytest.mark.slow
def test_the_core_is_small_and_works_alone(built: Path, tmp_path: Path) -> None:
    """A core installation from the index: no torch; what an extra is for says so in one line."""
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "env"], check=True)
    python = tmp_path / "env" / "bin" / "python"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*words: object, code: int = 0) -> subprocess.CompletedProcess[str]:
        command = [python, *map(str, words)]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == code, done.stderr
        return done

    [wheel] = built.glob("*.whl")
    run("-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel)
    [packages] = (tmp_path / "env" / "lib").glob("python*/site-packages")
    folders = (
        path for path in packages.iterdir() if not path.name.startswith(("pip", "setuptools"))
    )
    files = (file for path in folders for file in (path, *path.rglob("*")) if file.is_file())
    megabytes = sum(file.stat().st_size for file in files) / 1e6
    print(f"core installation: {megabytes:.0f} MB")
    assert megabytes <= MOST_MEGABYTES
    assert not (packages / "torch").exists()
    (tmp_path / "chat.txt").write_text(CHAT)
    assert run("-m", "dialogist", "--version").stdout == f"dialogist {VERSION}\n"
    assert "48213" in run("-m", "dialogist", "summarize", "chat.txt").stdout
    refusal = run("-m", "dialogist", "train", "x.yaml", code=1).stderr
    assert "dialogist[lab]" in refusal
    assert refusal.count("\n") == 1
