"""Parquet and Arrow files, folders of ``datasets``, and .zst, read as JSON lines are."""

import io
import json

import pyarrow as pa
import pytest
import zstandard
from pyarrow import parquet

from dialogist.errors import DataError
from dialogist.formats import ReadOptions, read_dialogues

ROWS = [
    {"id": "a", "turns": [{"speaker": "Ann", "text": "Lunch at noon?"}]},
    {"id": "b", "turns": [{"speaker": "Bo", "text": "No."}, {"speaker": "Ann", "text": "Why?"}]},
]


def told(found):
    return [(one.id, [turn.text for turn in one.utterances]) for one in found]


EXPECTED = [("a", ["Lunch at noon?"]), ("b", ["No.", "Why?"])]


@pytest.fixture
def table():
    return pa.Table.from_pylist(ROWS)


def test_parquet(tmp_path, table):
    path = tmp_path / "calls.parquet"
    parquet.write_table(table, path)
    assert told(read_dialogues(path)) == EXPECTED
    assert told(read_dialogues(tmp_path)) == EXPECTED  # in a folder as well
    with path.open("rb") as stream:
        assert told(read_dialogues(stream)) == EXPECTED


def test_parquet_with_columns_of_any_name(tmp_path):
    path = tmp_path / "calls.parquet"
    parquet.write_table(pa.table({"nr": [1], "chat": ["Ann: Hi.\nBo: Hello."]}), path)
    options = ReadOptions(columns={"id": "nr", "dialogue": "chat"})
    assert told(read_dialogues(path, options)) == [("1", ["Hi.", "Hello."])]


@pytest.mark.parametrize("form", [pa.ipc.new_stream, pa.ipc.new_file])
def test_arrow(tmp_path, table, form):
    path = tmp_path / "calls.arrow"
    with form(path, table.schema) as writer:
        writer.write_table(table)
    assert told(read_dialogues(path)) == EXPECTED


def dataset(folder, table):
    """What ``Dataset.save_to_disk`` writes."""
    folder.mkdir(parents=True)
    with pa.ipc.new_stream(folder / "data-00000-of-00001.arrow", table.schema) as writer:
        writer.write_table(table)
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}], "_split": None}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")


def test_a_folder_of_datasets(tmp_path, table):
    dataset(tmp_path / "saved", table)
    assert told(read_dialogues(tmp_path / "saved")) == EXPECTED


def test_splits_are_not_mixed(tmp_path, table):
    dataset(tmp_path / "saved" / "test", table)
    dataset(tmp_path / "saved" / "train", table)
    (tmp_path / "saved" / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(DataError, match="splits test, train of a data set: name one"):
        read_dialogues(tmp_path / "saved")


@pytest.mark.parametrize("name", ["calls.parquet", "calls.arrow"])
def test_damaged(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"PAR1 and nothing that belongs to it")
    with pytest.raises(DataError, match=r"calls.*: cannot be read: damaged Parquet or Arrow data"):
        list(read_dialogues(path))


def packed(size=1):
    lines = "".join(json.dumps(row) + "\n" for row in ROWS * size).encode()
    return zstandard.ZstdCompressor().compress(lines)


def test_zst(tmp_path):
    path = tmp_path / "calls.jsonl.zst"
    path.write_bytes(packed() + packed())  # two frames
    assert told(read_dialogues(path)) == EXPECTED * 2
    (tmp_path / "other.txt.zst").write_bytes(zstandard.compress(b"Ann: Hi.\nBo: Hello.\n"))
    assert [one.id for one in read_dialogues(tmp_path)][-1] == "other"


def test_damaged_zst():
    with pytest.raises(DataError, match="truncated zstd file"):
        list(read_dialogues(io.BytesIO(packed(20)[:-20])))
    with pytest.raises(DataError, match="damaged zstd data"):
        list(read_dialogues(io.BytesIO(b"\x28\xb5\x2f\xfd" + b"\xff" * 50)))
