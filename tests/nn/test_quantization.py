"""Matrices in bf16 and int8: by hand, how far off, and that rows do not know each other."""

from pathlib import Path

import pytest
import torch

from dialogist.nn.quantization import (
    Bf16Linear,
    FixedLinear,
    Int8Linear,
    Rows8,
    has_bf16,
    has_int8,
    has_int8_tiles,
)

CPU = torch.device("cpu")


def test_rows_by_hand() -> None:
    rows = Rows8.of(torch.tensor([[1.27, -0.5, 0.004], [0.0, 0.0, 0.0], [-254.0, 127.0, 3.0]]))
    assert rows.values.tolist() == [[127, -50, 0], [0, 0, 0], [-127, 64, 2]]  # 1.5 to even
    assert rows.values.dtype == torch.int8
    torch.testing.assert_close(rows.scales[[0, 2]], torch.tensor([0.01, 2.0]))
    expected = torch.tensor([[1.27, -0.5, 0.0], [0.0, 0.0, 0.0], [-254.0, 128.0, 4.0]])
    torch.testing.assert_close(rows.float(), expected, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_no_element_is_off_by_more_than_half_a_step(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    matrix = (torch.randn(40, 33) * torch.logspace(-3, 2, 40)[:, None]).to(dtype)
    rows = Rows8.of(matrix)
    off = (rows.float() - matrix.float()).abs()
    assert (off <= rows.scales[:, None] * 0.5001).all()
    again = Rows8.of(rows.float())  # what was rounded once stays
    assert torch.equal(again.values, rows.values)


def test_a_product_by_hand() -> None:
    layer = Int8Linear(torch.tensor([[127.0, 0.0], [-64.0, 127.0]]), torch.tensor([0.5, -1.0]))
    x = torch.tensor([[2.54, -1.0], [0.0, 0.0]])  # 127 and -50 steps of 0.02
    expected = torch.tensor([[127 * 2.54 + 0.5, -64 * 2.54 - 127 - 1.0], [0.5, -1.0]])
    torch.testing.assert_close(layer(x), expected, atol=1e-4, rtol=1e-5)


@pytest.mark.skipif(not has_int8(CPU), reason="sums may overflow here: int8 is refused")
def test_close_to_the_exact_product() -> None:
    torch.manual_seed(0)
    weight, bias, x = torch.randn(96, 64) / 8, torch.randn(96), torch.randn(50, 64)
    exact = FixedLinear(weight, bias)(x)
    for given in (x, x.bfloat16()):
        made = Int8Linear(weight, bias)(given)
        assert made.dtype == torch.float32
        error = (made - exact).pow(2).mean() / exact.pow(2).mean()
        assert error < 2e-4  # (relative, squared: 1.4%)


LARGE = (1030, 261)
"""More elements than are left unpacked."""


@pytest.mark.parametrize("shape", [(70, 65), LARGE])
def test_rows_do_not_know_each_other(shape: tuple[int, int]) -> None:
    """Bit for bit, beside neighbours of any size and in any number."""
    torch.manual_seed(0)
    layer = Int8Linear(torch.randn(shape), torch.randn(shape[0]))
    x = (
        torch.randn(300, shape[1]) * torch.logspace(-2, 3, 300)[:, None]
    )  # more than are made at once
    together = layer(x)
    for row in range(0, 300, 7):
        assert torch.equal(layer(x[row : row + 1])[0], together[row])


@pytest.mark.skipif(not has_int8_tiles(CPU), reason="no AMX here: nothing is packed")
@pytest.mark.parametrize("rows", [1, 4, 300])
def test_packed_as_unpacked(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums that units without int32 would not hold, and rows of zeros, are the same."""
    torch.manual_seed(0)
    weight, bias = torch.randn(LARGE).abs(), torch.randn(LARGE[0])
    x = torch.randn(rows, LARGE[1]).abs()
    x[-1] = 0
    packed = Int8Linear(weight, bias)
    assert packed.packed is not None
    assert packed.values is None
    monkeypatch.setattr("dialogist.nn.quantization._can_pack", lambda device: False)
    plain = Int8Linear(weight, bias)
    assert plain.packed is None
    before = x.clone()
    torch.testing.assert_close(packed(x), plain(x), rtol=1e-6, atol=1e-4)
    assert torch.equal(packed(x)[-1], bias)
    assert torch.equal(x, before)


def test_nothing_of_it_is_trained_or_saved() -> None:
    for layer in (
        Int8Linear(torch.eye(3), torch.ones(3)),
        FixedLinear(torch.eye(3), torch.ones(3)),
    ):
        assert list(layer.parameters()) == []
        assert layer.state_dict() == {}


@pytest.mark.parametrize(
    ("text", "units", "tiles"),
    [
        ("flags\t\t: fpu avx512f avx512_vnni\n", True, False),
        ("flags\t\t: fpu avx512_vnni amx_tile amx_int8\n", True, True),
        ("flags : fpu avx2\nflags : avx_vnni\n", False, False),  # the first core's line is read
        ("Features : fp asimd asimddp\n", False, False),
        ("", False, False),
    ],
)
def test_units_are_read_from_cpuinfo(tmp_path: Path, text: str, units: bool, tiles: bool) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(text)
    for has, expected in ((has_int8, units), (has_int8_tiles, tiles)):
        assert has(CPU, path) is expected
        assert not has(CPU, tmp_path / "none")
        assert not has(torch.device("cuda"), path)


@pytest.mark.skipif(not hasattr(torch.ops.onednn, "qlinear_prepack"), reason="torch without oneDNN")
@pytest.mark.parametrize("tiles", [True, False])
def test_only_for_tiles_is_a_matrix_packed(tiles: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """With VNNI alone oneDNN would take a thousand times as long for signed inputs."""
    monkeypatch.setattr("dialogist.nn.quantization.has_int8_tiles", lambda device: tiles)
    layer = Int8Linear(torch.ones(LARGE), torch.zeros(LARGE[0]))
    assert (layer.packed is not None) is tiles


@pytest.mark.skipif(not has_bf16(CPU), reason="elsewhere bf16 is refused (model_folder/bundle.py)")
def test_in_bf16_rows_do_not_know_each_other() -> None:
    torch.manual_seed(0)
    layer = Bf16Linear(torch.randn(64, 1536) * 0.05, torch.randn(64))
    x = torch.randn(300, 1536).to(torch.bfloat16)
    together = layer(x)
    assert together.dtype == torch.bfloat16
    for count in (1, 4, 33, 64, 176):  # 33: a piece of 32, and one of one row
        assert torch.equal(layer(x[:count]), together[:count])
    exact = x.float() @ layer.weight.float().T + layer.bias.float()
    torch.testing.assert_close(together.float(), exact, atol=0.1, rtol=0.01)
