"""Dockerfile, compose file and systemd unit of the service, by the linters of each."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dialogist.service.settings import PREFIX, Settings

DEPLOY = Path(__file__).parents[2] / "deploy"


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)


def test_the_dockerfile_has_nothing_to_complain_of(tmp_path: Path) -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("no hadolint")
    found = run(hadolint, DEPLOY / "Dockerfile")
    assert (found.returncode, found.stdout) == (0, "")
    broken = tmp_path / "Dockerfile"
    broken.write_text((DEPLOY / "Dockerfile").read_text() + "RUN cd /tmp\n")
    assert run(hadolint, broken).returncode == 1


def test_the_compose_file_is_valid() -> None:
    compose = pytest.importorskip("compose_spec").PyCompose
    text = (DEPLOY / "compose.yaml").read_text()
    found = compose.from_yaml(text)
    found.validate()
    assert sorted(found.service_names()) == ["dialogist", "postgres"]
    with pytest.raises(ValueError, match="depends_onn"):
        compose.from_yaml(text.replace("depends_on", "depends_onn"))


def test_the_unit_is_valid_and_confined(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("no systemd-analyze")
    unit = tmp_path / "dialogist.service"
    text = (DEPLOY / "dialogist.service").read_text()
    unit.write_text(text.replace("/opt/dialogist/bin/dialogist", "/bin/true"))
    assert run(analyze, "verify", unit).stderr == ""
    exposure = run(analyze, "security", "--offline=true", "--threshold=25", unit)
    assert exposure.returncode == 0, exposure.stdout


def test_the_settings_that_the_files_name_exist() -> None:
    for name in ("Dockerfile", "compose.yaml", "dialogist.service"):
        words = (DEPLOY / name).read_text().replace("=", " ").replace(":", " ").split()
        named = [one.removeprefix(PREFIX).lower() for one in words if one.startswith(PREFIX)]
        assert named
        assert set(named) <= Settings.model_fields.keys()
