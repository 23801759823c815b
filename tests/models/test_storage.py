"""Stored weights: what comes back of them, and how large they are."""

import pytest
import torch

from dialogist.errors import ModelError
from dialogist.models.model_weights import pack_weights, unpack_weights


def weights() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return {
        "table.weight": torch.randn(300, 32),
        "layer.weight": torch.randn(48, 32).t(),  # not contiguous
        "gate.weight": torch.randn(1, 64),
        "norm.weight": torch.ones(32),
        "odd.scale": torch.randn(32),  # a weight that is called so
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_floating_point_formats_are_casts(dtype: torch.dtype) -> None:
    stored = pack_weights(weights(), dtype)
    assert all(tensor.is_contiguous() for tensor in stored.values())
    back = unpack_weights(stored, "m")
    assert list(back) == list(weights())
    for name, weight in weights().items():
        assert torch.equal(back[name], weight.to(dtype))


def test_large_matrices_become_int8() -> None:
    stored = pack_weights(weights(), torch.int8)
    kinds = {name: tensor.dtype for name, tensor in stored.items()}
    assert kinds["table.weight"] == kinds["layer.weight"] == torch.int8
    assert stored["table.weight.scale"].shape == (300,)
    assert kinds["gate.weight"] == kinds["norm.weight"] == kinds["odd.scale"] == torch.float16
    size = sum(tensor.numel() * tensor.element_size() for tensor in stored.values())
    assert size == (300 * 32 + 300 * 4) + (32 * 48 + 32 * 4) + 2 * (64 + 32 + 32)
    back = unpack_weights(stored, "m")
    assert back.keys() == weights().keys()
    for name, weight in weights().items():
        limit = weight.abs().amax() / 127 / 2 * 1.001
        assert (back[name].float() - weight).abs().max() <= limit


@pytest.mark.parametrize("scale", [None, torch.ones(299), torch.ones(300, 1)])
def test_scales_that_do_not_fit_are_refused(scale: torch.Tensor | None) -> None:
    stored = pack_weights(weights(), torch.int8)
    del stored["table.weight.scale"]
    if scale is not None:
        stored["table.weight.scale"] = scale
    with pytest.raises(ModelError, match=r"folder/f: .*'table.weight' has no scale for each row"):
        unpack_weights(stored, "folder/f")
