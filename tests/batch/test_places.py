"""Where a job reads and writes: patterns, URLs, tables; and how the input is cut."""

import json
import os
import tracemalloc
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest
import sqlalchemy as sa
from pyarrow import parquet
from tests.batch.conftest import Job, dialogue_line

from dialogist.batch import job as job_module
from dialogist.batch import places
from dialogist.batch.job import shards_of
from dialogist.batch.places import FolderSink, Since, TableSink, UrlSink, items_of, origins_of
from dialogist.batch.work import packed, unpacked
from dialogist.errors import DataError, UsageError
from dialogist.formats import ReadOptions, ReadProblem
from dialogist.records import Dialogue, Utterance


def read(*given, notes=None, **options):
    kept = [] if notes is None else notes
    return list(items_of(origins_of(given), ReadOptions(**options), kept.append))


def found(*given, **options):
    return [(one.id, one.utterances[0].text) for one in read(*given, **options)]


def test_what_is_named():
    kinds = {
        "calls.jsonl": "path",
        "C:/calls": "path",
        "file:///calls.jsonl": "path",
        "s3://bucket/calls": "url",
        "memory://calls": "url",
        "sqlite:///calls.db#calls": "table",
        "postgresql+psycopg://u:p@host/db#calls": "table",
    }
    assert {given: places.kind_of(given) for given in kinds} == kinds
    shown = places.shown_name("postgresql+psycopg://ann:secret@host/db#calls")
    assert shown == "postgresql+psycopg://ann:***@host/db#calls"


def test_patterns_are_sorted(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.jsonl").write_text(dialogue_line(name, f"I am {name}."))
    assert found(str(tmp_path / "*.jsonl")) == [("a", "I am a."), ("b", "I am b.")]
    assert found(f"file://{tmp_path}/a.jsonl") == [("a", "I am a.")]
    with pytest.raises(DataError, match=r"nothing.*no such file"):
        origins_of([str(tmp_path / "nothing*")])


def test_folders_stand_for_their_files(tmp_path):
    """A later run keeps the order of the files that it knows; new ones are at the end."""
    (tmp_path / "in" / "sub").mkdir(parents=True)
    for name in ("b", "sub/c", "notes"):
        ending = ".png" if name == "notes" else ".txt"
        (tmp_path / "in" / f"{name}{ending}").write_text(f"Ann: I am {name}.\n")
    notes = []
    first = origins_of([str(tmp_path / "in")], on_note=notes.append)
    assert [item.id for item in items_of(first, ReadOptions(), notes.append)] == ["b", "sub/c"]
    assert "1 file skipped: no known ending (1 .png)" in notes[0]
    (tmp_path / "in" / "a.txt").write_text("Ann: I am new.\n")
    again = origins_of([str(tmp_path / "in")], known=[one.name for one in first])
    assert [item.id for item in items_of(again, ReadOptions(), print)] == ["b", "sub/c", "a"]


@pytest.mark.parametrize("given", ["", "*.txt"])
def test_a_pipe_is_an_error_record_and_not_waited_for(tmp_path, given):
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "a.txt").write_text("Ann: I am here.\n")
    dialogue, problem = read(str(tmp_path / given))
    assert dialogue.id == "a"
    assert (Path(problem.file).name, "is a pipe" in problem.reason) == ("pipe.txt", True)


def test_what_is_old_is_left_out(tmp_path, memory):
    since = Since.parse("2026-11-01T08:00")
    for name, day in (("old", 1), ("new", 2)):
        path = tmp_path / f"{name}.jsonl"
        path.write_text(dialogue_line(name))
        changed = datetime(2026, 11, day, 7).timestamp()
        os.utime(path, (changed, changed))
        memory.pipe(f"/in/{name}.jsonl", path.read_bytes())
    for given in (str(tmp_path), str(tmp_path / "*.jsonl")):
        assert [one.name for one in origins_of([given], since)] == [str(tmp_path / "new.jsonl")]
    with pytest.raises(DataError, match=r"old.jsonl: no file was changed since then"):
        origins_of([str(tmp_path / "old.jsonl")], since)
    assert len(origins_of(["memory://in"], since)) == 2  # they were changed just now
    with pytest.raises(DataError, match="no file was changed"):
        origins_of(["memory://in"], Since.parse("2999-01-01"))
    with pytest.raises(UsageError, match="--since yesterday: write a date"):
        Since.parse("yesterday")


def test_problems_stand_in_their_place(tmp_path):
    (tmp_path / "a.jsonl").write_text(dialogue_line("a") + "broken\n" + dialogue_line("b"))
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.7 and so on")
    items = read(str(tmp_path / "a.jsonl"), str(tmp_path / "b.pdf"))
    places = [one.id if isinstance(one, Dialogue) else one.line for one in items]
    assert places == ["a", 2, "b", 0]
    assert "is a PDF" in items[3].reason
    with pytest.raises(DataError, match="is a PDF"):  # there is nothing else to do
        read(str(tmp_path / "b.pdf"))


@pytest.fixture
def memory():
    files = pytest.importorskip("fsspec").filesystem("memory")
    yield files
    files.rm("/", recursive=True)


def test_urls(memory):
    memory.pipe("/in/b.jsonl", dialogue_line("b", "I am b.").encode())
    memory.pipe("/in/a.txt", b"Ann: I am a.\nBo: Good.\n")
    memory.pipe("/in/notes.bin", b"\0")
    both = [("a", "I am a."), ("b", "I am b.")]
    assert found("memory://in") == both
    assert found("memory://in/*.jsonl") == both[1:]
    assert found("memory://in/a.txt") == both[:1]
    table = pa.Table.from_pylist([json.loads(dialogue_line("c", "I am c."))])
    with memory.open("/in/c.parquet", "wb") as file:
        parquet.write_table(table, file)
    assert found("memory://in/c.parquet") == [("c", "I am c.")]
    for nothing in ("memory://in/*.csv", "memory://elsewhere.jsonl"):
        with pytest.raises(DataError, match="no such file"):
            origins_of([nothing])
    with pytest.raises(UsageError, match="nosuch"):
        origins_of(["nosuch://x"])


def database(tmp_path, *statements):
    url = f"sqlite:///{tmp_path / 'desk.db'}"
    with sa.create_engine(url).begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    return url


def test_a_table_is_read_by_its_key(tmp_path, monkeypatch):
    """Page by page, in the order of the primary key, whatever the order of the rows."""
    monkeypatch.setattr(places, "_PAGE", 2)
    values = ", ".join(f"({n}, 'Ann: I am {n}.')" for n in (5, 3, 1, 4, 2))
    url = database(
        tmp_path,
        "create table calls (id integer primary key, dialogue text)",
        f"insert into calls values {values}",
    )
    assert found(f"{url}#calls") == [(str(n), f"I am {n}.") for n in range(1, 6)]


@pytest.mark.parametrize("kind", ["text", "datetime", "date", "int", "float"])
def test_rows_since(tmp_path, kind):
    columns = f"id int primary key, dialogue text, created {kind}"
    url = database(tmp_path, f"create table calls ({columns})")
    days = [datetime(2026, 11, day, 9, 30) for day in (1, 2, 3)]
    told = {
        "text": [str(day) for day in days],
        "datetime": [day.isoformat(" ", "microseconds") for day in days],
        "date": [str(day.date()) for day in days],
        "int": [int(day.timestamp()) for day in days],
        "float": [day.timestamp() for day in days],
    }[kind]
    with sa.create_engine(url).begin() as connection:
        for number, created in enumerate(told):
            values = (number, f"Ann: I am {number}.", created)
            connection.exec_driver_sql("insert into calls values (?, ?, ?)", values)
    recent = origins_of([f"{url}#calls"], Since.parse("created=2026-11-02"))
    assert [item.id for item in items_of(recent, ReadOptions(), print)] == ["1", "2"]
    with pytest.raises(UsageError, match="--since COLUMN=2026-11-02"):
        origins_of([f"{url}#calls"], Since.parse("2026-11-02"))
    nothing = origins_of([f"{url}#calls"], Since.parse("made=2026-11-02"))
    with pytest.raises(DataError, match="no column 'made'"):
        list(items_of(nothing, ReadOptions(), print))


def test_a_table_of_messages(tmp_path, monkeypatch):
    """Two columns are the key; a row is a message, and the flags are those of files."""
    monkeypatch.setattr(places, "_PAGE", 2)
    url = database(
        tmp_path,
        "create table said (ticket text, nr int, who text, body text, primary key (ticket, nr))",
        "insert into said values ('t2', 1, 'Ann', 'Hi.'), ('t1', 2, 'Bo', 'Hello.'), "
        "('t1', 1, 'Ann', 'Good day.'), ('t2', 2, 'Cy', 'Yes.')",
    )
    columns = {"id": "ticket", "speaker": "who", "text": "body"}
    items = read(f"{url}#said", columns=columns, by_neighbours=True)
    told = [(one.id, [turn.text for turn in one.utterances]) for one in items]
    assert told == [("t1", ["Good day.", "Hello."]), ("t2", ["Hi.", "Yes."])]


def test_tables_that_cannot_be_read(tmp_path):
    url = database(tmp_path, "create table loose (dialogue text)")
    with pytest.raises(DataError, match="has no primary key"):
        read(f"{url}#loose")
    with pytest.raises(DataError, match="no table of that name"):
        read(f"{url}#tight")
    with pytest.raises(UsageError, match="name the table behind the URL"):
        origins_of([url])


def test_items_as_lines():
    dialogue = Dialogue(
        (Utterance("Ann", "Hi “you”.\n", "agent"),), "a", ("A reference.",), {"topic": ["x", 1]}
    )
    back = unpacked(packed(dialogue))
    assert (back.id, back.utterances) == ("a", dialogue.utterances)
    assert back.metadata == {"topic": ["x", 1]}
    record = unpacked(packed(ReadProblem("calls.jsonl", 7, "no JSON")))
    assert (record.id, record.status, record.reason) == ("calls.jsonl:7", "error", "no JSON")


def test_shards_are_cut_by_number_and_by_size(monkeypatch):
    monkeypatch.setattr(job_module, "MOST_JOB_SHARD", 500)
    items = [Dialogue((Utterance("Ann", "x" * size),), f"{size}") for size in (1, 1, 1, 600, 1)]
    assert [len(shard.lines) for shard in shards_of(items, 2)] == [2, 2, 1]


def test_memory_does_not_depend_on_the_number_of_dialogues():
    """One shard is held."""

    def peak(count):
        items = (Dialogue((Utterance("Ann", "x" * 200),), f"{n}") for n in range(count))
        tracemalloc.start()
        shards = sum(1 for _ in shards_of(items, 100))
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert shards == count // 100
        return found

    assert peak(6_000) - peak(1_000) < 16 * 5_000


def test_parquet(job, calls):
    job.run([calls], sink=FolderSink(job.folder, "parquet"))
    parts = sorted(job.folder.glob("*.parquet"))
    rows = [row for part in parts for row in parquet.read_table(part).to_pylist()]
    assert [row["id"] for row in rows] == [f"c{n}" for n in range(10)]
    assert rows[3]["text"] == "This is call 3."
    assert json.loads(rows[3]["record"])["timings"] == {}
    before = job.parts()
    job.run([calls], sink=FolderSink(job.folder, "parquet"), restart=True)
    assert job.parts() == before


def test_a_url_to_write_to(job, calls, memory):
    job.run([calls], sink=UrlSink("memory://out/"))
    names = sorted(path.rpartition("/")[2] for path in memory.ls("/out", detail=False))
    assert names == ["manifest.json", *(f"part-0000{n}.jsonl" for n in range(3))]
    lines = [json.loads(line) for line in memory.cat("/out/part-00002.jsonl").splitlines()]
    assert [one["id"] for one in lines] == ["c8", "c9"]
    assert {path.name for path in job.folder.iterdir()} == {".lock", "manifest.json"}
    (job.folder / "manifest.json").unlink()
    with pytest.raises(UsageError, match="no journal of the job"):
        job.run([calls], sink=UrlSink("memory://out/"))
    with pytest.raises(UsageError, match="no journal of the job"):  # nor thrown away
        job.run([calls], sink=UrlSink("memory://out/"), restart=True)


def test_parts_elsewhere_that_are_damaged_are_made_again(job, calls, memory, tmp_path):
    """Of the same size and number of rows: their journal has the SHA-256 of their bytes."""
    job.run([calls], sink=UrlSink("memory://out/"))
    whole = memory.cat("/out/part-00001.jsonl")
    memory.pipe("/out/part-00001.jsonl", whole.replace(b"call 5", b"call 6"))
    job.run([calls], sink=UrlSink("memory://out/"))
    assert memory.cat("/out/part-00001.jsonl") == whole
    job.run([calls], sink=UrlSink("memory://out/"), restart=True)
    assert memory.cat("/out/part-00001.jsonl") == whole
    url = f"sqlite:///{tmp_path / 'desk.db'}"
    table = Job(tmp_path / "table")
    table.run([calls], sink=TableSink(f"{url}#summaries"))
    rows = rows_of(url)
    with sa.create_engine(url).begin() as connection:
        connection.exec_driver_sql("update summaries set record = '{}' where id = 'c5'")
    table.run([calls], sink=TableSink(f"{url}#summaries"))
    assert rows_of(url) == rows
    with sa.create_engine(url).begin() as connection:
        connection.exec_driver_sql("insert into summaries (part, place) values (7, 0)")
    with pytest.raises(UsageError, match="no journal of the job"):
        table.run([calls], sink=TableSink(f"{url}#summaries"), restart=True)
    assert [row.part for row in rows_of(url)] == [7]


def rows_of(url):
    with sa.create_engine(url).connect() as connection:
        query = "select part, place, id, status, text, record from summaries order by part, place"
        return connection.exec_driver_sql(query).all()


def test_a_table_to_write_to(job, calls, tmp_path):
    url = f"sqlite:///{tmp_path / 'desk.db'}"
    job.run([calls], sink=TableSink(f"{url}#summaries"))
    rows = rows_of(url)
    assert [row.id for row in rows] == [f"c{n}" for n in range(10)]
    assert (rows[5].part, rows[5].place, rows[5].text) == (1, 1, "This is call 5.")
    assert json.loads(rows[5].record)["id"] == "c5"
    # Killed between the database's commit and the journal: the part replaces itself.
    manifest = json.loads((job.folder / "manifest.json").read_text())
    shards, _ = manifest.pop("shards"), manifest.pop("totals")
    (job.folder / "manifest.json").unlink()
    lines = [json.dumps(one) + "\n" for one in (manifest, *shards[:2])]
    (job.folder / "journal.jsonl").write_text("".join(lines))
    job.run([calls], sink=TableSink(f"{url}#summaries"))
    assert rows_of(url) == rows


def test_tables_that_are_not_written_to(job, calls, tmp_path):
    url = database(tmp_path, "create table calls (id integer primary key, dialogue text)")
    with pytest.raises(UsageError, match="a table of other columns"):
        job.run([calls], sink=TableSink(f"{url}#calls"))
    with pytest.raises(UsageError, match="a table of other columns"):  # nor thrown away
        job.run([calls], sink=TableSink(f"{url}#calls"), restart=True)
