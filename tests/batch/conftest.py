"""A job in this process, with workers of its own."""

import json
import time
from pathlib import Path

import pytest
from tests.batch.works import First

from dialogist.batch.job import JobPlan, run_job
from dialogist.batch.places import FolderSink, items_of, origins_of
from dialogist.formats import ReadOptions


def records(folder):
    parts = sorted(folder.glob("part-*.jsonl"))
    return [json.loads(line) for part in parts for line in part.read_text().splitlines()]


def wait_until(happened, process):
    """Wait for something a process does, a minute at most; one that does not is ended."""
    deadline = time.monotonic() + 60
    while not happened():
        if time.monotonic() > deadline:
            process.kill()
            raise AssertionError(process.stderr.read())
        time.sleep(0.01)


class Job:
    """A job over some inputs; what it told is in ``notes``, what it reported in ``progress``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes, self.progress = [], []

    def run(self, inputs, work=None, sink=None, **plan):
        plan = {"shard_size": 4, **plan}
        sink = sink or FolderSink(self.folder)
        origins = origins_of([str(path) for path in inputs])
        items = items_of(origins, ReadOptions(), self.notes.append)
        about = {"inputs": [[origin.name, origin.size] for origin in origins]}
        job = JobPlan(work or First(), self.folder, sink, **plan)
        return run_job(job, items, about, self.progress.append, self.notes.append)

    def records(self):
        return records(self.folder)

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
