"""Tests of training.master_weights."""

import pytest
import torch
from torch import Tensor, nn

from dialogist.errors import ModelError, UsageError
from dialogist.models.model_weights import copy_weights, weights_of
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.nn.output_layer import VocabularyProjection
from dialogist.training import master_weights
from dialogist.training.master_weights import (
    MasterWeights,
    resolve_training_precision,
    working_dtype,
)
from dialogist.training.optimizer import OptimizerConfig

# Number formats: what `auto` picks, what is refused.

CPU = torch.device("cpu")


@pytest.mark.parametrize("capable", [True, False])
def test_auto_takes_what_the_hardware_has(capable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: capable)
    assert resolve_training_precision("auto", CPU) == ("bf16" if capable else "fp32")
    assert resolve_training_precision("fp32", CPU) == "fp32"


def test_bf16_where_there_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: True)
    assert resolve_training_precision("bf16", CPU) == "bf16"
    monkeypatch.setattr(master_weights, "has_bf16", lambda device: False)
    with pytest.raises(UsageError, match="use fp32 or auto"):
        resolve_training_precision("bf16", CPU)


def test_the_hardware_is_asked() -> None:
    assert isinstance(master_weights.has_bf16(CPU), bool)


def test_the_working_format() -> None:
    assert working_dtype("fp32") == torch.float32
    assert working_dtype("bf16") == torch.bfloat16


# Flat master weights: what becomes a view, what bf16, what is decayed, and the way back.

FP32, BF16 = torch.float32, torch.bfloat16
FORMS = {
    "tied": {"share_embeddings": True, "tie_output": True, "positions": "learned"},
    "untied": {"share_embeddings": False, "tie_output": False, "positions": "learned"},
    "fixed positions, output tied alone": {"share_embeddings": False, "tie_output": True},
}


def model_of(form: str = "tied", seed: int = 0) -> Transformer:
    torch.manual_seed(seed)
    sizes = {"d_model": 12, "heads": 3, "feed_forward": 20, "encoder_layers": 1}
    model = TransformerConfig.parse({**sizes, "decoder_layers": 2, **FORMS[form]}).build(23)
    for parameter in model.parameters():  # equal norms and zero biases would hide a mix-up
        nn.init.normal_(parameter, std=0.5)
    return model


def in_linear_layers(model: nn.Module) -> set[str]:
    return {
        f"{path}.{name}"
        for path, module in model.named_modules()
        if isinstance(module, nn.Linear) and not isinstance(module, VocabularyProjection)
        for name in ("weight", "bias")
    }


def within(tensor: Tensor, flat: Tensor) -> bool:
    begin = flat.data_ptr()
    inside = begin <= tensor.data_ptr() < begin + flat.numel() * flat.element_size()
    return inside and tensor.dtype == flat.dtype


# --- taking over ---


@pytest.mark.parametrize("form", FORMS)
def test_parameters_become_views_that_follow_the_master(form: str) -> None:
    model = model_of(form)
    before = {name: w.clone() for name, w in weights_of(model).items()}
    weights = MasterWeights(model, FP32)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name])
        assert within(parameter, weights.master)
    weights.master.mul_(2)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, 2 * before[name])
    assert list(dict(model.named_parameters())) == list(before)


@pytest.mark.parametrize("form", FORMS)
def test_bf16_is_for_plain_linear_layers(form: str) -> None:
    """Embeddings, the output (tied or not), norms and learned positions stay fp32."""
    model = model_of(form)
    before = {name: w.clone() for name, w in weights_of(model).items()}
    weights = MasterWeights(model, BF16)
    formats = {name: p.dtype for name, p in model.named_parameters()}
    assert {name for name, dtype in formats.items() if dtype == BF16} == in_linear_layers(model)
    assert set(formats.values()) == {FP32, BF16}
    assert model.source_embedding.weight.dtype == model.output.weight.dtype == FP32
    assert model.output.bias.dtype == model.decoder.final_norm.weight.dtype == FP32
    assert model.source_positions.table.dtype == FP32
    if "tied" in form.split():
        assert model.output.weight is model.target_embedding.weight
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name].to(parameter.dtype))
        assert torch.equal(weights.named()[name], before[name])  # the master loses nothing
        assert within(parameter, weights.master) == (parameter.dtype == FP32)


def test_a_layer_that_is_tied_to_an_embedding_stays_fp32() -> None:
    model = nn.ModuleDict({"table": nn.Embedding(5, 4), "linear": nn.Linear(4, 5)})
    model["linear"].weight = model["table"].weight
    MasterWeights(model, BF16)
    assert model["linear"].weight.dtype == FP32
    assert model["linear"].bias.dtype == BF16


@pytest.mark.parametrize("working", [FP32, BF16])
@pytest.mark.parametrize("form", FORMS)
def test_what_is_decayed(form: str, working: torch.dtype) -> None:
    """Matrices and embeddings; neither norms nor biases nor tables of positions."""
    model = model_of(form)
    decayed = {
        name
        for name, p in model.named_parameters()
        if p.ndim == 2 and not name.endswith("positions.table")
    }
    weights = MasterWeights(model, working)
    named = weights.named()
    weights.master[: weights.decayed] = 1
    weights.master[weights.decayed :] = 2
    assert {name for name, w in named.items() if (w == 1).all()} == decayed
    assert {name for name, w in named.items() if (w == 2).all()} == named.keys() - decayed
    assert {"source_embedding.weight", "encoder.layers.0.attention.query.weight"} <= decayed


@pytest.mark.parametrize("working", [FP32, BF16])
def test_weights_begin_at_whole_cache_lines_and_do_not_overlap(working: torch.dtype) -> None:
    model = model_of()
    weights = MasterWeights(model, working)
    taken = torch.zeros_like(weights.master)
    for value in weights.named().values():
        begin = value.storage_offset()
        assert begin % 32 == 0
        taken[begin : begin + value.numel()] += 1
    assert taken.max() == 1
    assert (weights.master[taken == 0] == 0).all()
    for parameter in model.parameters():  # bf16 as well: 64 bytes
        assert parameter.storage_offset() % 32 == 0


# --- gradients ---


def backward(model: Transformer, scale: float) -> None:
    """Gradients of every weight but the output's bias, in each weight's own format."""
    for name, parameter in model.named_parameters():
        if name != "output.bias":
            parameter.grad = torch.full_like(parameter, scale)


@pytest.mark.parametrize(("working", "small"), [(FP32, 2.0**-10 + 2.0**-20), (BF16, 2.0**-10)])
def test_gradients_are_collected_and_added_up_in_fp32(working: torch.dtype, small: float) -> None:
    """1 + 2^-10 is no bf16 number: added there, the second batch would be lost."""
    model = model_of()
    weights = MasterWeights(model, working)
    weights.gradient.fill_(7)  # of the update before
    backward(model, 1.0)
    weights.collect(add=False)
    assert all(parameter.grad is None for parameter in model.parameters())
    backward(model, small)
    weights.collect(add=True)
    weights.collect(add=True)  # nothing new, nothing changed
    for view in zip(weights.named().items(), weights._views(weights.gradient), strict=True):
        (name, _), gradient = view
        expected = 0.0 if name == "output.bias" else 1 + small
        assert (gradient == expected).all(), name


def test_each_gradient_goes_to_its_own_weight() -> None:
    model = model_of("untied")
    weights = MasterWeights(model, FP32)
    torch.manual_seed(1)
    expected = {}
    for name, parameter in model.named_parameters():
        parameter.grad = expected[name] = torch.randn_like(parameter)
    weights.collect(add=False)
    weights.master.sub_(weights.gradient)
    fresh = weights_of(model_of("untied"))
    for name, value in weights.named().items():
        assert torch.equal(value, fresh[name] - expected[name])


@pytest.mark.parametrize("limit", [None, 1e-3, 1.0, 1e6])
def test_clipping_is_that_of_torch(limit: float | None) -> None:
    model, plain = model_of(), model_of()
    weights = MasterWeights(model, FP32)
    torch.manual_seed(1)
    for one, other in zip(model.parameters(), plain.parameters(), strict=True):
        one.grad = torch.randn_like(one)
        other.grad = one.grad.clone()
    weights.collect(add=False)
    norm = weights.clip(limit)
    expected = nn.utils.clip_grad_norm_(plain.parameters(), limit or float("inf"))
    assert norm == pytest.approx(expected.item(), rel=1e-5)
    gradients = dict(zip(weights.named(), weights._views(weights.gradient), strict=True))
    for name, parameter in plain.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad, atol=1e-7, rtol=1e-5)


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
def test_a_broken_gradient_shows_in_the_norm(broken: float) -> None:
    model = model_of()
    weights = MasterWeights(model, FP32)
    model.output.bias.grad = torch.full_like(model.output.bias, broken)
    weights.collect(add=False)
    assert not weights.clip(1.0) < float("inf")


# --- casting, and the way back ---


@pytest.mark.parametrize("form", FORMS)
def test_refresh_casts_the_master(form: str) -> None:
    model = model_of(form)
    weights = MasterWeights(model, BF16)
    torch.manual_seed(1)
    for value in weights.named().values():
        value.add_(torch.randn_like(value))
    stale = {name for name, p in model.named_parameters() if p.dtype == BF16}
    assert not any(
        torch.equal(p, weights.named()[n].to(BF16))
        for n, p in model.named_parameters()
        if n in stale
    )
    weights.refresh()
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, weights.named()[name].to(parameter.dtype)), name


def test_updates_too_small_for_bf16_count() -> None:
    model = nn.Sequential(nn.Linear(1, 1, bias=False))
    nn.init.ones_(model[0].weight)
    weights = MasterWeights(model, BF16)
    for _ in range(100):  # 100 x 2^-13: one alone is a 64th of bf16's last place at 1
        weights.named()["0.weight"].add_(2.0**-13)
        weights.refresh()
    assert model[0].weight.item() == pytest.approx(1 + 100 * 2.0**-13, abs=2.0**-8)
    assert model[0].weight.item() > 1


@pytest.mark.parametrize("working", [FP32, BF16])
@pytest.mark.parametrize("form", FORMS)
def test_release_gives_back_the_masters_values_in_fp32(form: str, working: torch.dtype) -> None:
    model = model_of(form)
    weights = MasterWeights(model, working)
    for value in weights.named().values():
        value.add_(0.1234567)
    held = {name: value.clone() for name, value in weights.named().items()}
    weights.release()
    weights.refresh()  # has no say any more
    for name, parameter in model.named_parameters():
        assert parameter.dtype == FP32
        assert torch.equal(parameter, held[name])
    assert (model.output.weight is model.target_embedding.weight) == (form != "untied")
    assert list(model.state_dict()) == list(model_of(form).state_dict())


@pytest.mark.parametrize("working", [FP32, BF16])
def test_named_weights_go_out_and_in(working: torch.dtype) -> None:
    """What a checkpoint holds are the model's own names, shapes and fp32 values."""
    one, other = model_of(seed=1), model_of(seed=2)
    expected = {name: w.clone() for name, w in weights_of(one).items()}
    out, into = MasterWeights(one, working), MasterWeights(other, working)
    assert out.named().keys() == expected.keys()
    assert all(torch.equal(value, expected[name]) for name, value in out.named().items())
    copy_weights(into.named(), out.named(), "file")
    into.refresh()
    for (name, a), b in zip(one.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b), name
    with pytest.raises(ModelError, match="missing"):
        copy_weights(into.named(), {}, "file")


@pytest.mark.parametrize("kind", ["adam", "adamw"])
def test_gaps_between_weights_stay_zero(kind: str) -> None:
    model = model_of()
    weights = MasterWeights(model, BF16)
    used = torch.zeros_like(weights.master, dtype=torch.bool)
    for value in weights.named().values():
        used[value.storage_offset() : value.storage_offset() + value.numel()] = True
    assert not used.all()
    optimizer = OptimizerConfig(kind=kind, weight_decay=0.1).build(weights)
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    before = weights.master.clone()
    for _ in range(3):
        backward(model, 0.3)
        weights.collect(add=False)
        weights.clip(0.5)
        optimizer.step()
        weights.refresh()
    assert (weights.master[~used] == 0).all()
    assert (weights.gradient[~used] == 0).all()
    assert not torch.equal(weights.master, before)


def test_taking_over_draws_no_random_numbers_and_leaves_fixed_tables_alone() -> None:
    model = model_of("fixed positions, output tied alone")
    table = model.source_positions.table.clone()
    state = torch.get_rng_state()
    MasterWeights(model, BF16)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(model.source_positions.table, table)
    assert model.source_positions.table.dtype == FP32
