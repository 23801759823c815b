"""One record for each item, whatever happens to a worker."""

import json

import pytest
from tests.batch.conftest import Job, dialogue_line
from tests.batch.works import First

from dialogist.errors import DataError, UsageError
from dialogist.files import alone_in

ALL = [f"c{n}" for n in range(10)]


def ids(job):
    return [record["id"] for record in job.records()]


def test_a_job(job, calls):
    """Every id once, in order; one record that cannot be read is an error record in its place."""
    lines = calls.read_text().splitlines(keepends=True)
    calls.write_text("".join([*lines[:2], "no JSON\n", *lines[2:]]))
    totals = job.run([calls], workers=2)
    assert ids(job) == ["c0", "c1", f"{calls}:3", *ALL[2:]]
    assert (totals.records, totals.failed, totals.double_ids) == (11, 1, 0)
    assert sorted(job.parts()) == [f"part-0000{n}.jsonl" for n in range(3)]
    records = job.records()
    assert records[0]["text"] == "This is call 0."
    assert records[0]["timings"] == {}  # else no two runs would be equal
    assert (records[2]["status"], records[2]["text"]) == ("error", "")
    assert "not JSON" in records[2]["reason"]
    manifest = json.loads((job.folder / "manifest.json").read_text())
    assert manifest["settings"] == {"model": "first"}
    assert manifest["totals"]["statuses"] == {"error": 1, "ok": 10}
    assert [shard["records"] for shard in manifest["shards"]] == [4, 4, 3]
    assert {path.name for path in job.folder.iterdir()} == {*job.parts(), ".lock", "manifest.json"}
    assert job.progress[-1].done == 11


def test_a_poisonous_dialogue_is_one_error_record(job, calls):
    totals = job.run([calls], First(deadly=("c5",)))
    assert ids(job) == ALL
    assert totals.failed == 1
    poisoned = job.records()[5]
    assert poisoned["status"] == "error"
    assert poisoned["reason"].startswith("the process that summarized it was killed by signal 9")
    assert [note for note in job.notes if "even alone" in note] != []


def test_a_worker_that_is_killed_by_accident_costs_nothing(tmp_path, job, calls):
    totals = job.run([calls], First(deadly_once=("c5", str(tmp_path / "marker"))))
    assert (ids(job), totals.failed) == (ALL, 0)
    other = Job(tmp_path / "other")
    other.run([calls])
    assert job.parts() == other.parts()


def test_a_dialogue_that_never_ends(job, calls):
    job.run([calls], First(endless=("c9",)), time_limit=0.5)
    assert ids(job) == ALL
    assert "gave no answer for 0.5 seconds" in job.records()[9]["reason"]


def test_what_failed_among_others_is_tried_alone(job, calls):
    totals = job.run([calls], First(failing_in_company=("c1",)))
    assert totals.failed == 0
    assert job.records()[1]["text"] == "This is call 1."


def test_a_model_that_cannot_be_had(job, calls):
    with pytest.raises(UsageError, match="no such model"):
        job.run([calls], First(refused="no such model"))


def test_a_job_that_is_complete_is_left_alone(job, calls):
    first = job.run([calls])
    before = job.parts()
    assert job.run([calls]) == first
    assert job.parts() == before
    assert any("complete" in note for note in job.notes)


def interrupted(job):
    """Leave a job as a kill does: two shards done, of the third a part without its line."""
    manifest = job.folder / "manifest.json"
    values = json.loads(manifest.read_text())
    shards = values.pop("shards")
    values.pop("totals")
    journal = job.folder / "journal.jsonl"
    lines = [json.dumps(one) for one in (values, shards[1], shards[0])]
    journal.write_text("\n".join(lines) + "\n" + json.dumps(shards[2])[:40])
    manifest.unlink()
    (job.folder / ".incomplete-77-part-00002.jsonl").write_text("half")


def test_an_interrupted_job_goes_on(job, calls):
    whole = job.run([calls])
    parts = job.parts()
    interrupted(job)
    done = (job.folder / "part-00000.jsonl").stat().st_mtime_ns
    assert job.run([calls]) == whole
    assert job.parts() == parts
    assert (job.folder / "part-00000.jsonl").stat().st_mtime_ns == done  # not made again
    assert job.progress[-1].kept == 8
    assert not list(job.folder.glob(".incomplete*"))


def test_other_settings_or_inputs_are_refused(job, calls):
    job.run([calls])
    interrupted(job)
    with pytest.raises(UsageError, match=r"settings.model: 'first' there, 'other' now.*--restart"):
        job.run([calls], First("other"))
    text = calls.read_text()
    calls.write_text(text.replace("call 6", "call 7"))  # of the same size
    with pytest.raises(DataError, match=r"input changed .*shard 1 differs"):
        job.run([calls])
    calls.write_text(text + dialogue_line("c10"))
    with pytest.raises(UsageError, match="inputs"):
        job.run([calls])
    totals = job.run([calls], First("other"), restart=True)
    assert totals.records == 11
    assert {record["model"] for record in job.records()} == {"other"}


def test_two_processes_do_not_share_a_job(job, calls):
    job.folder.mkdir()
    with alone_in(job.folder, "x"), pytest.raises(UsageError, match="another process"):
        job.run([calls])


def test_parts_without_a_journal_are_not_overwritten(job, calls):
    job.folder.mkdir()
    (job.folder / "part-00000.jsonl").write_text("precious\n")
    with pytest.raises(UsageError, match="holds parts, but no journal"):
        job.run([calls])
    assert (job.folder / "part-00000.jsonl").read_text() == "precious\n"


def test_ids_that_come_twice_are_counted(job, calls):
    calls.write_text(calls.read_text() + dialogue_line("c3"))
    totals = job.run([calls])
    assert (totals.records, totals.double_ids) == (11, 1)


def test_inputs_that_grow_at_their_end(tmp_path, job, calls):
    """What is there of full shards stays; the result is that of one whole run."""
    job.run([calls])
    kept = (job.folder / "part-00001.jsonl").stat().st_mtime_ns
    calls.write_text(calls.read_text() + dialogue_line("c10") + dialogue_line("c11") * 3)
    assert job.run([calls], grown=True).records == 14
    assert (job.folder / "part-00001.jsonl").stat().st_mtime_ns == kept
    assert (job.progress[-1].done, job.progress[-1].kept) == (6, 8)
    assert job.run([calls], grown=True).records == 14  # nothing new
    other = Job(tmp_path / "other")
    other.run([calls])
    assert job.parts() == other.parts()
    manifests = [json.loads((one.folder / "manifest.json").read_text()) for one in (job, other)]
    assert manifests[0] == manifests[1]
    calls.write_text(calls.read_text() + dialogue_line("c12")[:30])  # somebody is writing
    assert job.run([calls], grown=True).failed == 1
    calls.write_text(calls.read_text() + dialogue_line("c12")[30:])
    totals = job.run([calls], grown=True)
    assert (totals.records, totals.failed) == (15, 0)
    calls.write_text(dialogue_line("c0", "Otherwise.") + calls.read_text())
    with pytest.raises(DataError, match="shard 0 differs"):
        job.run([calls], grown=True)
