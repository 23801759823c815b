"""Positions: sinusoids by hand, odd widths, limits, and the learned table."""

import math

import pytest
import torch

from dialogist.errors import DataError
from dialogist.nn.positional import Positions, sinusoids


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
def test_added_from_an_offset(kind: str) -> None:
    positions = Positions(kind, 10, 6)
    x = torch.randn(2, 3, 6)
    expected = x + positions.table[4:7]
    assert torch.equal(positions(x, offset=4), expected)
    assert not torch.equal(positions(x), expected)


@pytest.mark.parametrize(("length", "offset"), [(11, 0), (1, 10), (5, 6)])
def test_too_long_is_one_clear_line(length: int, offset: int) -> None:
    with pytest.raises(DataError) as caught:
        Positions("sinusoidal", 10, 4)(torch.zeros(1, length, 4), offset)
    message = str(caught.value)
    assert "\n" not in message
    assert "11 tokens" in message
    assert "10 positions" in message


def test_the_last_position_fits() -> None:
    assert Positions("sinusoidal", 10, 4)(torch.zeros(1, 10, 4)).shape == (1, 10, 4)


def test_only_the_learned_table_is_trained_and_saved() -> None:
    fixed, learned = Positions("sinusoidal", 10, 4), Positions("learned", 10, 4)
    assert list(fixed.parameters()) == []
    assert fixed.state_dict() == {}
    assert list(learned.state_dict()) == ["table"]
    before = learned.table.detach().clone()
    optimizer = torch.optim.SGD(learned.parameters(), lr=1.0)
    learned(torch.zeros(2, 3, 4)).sum().backward()
    optimizer.step()
    change = learned.table.detach() - before
    torch.testing.assert_close(change[:3], torch.full((3, 4), -2.0))
    assert (change[3:] == 0).all()
