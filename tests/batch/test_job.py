"""One record for each item, whatever happens to a worker."""

import json

import pytest
from tests.batch.conftest import Job, dialogue_line
from tests.batch.works import First

from dialogist.batch.places import FolderSink
from dialogist.errors import DataError, DialogistError, UsageError
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
    assert (totals.records, totals.failed) == (11, 1)
    assert sorted(job.parts()) == [f"part-0000{n}.jsonl" for n in range(3)]
    records = job.records()
    assert records[0]["text"] == "This is call 0."
    assert records[0]["timings"] == {}  # else no two runs would be equal
    assert (records[2]["status"], records[2]["text"]) == ("error", "")
    assert "not JSON" in records[2]["reason"]
    manifest = json.loads((job.folder / "manifest.json").read_text())
    assert manifest["settings"] == {"writer": "first"}
    assert manifest["totals"]["statuses"] == {"error": 1, "review": 10}
    assert [shard["records"] for shard in manifest["shards"]] == [4, 4, 3]
    assert {path.name for path in job.folder.iterdir()} == {*job.parts(), ".lock", "manifest.json"}
    assert job.progress[-1].done == 11


def test_a_poisonous_dialogue_is_one_error_record(job, calls):
    totals = job.run([calls], First(deadly=("c5",)))
    assert ids(job) == ALL
    assert totals.failed == 1
    poisoned = job.records()[5]
    assert poisoned["status"] == "error"
    assert poisoned["reason"] == "the process that summarized it died, even alone"
    assert [note for note in job.notes if "even alone" in note] != []


def test_a_worker_that_is_killed_by_accident_costs_nothing(tmp_path, job, calls):
    totals = job.run([calls], First(deadly_once=("c5", str(tmp_path / "marker"))))
    assert (ids(job), totals.failed) == (ALL, 0)
    other = Job(tmp_path / "other")
    other.run([calls])
    assert job.parts() == other.parts()


def test_a_dialogue_that_never_ends(job, calls):
    job.run([calls], First(endless=("c9",)), time_limit=1)
    assert ids(job) == ALL
    assert "gave no answer for 1 seconds" in job.records()[9]["reason"]


def test_workers_that_die_of_everything_end_the_job(job, calls):
    with pytest.raises(DialogistError, match="5 workers died, each of another dialogue"):
        job.run([calls], First(deadly=tuple(ALL)), workers=2)


def test_a_writer_that_cannot_be_had(job, calls):
    with pytest.raises(UsageError, match="no such writer"):
        job.run([calls], First(refused="no such writer"))


def test_a_job_that_is_complete_is_left_alone(job, calls):
    first = job.run([calls])
    before = job.parts()
    assert job.run([calls]) == first
    assert job.parts() == before
    assert any("complete" in note for note in job.notes)


def interrupted(job):
    """Leave a job as a kill does: two shards done, of the third a piece of its line."""
    manifest = job.folder / "manifest.json"
    values = json.loads(manifest.read_text())
    shards = values.pop("shards")
    values.pop("totals")
    journal = job.folder / "journal.jsonl"
    lines = [json.dumps(one) for one in (values, shards[1], shards[0])]
    journal.write_text("\n".join(lines) + "\n" + json.dumps(shards[2])[:40])
    manifest.unlink()
    (job.folder / "part-00002.jsonl").unlink()
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
    with pytest.raises(UsageError, match=r"settings.writer: 'first' there, 'other' now.*--restart"):
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
    assert {record["writer"] for record in job.records()} == {"other"}


def test_two_processes_do_not_share_a_job(job, calls):
    job.folder.mkdir()
    with alone_in(job.folder, "x"), pytest.raises(UsageError, match="another process"):
        job.run([calls])


def test_parts_without_a_journal_are_not_overwritten(job, calls):
    job.folder.mkdir()
    (job.folder / "part-00000.jsonl").write_text("precious\n")
    with pytest.raises(UsageError, match="no journal of the job"):
        job.run([calls])
    assert (job.folder / "part-00000.jsonl").read_text() == "precious\n"


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


@pytest.mark.parametrize("is_complete", [True, False])
def test_parts_that_are_gone_or_damaged_are_made_again(job, calls, is_complete):
    job.run([calls])
    whole = job.parts()
    if not is_complete:
        interrupted(job)
    (job.folder / "part-00000.jsonl").unlink()
    (job.folder / "part-00001.jsonl").write_bytes(whole["part-00001.jsonl"][:-9] + b"x" * 9)
    job.run([calls])
    assert job.parts() == whole
    assert any("2 parts are gone or damaged" in note for note in job.notes)


def test_a_restart_removes_nothing_of_others(job, calls):
    """Only the parts that the job's journal names, whatever others are called."""
    job.folder.mkdir()
    others = ("part-00000-abc.snappy.parquet", "part-r-00001.csv", "part-1.jsonl")
    for name in others:
        (job.folder / name).write_text("precious")
    job.run([calls])
    job.run([calls], restart=True)
    (job.folder / "part-00007.jsonl").write_text("precious")
    with pytest.raises(UsageError, match=r"part-00007.jsonl: .*no journal"):
        job.run([calls], restart=True)
    assert {path.name for path in job.folder.glob("part-*")} == {*others, "part-00007.jsonl"}
    texts = {(job.folder / name).read_text() for name in (*others, "part-00007.jsonl")}
    assert texts == {"precious"}


def test_a_restart_in_another_form_removes_the_parts_of_the_first(job, calls):
    job.run([calls])
    job.run([calls], sink=FolderSink(job.folder, "parquet"), restart=True)
    assert {path.suffix for path in job.folder.glob("part-*")} == {".parquet"}


@pytest.mark.parametrize("when", ["before", "within", "after"])
def test_a_kill_between_a_part_and_its_line_leaves_nothing_that_is_not_named(job, calls, when):
    class Killed(FolderSink):
        def write(self, number, lines, data):
            if number == 1:
                if when == "after":
                    super().write(number, lines, data)
                if when == "within":
                    super().write(number, lines, data[:20])
                raise KeyboardInterrupt
            super().write(number, lines, data)

    with pytest.raises(KeyboardInterrupt):
        job.run([calls], sink=Killed(job.folder))
    assert job.run([calls]).records == 10
    assert ids(job) == ALL
    with pytest.raises(KeyboardInterrupt):
        job.run([calls], sink=Killed(job.folder), restart=True)
    assert job.run([calls], restart=True).records == 10
    assert ids(job) == ALL


def test_a_folder_that_was_moved_goes_on(tmp_path, job, calls):
    whole = job.run([calls])
    parts = job.parts()
    interrupted(job)
    moved = Job(tmp_path / "elsewhere" / "moved")
    moved.folder.parent.mkdir()
    job.folder.rename(moved.folder)
    assert moved.run([calls]) == whole
    assert moved.parts() == parts
    assert moved.progress[-1].kept == 8


def test_names_with_odd_line_ends(tmp_path, job, calls):
    """A journal is JSON lines: U+2028 and U+0085 in a name do not end one."""
    odd = tmp_path / "a\u2028b\u0085c.jsonl"
    calls.rename(odd)
    job.run([odd])
    interrupted(job)
    job.run([odd])
    assert ids(job) == ALL
