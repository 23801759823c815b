"""Pieces of steps: what they leave out, and what they do not."""

import pytest
import torch

from dialogist.nn.real_steps import RealSteps

EXAMPLES = [
    # lengths, width, (steps, rows) of each piece
    ([10, 10], 10, ((10, 2),)),
    ([40, 40], 40, ((40, 2),)),  # nothing to leave out: all at once
    ([3, 40], 40, ((32, 2), (8, 1))),
    ([100, 70, 64], 100, ((64, 3), (32, 2), (4, 1))),
    ([20, 5], 50, ((32, 2),)),  # padding behind the longest is not run
    ([0, 0], 4, ((4, 1),)),
]


@pytest.mark.parametrize(("lengths", "width", "pieces"), EXAMPLES)
def test_pieces(lengths, width, pieces):
    steps = RealSteps.of(torch.tensor(lengths), width)
    assert steps.pieces == pieces
    x = torch.arange(len(lengths))
    assert steps.unsort(steps.sort(x)).tolist() == x.tolist()
    layer = torch.nn.LSTM(2, 3, batch_first=True)
    assert steps.run(layer, torch.randn(len(lengths), width, 2)).shape == (len(lengths), width, 3)


def test_few_steps_of_padding_are_run():
    torch.manual_seed(0)
    lengths = torch.randint(1, 500, (16,))
    steps = RealSteps.of(lengths, 500)
    run = sum(count * rows for count, rows in steps.pieces)
    assert int(lengths.sum()) <= run < int(lengths.sum()) + 16 * 32
