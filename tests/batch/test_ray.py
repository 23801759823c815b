"""The same job by actors of Ray; skipped where Ray is not installed."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.batch.conftest import Job
from tests.batch.works import First

from dialogist.errors import MissingExtraError, UsageError


def test_without_ray(job, calls, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match="--engine ray needs"):
        job.run([calls], engine="ray")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_the_bytes_are_those_of_local_workers(tmp_path, calls):
    pytest.importorskip("ray")
    here, there = Job(tmp_path / "here"), Job(tmp_path / "there")
    assert here.run([calls], workers=2) == there.run([calls], workers=2, engine="ray")
    assert here.parts() == there.parts()
    deadly = Job(tmp_path / "deadly")
    totals = deadly.run([calls], First(deadly=("c5",)), engine="ray")
    assert totals.statuses == {"error": 1, "ok": 9}
    assert [record["id"] for record in deadly.records()] == [f"c{n}" for n in range(10)]
    assert "even alone" in deadly.records()[5]["reason"]
    grown = Job(tmp_path / "grown")
    grown.run([calls], First(seconds=2), engine="ray", max_workers=2, shard_size=1)
    assert [record["id"] for record in grown.records()] == [f"c{n}" for n in range(10)]
    assert "2 actors at work" in grown.notes
    with pytest.raises(UsageError, match="no such model"):
        Job(tmp_path / "refused").run([calls], First(refused="no such model"), engine="ray")


@pytest.mark.slow
def test_an_actor_and_the_driver_are_killed():
    """By kill -9 while they work: nothing is lost, nothing twice, and no process stays behind."""
    pytest.importorskip("ray")
    bench = Path(__file__).parents[2] / "bench" / "jobs.py"
    command = [sys.executable, str(bench), "kills", "--count", "1500", "--kills", "2"]
    done = subprocess.run([*command, "--engine", "ray"], capture_output=True, text=True)
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "kills": 2,
        "runs": 2,
        "records": 1500,
        "every_id_once": True,
        "equal_bytes": True,
        "processes_left": 0,
    }
