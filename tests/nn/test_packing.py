"""Tests of nn.packing."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from torch import Tensor

from dialogist.nn.packing import (
    BLOCKED,
    ROUND_TO,
    ROWS_AT_ONCE,
    Packing,
    additive_mask,
    by_rows,
    look_ahead_mask,
    row_step,
)

# Additive masks from booleans.

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


# Packing against plain padding: rows out of a grid, heads into one and back, with gradients.

# Some sequences may be all padding, as those of no encoded dialogue are; all of them may not.
MASKS = (
    arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=40), elements=st.booleans())
    .filter(np.any)
    .map(torch.from_numpy)
)
HEADS, KEY_WIDTH = st.integers(1, 4), st.integers(1, 3)
RAGGED = torch.arange(5) < torch.tensor([[5], [2], [0], [3]])


def grid_by_hand(rows: Tensor, real: Tensor, heads: int, width: int) -> Tensor:
    """What `split` shall give, place by place; rows (P, H * d_k)."""
    key_width = rows.shape[1] // heads
    grid = rows.new_zeros(real.shape[0], heads, width, key_width)
    for row, (sequence, place) in zip(rows, real.nonzero().tolist(), strict=True):
        for head in range(heads):
            grid[sequence, head, place] = row[head * key_width : (head + 1) * key_width]
    return grid


def holes(real: Tensor, heads: int, width: int) -> Tensor:
    """(B, H, width) True at padding."""
    padded = torch.nn.functional.pad(real, (0, width - real.shape[1]))
    return ~padded[:, None].expand(-1, heads, -1)


def numbered(*shape: int) -> Tensor:
    """Every element another one, none of them zero."""
    count = int(np.prod(shape))
    return torch.arange(1.0, count + 1).view(*shape)


def rows_for(packing: Packing, width: int) -> Tensor:
    """(P, width) numbers; what stands in the spare rows is none."""
    rows = numbered(packing.rows.shape[0], width)
    rows[packing.count :] = float("nan")
    return rows


@given(MASKS)
def test_pack_takes_the_real_places_in_order(real: Tensor) -> None:
    packing = Packing.of(real)
    for grid in (numbered(*real.shape), numbered(*real.shape, 3)):
        rows = packing.pack(grid)
        assert torch.equal(rows[: packing.count], grid[real])
        assert (rows[packing.count :] == rows[packing.count - 1]).all()
    places = [place for _, place in real.nonzero().tolist()]
    assert packing.positions.tolist()[: packing.count] == places


@given(MASKS)
def test_spare_rows_round_up_their_number(real: Tensor) -> None:
    packing = Packing.of(real)
    assert packing.count == int(real.sum())
    assert packing.rows.shape[0] % row_step(packing.count) == 0
    assert 0 <= packing.rows.shape[0] - packing.count < row_step(packing.count)


@pytest.mark.parametrize(
    ("count", "step"), [(1, 1), (31, 1), (32, 2), (63, 2), (64, 4), (1700, 64), (6000, 256)]
)
def test_how_far_rows_are_rounded_up(count: int, step: int) -> None:
    assert row_step(count) == step
    assert step == 1 or 1 / 32 <= step / count <= 1 / 16


@given(MASKS, HEADS, KEY_WIDTH)
def test_split_is_plain_padding(real: Tensor, heads: int, key_width: int) -> None:
    packing = Packing.of(real)
    rows = rows_for(packing, heads * key_width)
    grid = packing.split(rows, heads)
    assert grid.is_contiguous()  # what makes the products of attention fast
    expected = grid_by_hand(rows[: packing.count], real, heads, packing.width)
    assert torch.equal(grid, expected)
    assert (grid[holes(real, heads, packing.width)] == 0).all()


@given(MASKS, HEADS, KEY_WIDTH)
def test_join_is_the_way_back_and_drops_the_padding(
    real: Tensor, heads: int, key_width: int
) -> None:
    packing = Packing.of(real)
    rows = rows_for(packing, heads * key_width)
    grid = packing.split(rows, heads)
    found = packing.join(grid)
    assert found.shape == rows.shape
    assert torch.equal(found[: packing.count], rows[: packing.count])
    assert torch.isfinite(found).all()  # the spare rows too, for they are computed on
    grid[holes(real, heads, packing.width)] = float("nan")
    assert torch.equal(packing.join(grid), found)
    strided = grid.transpose(2, 3).contiguous().transpose(2, 3)
    assert torch.equal(packing.join(strided), found)


@given(MASKS, HEADS, KEY_WIDTH)
def test_gradients_are_those_of_plain_padding(real: Tensor, heads: int, key_width: int) -> None:
    """No rounding: each is one element of what is asked for. Spare rows have no part in it."""
    packing = Packing.of(real)
    rows = numbered(packing.rows.shape[0], heads * key_width)
    ours, theirs = rows.clone().requires_grad_(), rows.clone().requires_grad_()
    goal = torch.randn(real.shape[0], heads, packing.width, key_width)
    (packing.split(ours, heads) * goal).sum().backward()
    plain = grid_by_hand(theirs[: packing.count], real, heads, packing.width)
    (plain * goal).sum().backward()
    assert (ours.grad[packing.count :] == 0).all()
    assert torch.equal(ours.grad, theirs.grad)

    grid = torch.randn_like(goal).requires_grad_()
    wanted = torch.randn_like(rows)
    wanted[packing.count :] = 0
    (packing.join(grid) * wanted).sum().backward()
    expected = grid_by_hand(wanted[: packing.count], real, heads, packing.width)
    assert torch.equal(grid.grad, expected)


@pytest.mark.parametrize("heads", [1, 3])
def test_numerical_gradients(heads: int) -> None:
    packing = Packing.of(RAGGED, round_to=4)
    assert packing.width == 8
    torch.manual_seed(0)
    rows = torch.randn(10, heads * 2, dtype=torch.float64, requires_grad=True)
    grid = torch.randn(4, heads, 8, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: packing.split(x, heads), rows)
    assert torch.autograd.gradcheck(packing.join, grid)
    assert torch.autograd.gradcheck(lambda x: packing.join(packing.split(x, heads).sin()), rows)


def test_different_heads_from_one_packing() -> None:
    """Encoder and decoder attention may ask one packing for different numbers of heads."""
    packing = Packing.of(RAGGED)
    rows = numbered(10, 12)
    for heads in (2, 3, 2, 6):
        assert torch.equal(packing.split(rows, heads), grid_by_hand(rows, RAGGED, heads, 32))


@pytest.mark.parametrize(
    ("length", "width"), [(1, 32), (31, 32), (32, 32), (33, 64), (64, 64), (65, 96)]
)
def test_widths_are_rounded_up(length: int, width: int) -> None:
    real = torch.ones(2, length, dtype=torch.bool)
    packing = Packing.of(real)
    assert ROUND_TO == 32
    assert (packing.shape, packing.width) == ((2, length), width)
    assert packing.split(torch.ones(2 * length, 6), 3).shape == (2, 3, width, 2)
    assert Packing.of(real, round_to=1).width == length


@given(MASKS)
def test_real_and_mask(real: Tensor) -> None:
    packing = Packing.of(real)
    assert packing.real.shape == (real.shape[0], packing.width)
    assert torch.equal(packing.real[:, : real.shape[1]], real)
    assert not packing.real[:, real.shape[1] :].any()
    for dtype in (torch.float32, torch.bfloat16):
        mask = packing.mask(dtype)
        assert mask.dtype == dtype
        assert mask.shape == (real.shape[0], 1, 1, packing.width)
        blocked = torch.tensor(BLOCKED, dtype=dtype)
        expected = torch.where(packing.real, torch.zeros((), dtype=dtype), blocked)
        assert torch.equal(mask[:, 0, 0], expected)


def test_a_step_of_generation() -> None:
    packing = Packing.single(3, CPU)
    rows = numbered(3, 8).requires_grad_()
    grid = packing.split(rows, 2)
    assert torch.equal(grid, rows.view(3, 2, 1, 4))
    assert torch.equal(packing.join(grid), rows)
    assert packing.positions.tolist() == [0, 0, 0]
    assert packing.real.all()
    assert packing.real.shape == (3, 1)
    assert (packing.mask(torch.float32) == 0).all()
    (packing.join(packing.split(rows, 4)) * 2).sum().backward()
    assert (rows.grad == 2).all()


@pytest.mark.parametrize("count", [0, 1, ROWS_AT_ONCE, ROWS_AT_ONCE + 1, 3 * ROWS_AT_ONCE])
def test_by_rows_is_the_function_of_few_rows_at_a_time(count: int) -> None:
    seen = []

    def doubled(x: Tensor) -> Tensor:
        seen.append(len(x))
        return torch.cat([x, x], dim=1)

    x = torch.randn(count, 3)
    assert torch.equal(by_rows(doubled, x), torch.cat([x, x], dim=1))
    assert max(seen) <= ROWS_AT_ONCE
    assert sum(seen) == count
