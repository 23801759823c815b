"""Files that are complete or absent, and faults in one line."""

from pathlib import Path

import pytest

from dialogist.errors import DataError, UsageError
from dialogist.files import reading, replacing, write_text_atomically, writing


def test_a_file_is_replaced_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    write_text_atomically(path, "1")
    monkeypatch.setattr("dialogist.files.sync", lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_text_atomically(path, "2")
    assert path.read_text() == "1"


def test_of_two_who_write_a_file_one_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a"
    (tmp_path / ".incomplete-a").write_text("what a process that was killed had written")
    with replacing(path) as temporary:
        with pytest.raises(UsageError, match="another process"), replacing(path):
            pass
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert [*tmp_path.iterdir()] == [path]


def test_what_cannot_be_read_or_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no: cannot be read: No such file"), reading(Path("no")):
        (tmp_path / "no").read_text()
    with pytest.raises(DataError, match="x: cannot be written: Is a dir"), writing(Path("x")):
        tmp_path.write_text("")
