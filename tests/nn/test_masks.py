"""Additive masks from booleans."""

import pytest
import torch

from dialogist.nn.packing import BLOCKED, Packing, additive_mask, look_ahead_mask

CPU = torch.device("cpu")


def test_from_booleans() -> None:
    allowed = torch.tensor([[True, False], [False, True]])
    expected = torch.tensor([[0, BLOCKED], [BLOCKED, 0]])
    assert torch.equal(additive_mask(allowed, torch.float32), expected)


def test_padding() -> None:
    real = torch.tensor([[True, True, False], [True, False, False]])
    expected = torch.tensor([[0, 0, BLOCKED], [0, BLOCKED, BLOCKED]])
    mask = Packing.of(real, round_to=1).mask(torch.float32)
    assert torch.equal(mask, expected[:, None, None, :])


def test_look_ahead() -> None:
    causal = look_ahead_mask(3, torch.float32, CPU)
    rows = [[0, BLOCKED, BLOCKED], [0, 0, BLOCKED], [0, 0, 0]]
    assert torch.equal(causal, torch.tensor(rows)[None, None])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_two_masks_together_stay_finite(dtype: torch.dtype) -> None:
    allowed = torch.zeros(2, 2, dtype=torch.bool)
    both = additive_mask(allowed, dtype) + look_ahead_mask(2, dtype, CPU)
    assert both.dtype == dtype
    assert torch.isfinite(both).all()
