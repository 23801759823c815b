"""Dropout by bytes: what it keeps, how evenly, how independently, how reproducibly."""

import math

import pytest
import torch
from torch import Tensor

from dialogist.nn.dropout import Dropout


def kept(rate: float, *shape: int, seed: int = 0) -> Tensor:
    """A boolean mask of what one application keeps."""
    torch.manual_seed(seed)
    return Dropout(rate)(torch.ones(*shape)) != 0


def test_zero_rate_and_evaluation_change_nothing() -> None:
    x = torch.randn(3, 5)
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x
    assert not torch.equal(Dropout(0.5)(x), x)


@pytest.mark.parametrize("rate", [1 / 256, 0.1, 0.3, 0.5, 0.9])
def test_keep_rate_and_mean(rate: float) -> None:
    torch.manual_seed(1)
    size = 200_000
    module = Dropout(rate)
    y = module(torch.ones(size))
    exact = 1 - round(rate * 256) / 256
    assert abs(exact - (1 - rate)) <= 1 / 512
    deviation = math.sqrt(exact * (1 - exact) / size)
    assert abs((y != 0).float().mean().item() - exact) < 5 * deviation
    assert torch.allclose(y[y != 0], torch.tensor(1 / exact))
    assert abs(y.mean().item() - 1) < 5 * deviation / exact


def test_a_rate_just_below_one_builds() -> None:
    y = Dropout(0.999)(torch.ones(100_000))
    assert torch.isfinite(y).all()
    assert 0 < (y != 0).float().mean() < 0.01


@pytest.mark.parametrize("shape", [(0,), (1,), (7,), (8,), (3, 5, 7)])
def test_any_number_of_elements(shape: tuple[int, ...]) -> None:
    assert Dropout(0.5)(torch.ones(shape)).shape == shape


def test_gradient_is_the_same_mask_scaled() -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, requires_grad=True)
    y = Dropout(0.25)(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_number_format_is_kept(dtype: torch.dtype) -> None:
    assert Dropout(0.1)(torch.ones(64, dtype=dtype)).dtype == dtype


def test_the_seed_and_the_saved_state_govern_it() -> None:
    assert torch.equal(kept(0.5, 999, seed=3), kept(0.5, 999, seed=3))
    assert not torch.equal(kept(0.5, 999, seed=3), kept(0.5, 999, seed=4))
    state = torch.get_rng_state()
    module, x = Dropout(0.5), torch.ones(999)
    first, second = module(x), module(x)
    assert not torch.equal(first, second)
    torch.set_rng_state(state)
    assert torch.equal(module(x), first)


def test_all_eight_bytes_of_a_draw_are_uniform() -> None:
    """An element is kept while its byte reaches the threshold: 255 thresholds reveal the byte."""
    draws = 4096
    values = sum(kept(k / 256, 8 * draws).long() for k in range(1, 256)).view(draws, 8)
    assert values.min() == 0
    assert values.max() == 255
    for place in range(8):
        counts = torch.bincount(values[:, place], minlength=256).float()
        expected = draws / 256
        chi_square = ((counts - expected) ** 2 / expected).sum().item()
        # 255 degrees of freedom: mean 255, deviation sqrt(510)
        assert abs(chi_square - 255) < 6 * math.sqrt(510), place


def test_elements_of_a_row_are_uncorrelated() -> None:
    rows = 5000
    mask = kept(0.3, rows, 33).double()  # 33: rows begin at every byte of a draw
    correlation = torch.corrcoef(mask.T) - torch.eye(33)
    assert correlation.abs().max() < 5.5 / math.sqrt(rows)
    # nor does a row foretell the next
    following = torch.corrcoef(torch.cat([mask[:-1], mask[1:]], dim=1).T)[:33, 33:]
    assert following.abs().max() < 5.5 / math.sqrt(rows)
