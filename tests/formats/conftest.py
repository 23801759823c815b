"""For tests of reading: lists of problems and notes, reading what a test writes, and its turns."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dialogist.formats import ReadOptions, ReadProblem, read_dialogues
from dialogist.records import Dialogue


@pytest.fixture
def problems() -> list[ReadProblem]:
    return []


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def read(
    tmp_path: Path, problems: list[ReadProblem], notes: list[str]
) -> Callable[..., list[Dialogue]]:
    """Write text or bytes to a file of the given name and read it back as dialogues."""

    def run(content: str | bytes, name: str = "talk.txt", **options: object) -> list[Dialogue]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return list(read_dialogues(path, ReadOptions(**options), problems.append, notes.append))

    return run


def turns(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(u.speaker, u.text) for u in dialogue.utterances]
