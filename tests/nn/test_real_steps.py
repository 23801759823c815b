"""Pieces of steps: what they leave out, and what they do not."""

import pytest
import torch

from dialogist.nn.recurrent_layers import PackedSteps

EXAMPLES = [
    # lengths, width, rows of each piece of 32 steps
    ([10, 10], 10, (2,)),
    ([40, 40], 40, (2, 2)),
    ([3, 40], 40, (2, 1)),
    ([100, 70, 64], 100, (3, 3, 2, 1)),
    ([20, 5], 50, (2,)),  # padding behind the longest is not run
    ([0, 33], 33, (2, 1)),
    ([0, 0], 4, (2,)),
]


@pytest.mark.parametrize(("lengths", "width", "pieces"), EXAMPLES)
def test_pieces(lengths, width, pieces):
    steps = PackedSteps.of(torch.tensor(lengths), width)
    assert steps.pieces == pieces
    x = torch.arange(len(lengths))
    assert steps.unsort(steps.sort(x)).tolist() == x.tolist()
    layer = torch.nn.LSTM(2, 3, batch_first=True)
    assert steps.run(layer, torch.randn(len(lengths), width, 2)).shape == (len(lengths), width, 3)


def test_few_steps_of_padding_are_run():
    torch.manual_seed(0)
    lengths = torch.randint(1, 500, (16,))
    steps = PackedSteps.of(lengths, 500)
    run = 32 * sum(steps.pieces)
    assert int(lengths.sum()) <= run < int(lengths.sum()) + 16 * 32
