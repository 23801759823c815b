"""Which windows are computed together."""

import torch

from dialogist.data.encode import Encoded
from dialogist.pipeline.drafts import Window
from dialogist.pipeline.window_generator import BatchLimits, batches_of
from dialogist.records import Dialogue, Example


def windows(*lengths: int) -> list[Window]:
    empty = Example(()), Dialogue(())
    return [Window(empty[0], Encoded(tuple(range(n)), ()), empty[1]) for n in lengths]


def test_neighbours_are_of_like_length_and_each_window_is_in_one_batch() -> None:
    some = windows(9, 2, 5, 2, 7, 30, 1)
    batches = list(batches_of(some, range(7), BatchLimits(10, 4)))
    assert batches == [[6, 1, 3], [2], [4], [0], [5]]  # 3 x 2 fit, 4 x 5 do not; 30 is alone


def test_not_more_windows_than_said_however_short() -> None:
    batches = list(batches_of(windows(*[1] * 7), range(7), BatchLimits(1_000, 3)))
    assert batches == [[0, 1, 2], [3, 4, 5], [6]]


def test_only_the_wanted_ones() -> None:
    assert list(batches_of(windows(1, 2, 3), [2, 0], BatchLimits(100, 9))) == [[0, 2]]
    assert list(batches_of(windows(1, 2), [], BatchLimits(100, 9))) == []


def test_a_cpu_computes_fewer_at_once() -> None:
    cpu, gpu = (BatchLimits.on(torch.device(kind)) for kind in ("cpu", "cuda"))
    assert cpu.tokens < gpu.tokens
    assert cpu.windows < gpu.windows
