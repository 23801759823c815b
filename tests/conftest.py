"""What all tests share: one thread, steady examples, the real corpora, the command line."""

import gc
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch is imported: see the Makefile

from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from tests.command import CommandLine

gc.disable()  # until `pytest_collection` has imported all tests

# The same examples every time, and no clock: a busy machine must not fail a test.
hypothesis.settings.register_profile("steady", deadline=None, derandomize=True)
hypothesis.settings.load_profile("steady")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Modules and tests stay to the end: looking through them for garbage takes seconds."""
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def corpora() -> Path:
    """The real corpora, where they lie; tests that want them are skipped elsewhere."""
    root = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("DIALOGIST_DATA", root.parent / "shared" / "data"))
    if not (folder / "dialogsum").is_dir():
        pytest.skip("the real corpora are not here: set DIALOGIST_DATA to their folder")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_disks() -> Iterator[None]:
    """Here files need not outlive a power cut; tests of the writing itself put their own there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


@pytest.fixture
def dialogist(tmp_path: Path) -> CommandLine:
    """The command line in an empty folder."""
    return CommandLine(tmp_path)
