"""The largest of many: what torch.topk finds, whatever the width."""

import pytest
import torch

from dialogist.decoding.beam_search import blockwise_topk


@pytest.mark.parametrize("columns", [8, 63, 64, 1000, 2048, 2049, 5000, 32_773])
@pytest.mark.parametrize("count", [1, 2, 8])
def test_as_topk(columns: int, count: int) -> None:
    scores = torch.randn(5, columns, generator=torch.Generator().manual_seed(columns))
    values, places = blockwise_topk(scores, count)
    expected = scores.topk(count, dim=1)
    assert torch.equal(values, expected.values)
    assert torch.equal(places, expected.indices)


def test_few_that_are_possible() -> None:
    """Most of a row is ruled out; with equals every place is still found once."""
    scores = torch.full((2, 4096), float("-inf"))
    scores[0, [7, 8, 4095]] = torch.tensor([1.0, 3.0, 2.0])
    scores[1] = 0.5
    values, places = blockwise_topk(scores, 6)
    assert values[0, :3].tolist() == [3.0, 2.0, 1.0]
    assert places[0, :3].tolist() == [8, 4095, 7]
    assert torch.isneginf(values[0, 3:]).all()
    assert values[1].tolist() == [0.5] * 6
    for row in places.tolist():
        assert len(set(row)) == 6
    assert torch.equal(scores.gather(1, places), values)
