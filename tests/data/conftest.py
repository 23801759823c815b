"""Fixtures for reading: a list that collects problems, and the real corpora where they lie."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from dialogist.data.readers import Problem, ReadOptions, read_dialogues
from dialogist.records import Dialogue

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def problems() -> list[Problem]:
    return []


@pytest.fixture
def read(tmp_path: Path, problems: list[Problem]) -> Callable[..., list[Dialogue]]:
    """Write text or bytes to a file of the given name and read it back as dialogues."""

    def run(content: str | bytes, name: str = "talk.txt", **options: object) -> list[Dialogue]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_dialogues(path, ReadOptions(**options), problems.append))

    return run


@pytest.fixture(scope="session")
def corpora() -> Path:
    folder = Path(os.environ.get("DIALOGIST_DATA", ROOT.parent / "shared" / "data"))
    if not (folder / "dialogsum").is_dir():
        pytest.skip("the real corpora are not here: set DIALOGIST_DATA to their folder")
    return folder
