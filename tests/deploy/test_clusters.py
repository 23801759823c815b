"""The examples for clusters: valid by Kubernetes' schemas, valid shell, and flags that exist."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
MANIFESTS = sorted(DEPLOY.glob("kubernetes/*.yaml"))
SCRIPTS = sorted(DEPLOY.glob("slurm/*.sbatch"))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_manifests_are_valid(path: Path) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    documents = list(yaml.safe_load_all(path.read_text()))
    assert "Job" in {one["kind"] for one in documents}
    for one in documents:
        kubernetes_validate.validate(one, "1.31", strict=True)
    documents[-1]["spec"]["complections"] = 8
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(documents[-1], "1.31", strict=True)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_are_valid(path: Path) -> None:
    read = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True, check=False)
    assert (read.returncode, read.stderr) == (0, "")
    assert re.search(r"^set -[a-z]*e", path.read_text(), re.M), "it goes on after a failure"


def dialogist_calls(path: Path) -> list[list[str]]:
    """The words after ``dialogist`` of each call in an example."""
    text = path.read_text()
    if path.suffix == ".yaml":
        container = list(yaml.safe_load_all(text))[-1]["spec"]["template"]["spec"]["containers"][0]
        text = shlex.join(container["args"]) if len(container["args"]) > 1 else container["args"][0]
    text = text.replace("\\\n", " ")
    found = re.findall(r"dialogist ((?:batch|train) [^\n|]+)", text)
    return [shlex.split(call) for call in found]


@pytest.mark.parametrize("path", [*MANIFESTS, *SCRIPTS], ids=lambda path: path.name)
def test_their_calls_have_flags_that_exist(path: Path) -> None:
    import typer

    from dialogist.cli.main import command_line

    [words] = dialogist_calls(path)
    group = typer.main.get_command(command_line())
    command = group.get_command(typer.Context(group), words[0])
    if command is None:
        pytest.skip(f"{words[0]} is a command of the laboratory, which is not installed")
    known = {option for parameter in command.params for option in parameter.opts}
    flags = {word.partition("=")[0] for word in words if word.startswith("--")}
    assert flags
    assert flags <= known
