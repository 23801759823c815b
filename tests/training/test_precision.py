"""Number formats: what `auto` picks, what is refused, what autocast covers."""

import sys

import pytest
import torch

from dialogist.errors import UsageError
from dialogist.training import precision
from dialogist.training.precision import computing_in, keep_freed_memory, resolve_precision

CPU = torch.device("cpu")


@pytest.mark.parametrize("capable", [True, False])
def test_auto_takes_what_the_hardware_has(capable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bf16", lambda device: capable)
    assert resolve_precision("auto", CPU) == ("bf16" if capable else "fp32")
    assert resolve_precision("fp32", CPU) == "fp32"


def test_bf16_where_there_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "has_bf16", lambda device: True)
    assert resolve_precision("bf16", CPU) == "bf16"
    monkeypatch.setattr(precision, "has_bf16", lambda device: False)
    with pytest.raises(UsageError, match="use fp32 or auto"):
        resolve_precision("bf16", CPU)


def test_the_hardware_is_asked() -> None:
    assert isinstance(precision.has_bf16(CPU), bool)


def test_autocast_keeps_weights_in_fp32() -> None:
    linear, x = torch.nn.Linear(4, 4), torch.randn(2, 4)
    with computing_in("fp32", CPU):
        assert linear(x).dtype == torch.float32
    with computing_in("bf16", CPU):
        y = linear(x)
    assert y.dtype == torch.bfloat16
    y.float().sum().backward()
    assert linear.weight.dtype == linear.weight.grad.dtype == torch.float32


def test_memory_settings_elsewhere_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: object) -> None:
        raise AssertionError("the C library was opened")

    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(precision.ctypes, "CDLL", refuse)
    keep_freed_memory()


def test_memory_settings_reach_the_allocator(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[int, int]] = []

    class Library:
        def mallopt(self, option: int, value: int) -> None:
            calls.append((option, value))

    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(precision.ctypes, "CDLL", lambda name: Library())
    keep_freed_memory()
    assert calls == [(-4, 0), (-1, 1 << 30), (-2, 64 << 20)]
