"""Weights by name: out, in, refused where they do not fit, averaged."""

import pytest
import torch
from torch import nn

from dialogist.errors import ModelError
from dialogist.models.model_weights import average_weights, load_weights, take_weights, weights_of
from dialogist.models.transformer import TransformerConfig


def small(seed: int) -> nn.Module:
    torch.manual_seed(seed)
    return TransformerConfig(
        d_model=8,
        heads=2,
        feed_forward=8,
        encoder_layers=1,
        decoder_layers=1,
        source_positions=8,
        target_positions=8,
    ).build(11)


def test_round_trip_with_tied_weights_once() -> None:
    one, other = small(1), small(2)
    weights = weights_of(one)
    assert "source_embedding.weight" in weights
    assert not {"target_embedding.weight", "output.weight"} & weights.keys()
    load_weights(other, weights, "file")
    for name, parameter in other.named_parameters():
        assert torch.equal(parameter, weights[name]), name
    assert other.output.weight is other.source_embedding.weight


def test_half_precision_is_widened() -> None:
    model = small(1)
    half = {name: w.half() for name, w in weights_of(small(2)).items()}
    load_weights(model, half, "file")
    for name, parameter in model.named_parameters():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, half[name].float())


def test_what_does_not_fit_is_named() -> None:
    model = small(1)
    name = "decoder.layers.0.norm3.weight"
    whole = weights_of(small(2))
    cases = {
        "missing": {k: v for k, v in whole.items() if k != name},
        "no place": {**whole, "extra.weight": torch.zeros(1)},
        "shape": {**whole, name: torch.zeros(9)},
    }
    for word, weights in cases.items():
        with pytest.raises(ModelError, match=word) as caught:
            load_weights(model, weights, "some/file")
        message = str(caught.value)
        assert message.startswith("some/file: ")
        assert ("extra.weight" if word == "no place" else name) in message
        assert "\n" not in message


def test_average_by_hand() -> None:
    found = average_weights(
        [
            {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([0.0])},
            {"a": torch.tensor([3.0, 2.0]), "b": torch.tensor([1.0])},
            {"a": torch.tensor([5.0, 5.0]), "b": torch.tensor([5.0])},
        ]
    )
    assert found["a"].tolist() == [3.0, 3.0]
    assert found["b"].tolist() == [2.0]


def test_average_of_one_is_itself() -> None:
    weights = weights_of(small(1))
    for name, value in average_weights([weights]).items():
        assert torch.equal(value, weights[name])


def test_the_average_of_what_never_changed_is_itself() -> None:
    """Three equal numbers, summed in fp32 and divided by three, are often another one."""
    torch.manual_seed(0)
    weights = {"a": torch.randn(1000)}
    assert not torch.equal(torch.stack([weights["a"]] * 3).mean(dim=0), weights["a"])
    assert torch.equal(average_weights([weights] * 3)["a"], weights["a"])


def test_weights_of_the_same_name_are_taken() -> None:
    model, before = small(1), {n: w.clone() for n, w in weights_of(small(1)).items()}
    other = {name: w.half() for name, w in weights_of(small(2)).items()}
    missing = "decoder.layers.0.norm3.weight"
    given = {**{n: w for n, w in other.items() if n != missing}, "pointer.bias": torch.zeros(1)}
    taken = take_weights(model, given, "some/file")
    assert (taken.new, taken.left) == ((missing,), ("pointer.bias",))
    assert set(taken.took) == before.keys() - {missing}
    for name, weight in weights_of(model).items():
        assert weight.dtype == torch.float32
        expected = before[name] if name == missing else other[name].float()
        assert torch.equal(weight, expected), name


def test_what_cannot_be_taken_is_refused() -> None:
    model = small(1)
    before = {name: w.clone() for name, w in weights_of(model).items()}
    name = "output.bias"
    with pytest.raises(ModelError, match=f"some/file: the weight '{name}' has shape"):
        take_weights(model, {name: torch.zeros(9)}, "some/file")
    with pytest.raises(ModelError, match="some/file: has no weight of a name that this model has"):
        take_weights(model, {"table.weight": torch.zeros(9)}, "some/file")
    assert all(torch.equal(w, before[n]) for n, w in weights_of(model).items())
