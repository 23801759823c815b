"""Number formats: what `auto` picks, what is refused."""

import pytest
import torch

from dialogist.errors import UsageError
from dialogist.training import master_weights
from dialogist.training.master_weights import resolve_training_precision, working_dtype

CPU = torch.device("cpu")


@pytest.mark.parametrize("capable", [True, False])
def test_auto_takes_what_the_hardware_has(capable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: capable)
    assert resolve_training_precision("auto", CPU) == ("bf16" if capable else "fp32")
    assert resolve_training_precision("fp32", CPU) == "fp32"


def test_bf16_where_there_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: True)
    assert resolve_training_precision("bf16", CPU) == "bf16"
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: False)
    with pytest.raises(UsageError, match="use fp32 or auto"):
        resolve_training_precision("bf16", CPU)


def test_the_hardware_is_asked() -> None:
    assert isinstance(master_weights.has_bf16(CPU), bool)


def test_the_working_format() -> None:
    assert working_dtype("fp32") == torch.float32
    assert working_dtype("bf16") == torch.bfloat16
