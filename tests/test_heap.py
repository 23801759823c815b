"""What glibc is told, and that others are told nothing."""

import sys

import pytest

from dialogist import heap


class Library:
    """A C library that remembers what it is told."""

    def __init__(self) -> None:
        self.calls: list[tuple[int, int]] = []

    def mallopt(self, option: int, value: int) -> int:
        self.calls.append((option, value))
        return 1

    def malloc_trim(self, keep: int) -> int:
        raise AssertionError(keep)


@pytest.mark.parametrize(
    ("platform", "told"), [("linux", [(-3, 2 << 20), (-1, 32 << 20)]), ("darwin", [])]
)
def test_large_blocks_are_given_back(
    platform: str, told: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = Library()
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(heap.ctypes, "CDLL", lambda name: library)
    heap.give_back_large()
    assert library.calls == told


def test_another_c_library_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(heap.ctypes, "CDLL", lambda name: object())
    heap.give_back_large()
    assert heap.glibc() is None
