"""The same job by tasks of Ray; skipped where Ray is not installed."""

import sys

import pytest
from tests.batch.conftest import Job
from tests.batch.works import First

from dialogist.errors import MissingExtraError


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
    totals = deadly.run([calls], First(deadly=("c5",)), engine="ray", workers=2)
    assert totals.statuses == {"error": 1, "review": 9}
    assert [record["id"] for record in deadly.records()] == [f"c{n}" for n in range(10)]
    assert "even alone" in deadly.records()[5]["reason"]
