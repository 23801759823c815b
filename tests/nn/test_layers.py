"""Tests of nn.layers."""

import itertools
import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from dialogist.errors import DataError
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.nn import layers
from dialogist.nn.layers import (
    Dropout,
    LayerNorm,
    MappedEmbedding,
    Positions,
    freeze_rows,
    frozen_rows,
    keep_factors,
    random_bits,
    sinusoids,
)

# Layer norm whose parameters stay fp32 whatever it is given.


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


# Dropout by SplitMix64: what it keeps, how evenly, how independently, how reproducibly.

CPU = torch.device("cpu")
FORMATS = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
TRAINED_IN = [torch.float32, torch.bfloat16]
# Rates whose scale 1 / (1 - rate) every format holds exactly, the largest first.
SCALES = [1.0625, 1.125, 1.25, 1.5, 2, 3, 4, 8, 16, 32]


def kept(rate: float, *shape: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> Tensor:
    """A boolean mask of what one application keeps."""
    torch.manual_seed(seed)
    return Dropout(rate)(torch.ones(*shape, dtype=dtype)) != 0


def assert_unrelated(one: Tensor, other: Tensor) -> None:
    """Two long boolean vectors: a correlation beyond 5.5 deviations has odds of 1 : 10^7."""
    pair = torch.stack([one.flatten(), other.flatten()]).double()
    assert abs(torch.corrcoef(pair)[0, 1].item()) < 5.5 / math.sqrt(one.numel())


# --- what a person sees ---


def test_zero_rate_and_evaluation_change_nothing() -> None:
    x = torch.randn(3, 5)
    assert Dropout(0.0)(x) is x
    assert Dropout(0.5).eval()(x) is x
    assert not torch.equal(Dropout(0.5)(x), x)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("rate", [1 / 256, 0.1, 0.3, 0.5, 0.9])
def test_keep_rate_and_mean(rate: float, dtype: torch.dtype) -> None:
    """Half a percent of 1 / (1 - rate) goes lost in bf16: the rate has to make up for it."""
    torch.manual_seed(1)
    size = 1 << 22
    y = Dropout(rate)(torch.ones(size, dtype=dtype))
    scale = torch.tensor(1 / (1 - rate), dtype=dtype)
    assert torch.equal(y[y != 0].unique(), scale[None])
    probability = min(1.0, 1 / scale.item())
    deviation = math.sqrt(probability * (1 - probability) / size)
    rounding = 2.0**-15  # of the threshold, where there are 15 bits to compare
    assert abs((y != 0).double().mean().item() - probability) <= 5 * deviation + rounding
    assert abs(y.double().mean().item() - 1) <= (5 * deviation + rounding) * scale.item()


def test_a_rate_just_below_one_builds() -> None:
    y = Dropout(0.999)(torch.ones(100_000))
    assert torch.isfinite(y).all()
    assert 0 < (y != 0).float().mean() < 0.01


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_rate_the_scale_cannot_show_keeps_everything(dtype: torch.dtype) -> None:
    x = torch.randn(1000).to(dtype)
    y = Dropout(1e-12)(x)  # in fp64 it may yet drop one in 10^12
    torch.testing.assert_close(y, x)


@pytest.mark.parametrize("dtype", FORMATS)
@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (5,), (7,), (8,), (9,), (3, 5, 7), (2, 0, 3)])
def test_any_number_of_elements(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    y = Dropout(0.5)(torch.ones(shape, dtype=dtype))
    assert y.shape == shape
    assert y.dtype == dtype


def test_any_order_in_memory() -> None:
    x = torch.ones(40, 30).T
    y = Dropout(0.5)(x)
    assert y.shape == (30, 40)
    assert 400 < (y == 2).sum() < 800
    assert ((y == 0) | (y == 2)).all()


@pytest.mark.parametrize("dtype", TRAINED_IN)
def test_gradient_is_the_same_mask_scaled(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.ones(1000, dtype=dtype, requires_grad=True)
    y = Dropout(0.25)(x)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    assert 0 < (x.grad == 0).sum() < 1000


def test_what_is_dropped_is_dropped_even_if_it_is_large_or_negative() -> None:
    torch.manual_seed(0)
    x = torch.tensor([-1e30, 1e30, -2.0, 3.0] * 100)
    y = Dropout(0.5)(x)
    assert torch.equal(y[y != 0], 2 * x[y != 0])
    assert 100 < (y == 0).sum() < 300


# --- reproducible ---


@pytest.mark.parametrize("dtype", TRAINED_IN)
def test_the_seed_and_the_saved_state_govern_it(dtype: torch.dtype) -> None:
    assert torch.equal(kept(0.5, 999, seed=3, dtype=dtype), kept(0.5, 999, seed=3, dtype=dtype))
    assert not torch.equal(kept(0.5, 999, seed=3), kept(0.5, 999, seed=4))
    state = torch.get_rng_state()
    module, x = Dropout(0.5), torch.ones(999, dtype=dtype)
    first, second = module(x), module(x)
    assert not torch.equal(first, second)
    torch.set_rng_state(state)
    assert torch.equal(module(x), first)


def test_what_was_drawn_before_does_not_matter() -> None:
    """Pools are kept between calls: a larger one, of another seed or rate must not show."""
    expected = kept(0.5, 777)
    kept(0.5, 100_000)
    assert torch.equal(kept(0.5, 777), expected)
    kept(0.5, 777, seed=1)
    kept(0.1, 777)
    assert torch.equal(kept(0.5, 777), expected)


def test_windows_of_one_pool_lie_anywhere_in_it() -> None:
    """Small ones see the whole pool: about half of its 16,384 elements are kept at rate 1/2."""
    torch.manual_seed(5)
    windows = [tuple((keep_factors(torch.ones(64), 0.5) != 0).tolist()) for _ in range(2000)]
    assert len(set(windows)) > 1800  # of 16,321 places, some twice


# --- the generator itself ---


def split_mix(seed: int) -> Iterator[int]:
    """Steele, Lea and Flood 2014 (Vigna's ``splitmix64.c``), in Python's unbounded integers."""
    wrap = 2**64 - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & wrap
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & wrap
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & wrap
        yield z ^ (z >> 31)


KNOWN = [  # of seed 1234567
    6457827717110365317,
    3203168211198807973,
    9817491932198370423,
    4593380528125082431,
    16408922859458223821,
]


def unsigned(words: Tensor) -> list[int]:
    return [word % 2**64 for word in words.tolist()]


def test_split_mix_64_known_values() -> None:
    """The first word comes from the seed itself, the reference steps before it mixes."""
    assert list(itertools.islice(split_mix(1234567), 5)) == KNOWN
    assert unsigned(random_bits(48, 1234567, CPU))[1:] == KNOWN


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1, 2**63, 2**64 - 1, -1, -(2**63)])
def test_split_mix_64_from_any_seed(seed: int) -> None:
    words = unsigned(random_bits(8 * 200, seed, CPU))
    assert words == list(itertools.islice(split_mix(seed - 0x9E3779B97F4A7C15), 200))


def test_one_draw_of_torch_governs_a_call_whatever_its_size() -> None:
    after = []
    for count in (1, 8, 100_000):
        torch.manual_seed(0)
        keep_factors(torch.ones(count), 0.1)
        after.append(torch.rand(()).item())
    assert len(set(after)) == 1


@pytest.mark.parametrize(("count", "words"), [(0, 0), (1, 1), (8, 1), (9, 2), (4097, 513)])
def test_enough_bytes_and_no_more(count: int, words: int) -> None:
    assert random_bits(count, 0, CPU).shape == (words,)


def test_all_eight_bytes_of_a_draw_are_uniform_and_unrelated() -> None:
    draws = 1 << 16
    values = random_bits(8 * draws, 0, CPU).view(torch.uint8).view(draws, 8)
    for place in range(8):
        counts = torch.bincount(values[:, place].long(), minlength=256).double()
        expected = draws / 256
        chi_square = ((counts - expected) ** 2 / expected).sum().item()
        # 255 degrees of freedom: mean 255, deviation sqrt(510)
        assert abs(chi_square - 255) < 6 * math.sqrt(510), place
    bits = (values[..., None] >> torch.arange(8)) & 1  # (draws, 8, 8)
    bits = bits.view(draws, 64).double()
    assert (bits.mean(0) - 0.5).abs().max() < 5.5 * 0.5 / math.sqrt(draws)
    correlation = torch.corrcoef(bits.T) - torch.eye(64)
    assert correlation.abs().max() < 5.5 / math.sqrt(draws)
    following = torch.corrcoef(torch.cat([bits[:-1], bits[1:]], dim=1).T)[:64, 64:]
    assert following.abs().max() < 5.5 / math.sqrt(draws)


# --- independent ---


@pytest.mark.parametrize("dtype", TRAINED_IN)
def test_every_place_of_a_word_is_uniform(dtype: torch.dtype) -> None:
    """An element is kept while it is below the threshold: ten rates reveal where it lies."""
    draws, per_word = 20_000, 8 // dtype.itemsize
    masks = [kept(1 - 1 / s, per_word * draws, dtype=dtype) for s in SCALES]
    for rarer, oftener in itertools.pairwise(reversed(masks)):
        assert (oftener | ~rarer).all()  # one number per element, whatever the rate
    bucket = sum(mask.long() for mask in masks).view(draws, per_word)
    limits = torch.tensor([1.0, *(1 / s for s in SCALES), 0.0], dtype=torch.float64)
    expected = draws * -limits.diff()
    for place in range(per_word):
        counts = torch.bincount(bucket[:, place], minlength=len(SCALES) + 1).double()
        chi_square = ((counts - expected) ** 2 / expected).sum().item()
        assert chi_square < 10 + 6 * math.sqrt(20), place  # 10 degrees of freedom


@pytest.mark.parametrize("dtype", TRAINED_IN)
def test_elements_of_a_row_are_uncorrelated(dtype: torch.dtype) -> None:
    rows = 5000
    mask = kept(0.3, rows, 33, dtype=dtype).double()  # 33: rows begin at every place of a word
    correlation = torch.corrcoef(mask.T) - torch.eye(33)
    assert correlation.abs().max() < 5.5 / math.sqrt(rows)
    # nor does a row foretell the next
    following = torch.corrcoef(torch.cat([mask[:-1], mask[1:]], dim=1).T)[:33, 33:]
    assert following.abs().max() < 5.5 / math.sqrt(rows)


@pytest.mark.parametrize("dtype", TRAINED_IN)
def test_neighbours_are_independent_at_any_distance(dtype: torch.dtype) -> None:
    mask = kept(0.1, 500_000, dtype=dtype)
    for distance in (*range(1, 34), 64, 256, 1024, 4096):
        assert_unrelated(mask[distance:], mask[:-distance])


@pytest.mark.parametrize("dtype", TRAINED_IN)
def test_calls_are_independent(dtype: torch.dtype) -> None:
    """Consecutive calls of one generator, and calls under consecutive seeds."""
    torch.manual_seed(0)
    x, module = torch.ones(300_000, dtype=dtype), Dropout(0.1)
    masks = [module(x) != 0 for _ in range(4)]
    masks += [kept(0.1, 300_000, seed=seed, dtype=dtype) for seed in (1, 2, 3)]
    for one, other in itertools.combinations(masks, 2):
        assert_unrelated(one, other)
        assert_unrelated(one[1:], other[:-1])


def test_factors_are_of_the_shape_and_format_asked_for() -> None:
    like = torch.zeros(3, 4, dtype=torch.bfloat16)
    factors = keep_factors(like, 0.5)
    assert factors.shape == like.shape
    assert factors.dtype == like.dtype
    assert set(factors.flatten().tolist()) <= {0.0, 2.0}


@pytest.mark.parametrize("dtype", TRAINED_IN)
def test_adding_what_is_dropped_out_in_one_pass(dtype: torch.dtype) -> None:
    layer, x, residual = Dropout(0.3), torch.randn(50, 8).to(dtype), torch.randn(50, 8).to(dtype)
    torch.manual_seed(3)
    found = layer.added(residual, x)
    torch.manual_seed(3)
    expected = residual.double() + layer(x).double()
    exact = 2**-7 if dtype == torch.bfloat16 else 2**-22  # rounded once or twice
    torch.testing.assert_close(found.double(), expected, atol=exact, rtol=exact)
    assert torch.equal(layer.eval().added(residual, x), residual + x)


def test_a_pool_is_as_large_as_the_one_of_the_batch_before_needed() -> None:
    large, small = torch.empty(200_000), torch.empty(50_000)
    torch.manual_seed(1)
    keep_factors(large, 0.1)
    key = (torch.float32, CPU, 0.1)
    torch.manual_seed(2)
    alone = keep_factors(small, 0.1).clone()
    first = layers._pools[key]
    assert len(first.factors) == 250_000  # at once, so that `large` does not make it anew
    keep_factors(large, 0.1)
    assert layers._pools[key] is first
    layers._pools.clear()
    torch.manual_seed(2)
    assert torch.equal(keep_factors(small, 0.1), alone)  # whatever was before
    torch.manual_seed(3)
    keep_factors(torch.empty(1000), 0.1)
    assert len(layers._pools[key].factors) < 250_000  # batches may become smaller


# Tables that are narrower than the layers they feed (KDD 2019, section 3.3.2).


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


# Positions: sinusoids by hand, odd widths, limits, and the learned table.


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


# Marked rows of a table: which they are, and that the mark stays out of files.


def model_of(share: bool, tie: bool) -> Transformer:
    sizes = {"d_model": 8, "heads": 2, "feed_forward": 8, "encoder_layers": 1, "decoder_layers": 1}
    options = {**sizes, "share_embeddings": share, "tie_output": tie}
    return TransformerConfig.parse(options).build(11)


@pytest.mark.parametrize("tie", [True, False])
def test_rows_are_found_by_the_name_of_their_weight(tie: bool) -> None:
    model = model_of(share=False, tie=tie)
    assert frozen_rows(model) == {}
    freeze_rows(model.target_embedding, torch.tensor([3, 5]))
    found = frozen_rows(model)
    assert list(found) == ["target_embedding.weight"]
    assert found["target_embedding.weight"].tolist() == [3, 5]


def test_a_shared_table_is_one() -> None:
    model = model_of(share=True, tie=True)
    freeze_rows(model.target_embedding, torch.tensor([1]))
    freeze_rows(model.source_embedding, torch.tensor([2]))  # the last word counts
    assert {name: rows.tolist() for name, rows in frozen_rows(model).items()} == {
        "source_embedding.weight": [2]
    }


def test_the_mark_is_not_saved_and_moves_along() -> None:
    table = nn.Embedding(4, 2)
    before = list(table.state_dict())
    freeze_rows(table, torch.tensor([0]))
    assert list(table.state_dict()) == before == ["weight"]
    moved = nn.ModuleDict({"table": table}).to("meta")
    assert frozen_rows(moved)["table.weight"].device.type == "meta"
