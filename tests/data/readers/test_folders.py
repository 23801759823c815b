import gzip

import pytest

from dialogist.data.readers import ReadOptions, read_dialogues
from dialogist.errors import DataError

TALK = b"Ann: hi\nBob: ho\nAnn: bye\n"


@pytest.fixture
def folder(tmp_path):
    files = {
        "tue/call.txt": TALK,
        "mon/call.txt.gz": gzip.compress(TALK),
        "README.txt": b"about",
        "photo.png": b"\x89PNG",
        ".git/call.txt": TALK,
        "prose.txt": b"It was dark.\nIt rained.\n",
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_files_below_a_folder_in_order(folder):
    problems, notes = [], []
    found = list(read_dialogues(folder, ReadOptions(), problems.append, notes.append))
    assert [dialogue.id for dialogue in found] == ["mon/call", "tue/call"]
    assert [str(problem).startswith(f"{folder}/prose.txt: no form") for problem in problems] == [
        True
    ]
    assert "2 files skipped: no known ending (1 .txt, 1 .png)" in notes[0]


def test_strict_stops_at_a_file(folder):
    with pytest.raises(DataError, match=r"prose\.txt: no format recognised"):
        list(read_dialogues(folder, ReadOptions(strict=True), pytest.fail))


def test_a_folder_without_files(tmp_path):
    with pytest.raises(DataError, match="no file with a known ending"):
        read_dialogues(tmp_path, ReadOptions(), pytest.fail)
