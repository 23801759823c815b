"""Positions: sinusoids by hand, odd widths, limits, and the learned table."""

import math

import pytest
import torch

from dialogist.errors import DataError
from dialogist.nn.layers import Positions, sinusoids


def test_values_by_hand() -> None:
    table = sinusoids(3, 4)
    for pos in range(3):
        row = [math.sin(pos), math.cos(pos), math.sin(pos / 100), math.cos(pos / 100)]
        torch.testing.assert_close(table[pos], torch.tensor(row), atol=1e-7, rtol=0)


def test_odd_width_ends_on_a_sine() -> None:
    table = sinusoids(50, 15)
    assert table.shape == (50, 15)
    for pos in (0, 1, 49):
        for column in range(15):
            angle = pos / 10000 ** ((column - column % 2) / 15)
            expected = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[pos, column].item() == pytest.approx(expected, abs=1e-6)


def test_far_positions_keep_their_precision() -> None:
    assert sinusoids(60_001, 2)[60_000, 0].item() == pytest.approx(math.sin(60_000), abs=1e-6)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_each_row_gets_its_own_position(kind: str) -> None:
    positions = Positions(kind, 10, 6)
    x, places = torch.randn(5, 6), torch.tensor([4, 0, 9, 4, 1])
    expected = torch.stack(
        [row + positions.table[place] for row, place in zip(x, places, strict=True)]
    )
    assert torch.equal(positions(x, places), expected)
    assert not torch.equal(positions(x, places.flip(0)), expected)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_one_position_for_all_rows(kind: str) -> None:
    positions = Positions(kind, 10, 6)
    x = torch.randn(5, 6)
    assert torch.equal(positions(x, torch.tensor([7])), x + positions.table[7])


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_too_long_is_one_clear_line(kind: str) -> None:
    with pytest.raises(DataError) as caught:
        Positions(kind, 10, 4).require(11)
    message = str(caught.value)
    assert "\n" not in message
    assert "11 tokens" in message
    assert "10 positions" in message


def test_the_last_position_fits() -> None:
    positions = Positions("sinusoidal", 10, 4)
    positions.require(10)
    assert positions(torch.zeros(10, 4), torch.arange(10)).shape == (10, 4)


def test_a_position_beyond_the_table_is_never_silently_another() -> None:
    with pytest.raises((IndexError, RuntimeError)):
        Positions("sinusoidal", 10, 4)(torch.zeros(1, 4), torch.tensor([10]))


def test_only_the_learned_table_is_trained_and_saved() -> None:
    fixed, learned = Positions("sinusoidal", 10, 4), Positions("learned", 10, 4)
    assert list(fixed.parameters()) == []
    assert fixed.state_dict() == {}
    assert list(learned.state_dict()) == ["table"]
    before = learned.table.detach().clone()
    optimizer = torch.optim.SGD(learned.parameters(), lr=1.0)
    learned(torch.zeros(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])).sum().backward()
    optimizer.step()
    change = learned.table.detach() - before
    torch.testing.assert_close(change[:3], torch.full((3, 4), -2.0))
    assert (change[3:] == 0).all()
