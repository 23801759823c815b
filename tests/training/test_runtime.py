"""Freed memory is kept, up to a bound; elsewhere than on glibc nothing happens."""

import mmap
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from dialogist import heap
from dialogist.training import runtime
from dialogist.training import trainer as trainer_module
from dialogist.training.base import Validation
from dialogist.training.runtime import (
    KEPT_BYTES,
    KeptMemory,
    avoid_fused_attention,
    resident_bytes,
)

MB = 1 << 20


class Glibc:
    """A C library that remembers what it is told, and a process whose size trimming changes."""

    def __init__(self) -> None:
        self.size = 1000 * MB
        self.after_trimming = 900 * MB
        self.calls: list[tuple[int, int]] = []
        self.trimmed_at: list[int] = []

    def mallopt(self, option: int, value: int) -> int:
        self.calls.append((option, value))
        return 1

    def malloc_trim(self, keep: int) -> int:
        assert keep == 0
        self.trimmed_at.append(self.size)
        self.size = self.after_trimming
        return 1


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Glibc:
    made = Glibc()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(heap.ctypes, "CDLL", lambda name: made)
    monkeypatch.setattr(runtime, "resident_bytes", lambda: made.size)
    return made


def sizes(kept: KeptMemory, library: Glibc, *megabytes: int) -> None:
    for size in megabytes:
        library.size = size * MB
        kept.watch()


def test_settings_reach_the_allocator(library: Glibc) -> None:
    KeptMemory()
    assert sorted(library.calls) == [(-4, 0), (-2, 64 << 20), (-1, (1 << 31) - 1)]
    assert library.trimmed_at == []


@pytest.mark.parametrize(("before", "after"), [(None, "384"), ("7", "7")])
def test_few_kernels_are_kept_unless_somebody_says_how_many(
    before: str | None, after: str, library: Glibc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime.os, "environ", {} if before is None else {runtime._KERNELS: before})
    KeptMemory()
    assert runtime.os.environ == {runtime._KERNELS: after}


def test_the_first_update_shows_what_stays_when_all_is_given_back(library: Glibc) -> None:
    kept = KeptMemory()
    sizes(kept, library, 5000)
    assert library.trimmed_at == [5000 * MB]
    assert kept.trims == 1


def test_it_trims_only_beyond_the_limit(library: Glibc) -> None:
    """The size at rest, and what may be kept."""
    kept, most = KeptMemory(), 900 + KEPT_BYTES // MB
    sizes(kept, library, 5000, 900, most, 1, most)
    assert kept.trims == 1
    sizes(kept, library, most + 1)
    assert library.trimmed_at == [5000 * MB, (most + 1) * MB]
    assert kept.trims == 2


def test_the_size_at_rest_is_looked_at_anew(library: Glibc) -> None:
    kept, keep = KeptMemory(), KEPT_BYTES // MB
    sizes(kept, library, 5000)
    library.after_trimming = 1500 * MB
    sizes(kept, library, 901 + keep)
    assert kept.trims == 2
    sizes(kept, library, 1500 + keep)
    assert kept.trims == 2
    sizes(kept, library, 1501 + keep)
    assert kept.trims == 3


def test_a_process_that_grows_on_is_bounded(library: Glibc) -> None:
    """10 MB an update, all of which trimming can give back."""
    kept, highest = KeptMemory(), 0
    for _ in range(2000):
        library.size += 10 * MB
        highest = max(highest, library.size)
        kept.watch()
    assert highest <= 900 * MB + KEPT_BYTES + 10 * MB + 100 * MB
    assert 13 < kept.trims <= 1 + 2000 * 10 * MB // KEPT_BYTES


def test_elsewhere_nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: object) -> None:
        raise AssertionError("the C library was opened")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(heap.ctypes, "CDLL", refuse)
    monkeypatch.setattr(runtime, "resident_bytes", lambda: refuse(""))
    kept = KeptMemory()
    kept.watch()
    assert kept.trims == 0


@pytest.mark.parametrize("missing", ["mallopt", "malloc_trim"])
def test_another_c_library_is_left_alone(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    other = {"mallopt", "malloc_trim"} - {missing}
    musl = type("Musl", (), {name: lambda *a: calls.append(a) for name in other})()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(heap.ctypes, "CDLL", lambda name: musl)
    kept = KeptMemory()
    kept.watch()
    assert calls == []
    assert kept.trims == 0


def test_resident_bytes_of_a_made_up_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statm = tmp_path / "statm"
    statm.write_text("90000 1234 300 1 0 4000 0\n")
    monkeypatch.setattr(runtime, "_STATM", statm)
    assert resident_bytes() == 1234 * 4096


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_resident_bytes_of_this_process() -> None:
    before = resident_bytes()
    assert before > 30 * MB  # Python and torch
    # Fresh pages: an allocator may serve a tensor from what other tests freed before.
    with mmap.mmap(-1, 512 * MB) as fresh:
        for page in range(0, len(fresh), mmap.PAGESIZE):
            fresh[page] = 1
        assert 256 * MB < resident_bytes() - before < 768 * MB


def test_memory_is_watched_after_every_update(setup: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    watched: list[int] = []

    class Memory:
        def watch(self) -> None:
            watched.append(len(setup.watcher.losses))

    monkeypatch.setattr(trainer_module, "KeptMemory", Memory)
    setup.trainer().fit(lambda epoch: Validation({}))
    assert watched == [0, 1, 2, 3, 4, 5]  # before the update is shown


@pytest.mark.parametrize(
    ("device", "working", "fused"),
    [("cpu", torch.bfloat16, True), ("cuda", torch.float32, True), ("cuda", torch.bfloat16, False)],
)
def test_training_in_bf16_on_a_gpu_avoids_fused_attention(
    device: str, working: torch.dtype, fused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = dict.fromkeys(("flash", "mem_efficient", "cudnn"), True)
    for name in kernels:
        monkeypatch.setattr(
            torch.backends.cuda,
            f"enable_{name}_sdp",
            lambda on, name=name: kernels.__setitem__(name, on),
        )
    avoid_fused_attention(torch.device(device), working)
    assert set(kernels.values()) == {fused}
