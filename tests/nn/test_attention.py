"""Attention: the table that the reports print, values by hand, masks, many wide heads."""

import math

import pytest
import torch
from torch import Tensor

from dialogist.nn.attention import (
    BLOCKED,
    KeyValue,
    MultiHeadAttention,
    additive_mask,
    look_ahead_mask,
    padding_mask,
    scaled_dot_product_attention,
)

# d_k = 4; the queries are e1, e2, e3; key 1 answers to e2 (2) and e3 (1), key 5 to e2 (1).
QUERY = torch.eye(4)[:3]
KEY = torch.tensor([[0, 2, 1, 0], [0] * 4, [0] * 4, [0] * 4, [0, 1, 0, 0]], dtype=torch.float32)
VALUE = torch.tensor([[0, 1], [1, 0], [1, 0], [1, 1], [0, 1]], dtype=torch.float32)
ALLOWED = torch.tensor([[1, 1, 0, 1, 1], [1, 0, 1, 1, 1], [1, 0, 0, 1, 1]], dtype=torch.bool)


def report_example() -> tuple[Tensor, Tensor]:
    mask = additive_mask(ALLOWED, torch.float32)
    output, weights = scaled_dot_product_attention(QUERY[None], KEY[None], VALUE[None], mask[None])
    return output[0], weights[0]


def test_the_table_of_the_reports() -> None:
    output, weights = report_example()
    printed = [[0.50, 0.75], [0.31, 0.84], [0.27, 1.00]]
    printed_weights = [
        [0.25, 0.25, 0.00, 0.25, 0.25],
        [0.43, 0.00, 0.16, 0.16, 0.26],
        [0.45, 0.00, 0.00, 0.27, 0.27],
    ]
    assert [[round(x, 2) for x in row] for row in output.tolist()] == printed
    assert [[round(x, 2) for x in row] for row in weights.tolist()] == printed_weights


def test_exact_weights_by_hand() -> None:
    _, weights = report_example()
    # q2: scores (2, -, 0, 0, 1) / sqrt(4);  q3: (1, -, -, 0, 0) / sqrt(4)
    second = torch.tensor([math.e, 0, 1, 1, math.sqrt(math.e)]) / (math.e + 2 + math.sqrt(math.e))
    third = torch.tensor([math.sqrt(math.e), 0, 0, 1, 1]) / (math.sqrt(math.e) + 2)
    torch.testing.assert_close(weights[1], second, atol=1e-7, rtol=0)
    torch.testing.assert_close(weights[2], third, atol=1e-7, rtol=0)


def test_hidden_positions_get_exactly_nothing() -> None:
    _, weights = report_example()
    assert (weights[~ALLOWED] == 0.0).all()
    assert (weights[ALLOWED] > 0.1).all()


def test_no_mask_hides_nothing() -> None:
    _, weights = scaled_dot_product_attention(QUERY, KEY, VALUE)
    assert (weights > 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(3))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_fully_masked_row_stays_finite(dtype: torch.dtype) -> None:
    mask = additive_mask(torch.zeros(3, 5, dtype=torch.bool), dtype)
    query = QUERY.to(dtype, copy=True).requires_grad_()
    output, weights = scaled_dot_product_attention(query, KEY.to(dtype), VALUE.to(dtype), mask)
    output.sum().backward()
    assert torch.isfinite(output).all()
    assert torch.isfinite(query.grad).all()
    torch.testing.assert_close(weights.float().sum(-1), torch.ones(3), atol=0.01, rtol=0)


def test_masks_from_booleans() -> None:
    real = torch.tensor([[True, True, False], [True, False, False]])
    expected = torch.tensor([[0, 0, BLOCKED], [0, BLOCKED, BLOCKED]])
    assert torch.equal(padding_mask(real, torch.float32), expected[:, None, None, :])
    causal = look_ahead_mask(3, torch.float32, torch.device("cpu"))
    rows = [[0, BLOCKED, BLOCKED], [0, 0, BLOCKED], [0, 0, 0]]
    assert torch.equal(causal, torch.tensor(rows)[None, None])


def test_multi_head_by_hand() -> None:
    """Each head is scaled dot-product attention of its own slice; the outputs are joined."""
    torch.manual_seed(0)
    attention = MultiHeadAttention(width=6, heads=3, key_width=5, memory_width=4, dropout=0.0)
    query, memory = torch.randn(2, 7, 6), torch.randn(2, 9, 4)
    mask = padding_mask(torch.arange(9) < torch.tensor([[9], [5]]), torch.float32)
    output, weights = attention(query, attention.project(memory), mask)
    q, k, v = attention.query(query), attention.key(memory), attention.value(memory)
    heads = []
    for head in range(3):
        part = slice(5 * head, 5 * head + 5)
        blended, expected = scaled_dot_product_attention(
            q[..., part], k[..., part], v[..., part], mask[:, 0]
        )
        torch.testing.assert_close(weights[:, head], expected)
        heads.append(blended)
    torch.testing.assert_close(output, attention.output(torch.cat(heads, dim=-1)))
    assert output.shape == (2, 7, 6)
    assert weights.shape == (2, 3, 7, 9)
    assert (weights[1, :, :, 5:] == 0).all()


def test_more_heads_than_width() -> None:
    attention = MultiHeadAttention(width=15, heads=19, key_width=15, memory_width=9, dropout=0.0)
    output, weights = attention(
        torch.randn(3, 4, 15), attention.project(torch.randn(3, 7, 9)), None
    )
    assert output.shape == (3, 4, 15)
    assert weights.shape == (3, 19, 4, 7)


def test_dropout_acts_on_the_blend_and_not_on_the_reported_weights() -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(width=8, heads=2, key_width=4, memory_width=8, dropout=0.5)
    x = torch.randn(1, 6, 8)
    memory = attention.project(x)
    attention.eval()
    calm, calm_weights = attention(x, memory, None)
    attention.train()
    noisy, noisy_weights = attention(x, memory, None)
    assert torch.equal(calm_weights, noisy_weights)
    assert not torch.allclose(calm, noisy, atol=1e-3)


def test_key_value_rows_and_growth() -> None:
    memory = KeyValue(
        torch.arange(12.0).view(3, 1, 2, 2), torch.arange(12.0).view(3, 1, 2, 2) + 100
    )
    chosen = memory.select(torch.tensor([2, 0, 2]))
    assert chosen.key[:, 0, 0, 0].tolist() == [8, 0, 8]
    assert chosen.value[:, 0, 0, 0].tolist() == [108, 100, 108]
    grown = memory.append(memory.select(torch.tensor([1, 1, 1])))
    assert grown.key.shape == (3, 1, 4, 2)
    assert grown.key[0, 0, :, 0].tolist() == [0, 2, 4, 6]
    assert grown.value[0, 0, :, 0].tolist() == [100, 102, 104, 106]
