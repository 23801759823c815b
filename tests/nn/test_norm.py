"""Layer norm whose parameters stay fp32 whatever it is given."""

import pytest
import torch
from torch import nn

from dialogist.nn.layers import LayerNorm


def norm(width: int = 24) -> LayerNorm:
    torch.manual_seed(0)
    made = LayerNorm(width, eps=1e-6)
    nn.init.normal_(made.weight, 1.0, 0.3)
    nn.init.normal_(made.bias, 0.0, 0.3)
    return made


def test_by_hand() -> None:
    made = norm()
    x = torch.randn(5, 24) * 3 + 1
    centred = x - x.mean(-1, keepdim=True)
    expected = centred / ((centred**2).mean(-1, keepdim=True) + 1e-6).sqrt()
    torch.testing.assert_close(made(x), expected * made.weight + made.bias, atol=1e-5, rtol=1e-5)


def test_bf16_is_the_fp32_result_rounded_once() -> None:
    made = norm()
    x = torch.randn(5, 24).to(torch.bfloat16)
    y = made(x)
    assert y.dtype == torch.bfloat16
    # bf16 has 8 significant bits: half of the last one is 2^-9 of the number
    torch.testing.assert_close(y.float(), made(x.float()), atol=1e-4, rtol=2**-8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_of_the_parameters_stay_fp32(dtype: torch.dtype) -> None:
    made, plain = norm(), nn.LayerNorm(24, eps=1e-6)
    plain.load_state_dict(made.state_dict())
    x, goal = torch.randn(40, 24).to(dtype), torch.randn(40, 24)
    one, other = x.clone().requires_grad_(), x.float().requires_grad_()
    (made(one) * goal).sum().backward()
    (plain(other) * goal).sum().backward()
    assert one.grad.dtype == dtype
    assert made.weight.grad.dtype == made.bias.grad.dtype == torch.float32
    close = {"atol": 1e-5, "rtol": 1e-4} if dtype == torch.float32 else {"atol": 0.1, "rtol": 0.02}
    torch.testing.assert_close(made.weight.grad, plain.weight.grad, **close)
    torch.testing.assert_close(made.bias.grad, plain.bias.grad, **close)
    torch.testing.assert_close(one.grad.float(), other.grad, **close)
