"""Tables that are narrower than the layers they feed (KDD 2019, section 3.3.2)."""

import torch
from torch import nn

from dialogist.nn.layers import MappedEmbedding


def test_rows_are_mapped() -> None:
    table = MappedEmbedding(10, 3, 5)
    found = table(torch.tensor([[7, 2]]))
    assert found.shape == (1, 2, 5)
    assert table.projection is not None
    expected = table.weight[7] @ table.projection.weight.t() + table.projection.bias
    torch.testing.assert_close(found[0, 0], expected)


def test_of_equal_widths_it_is_a_plain_table() -> None:
    table = MappedEmbedding(10, 3, 3)
    assert [name for name, _ in table.named_parameters()] == ["weight"]
    ids = torch.tensor([4, 4, 0])
    assert torch.equal(table(ids), nn.functional.embedding(ids, table.weight))


def test_the_projection_alone_computes_in_bf16() -> None:
    table = MappedEmbedding(10, 3, 5)
    assert table.projection is not None
    table.projection.to(torch.bfloat16)
    assert table.weight.dtype == torch.float32
    assert table(torch.tensor([1])).dtype == torch.bfloat16
