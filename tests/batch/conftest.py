"""A job in this process, with workers of its own."""

import json
from pathlib import Path

import pytest
from tests.batch.works import First

from dialogist.batch.job import JobPlan, run_job
from dialogist.batch.places import FolderSink, items_of, origins_of
from dialogist.formats import ReadOptions


class Job:
    """A job over some inputs; what it told is in ``notes``, what it reported in ``progress``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes, self.progress = [], []

    def run(self, inputs, work=None, sink=None, **plan):
        plan = {"shard_size": 4, **plan}
        sink = sink or FolderSink(self.folder)
        origins = origins_of([str(one) for one in inputs])
        items = items_of(origins, ReadOptions(), self.notes.append)
        about = {"inputs": [[one.name, one.size] for one in origins]}
        job = JobPlan(work or First(), self.folder, sink, **plan)
        return run_job(job, items, about, self.progress.append, self.notes.append)

    def records(self):
        lines = [
            line
            for part in sorted(self.folder.glob("part-*.jsonl"))
            for line in part.read_text().splitlines()
        ]
        return [json.loads(line) for line in lines]

    def parts(self):
        return {path.name: path.read_bytes() for path in self.folder.glob("part-*")}


@pytest.fixture
def job(tmp_path):
    return Job(tmp_path / "job")


def dialogue_line(id, text="Hello."):
    return json.dumps({"id": id, "turns": [{"speaker": "Ann", "text": text}]}) + "\n"


@pytest.fixture
def calls(tmp_path):
    """Ten dialogues: c0 to c9."""
    path = tmp_path / "calls.jsonl"
    path.write_text("".join(dialogue_line(f"c{n}", f"This is call {n}.") for n in range(10)))
    return path
