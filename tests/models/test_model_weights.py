"""Tests of models.model_weights."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from dialogist.data.collate import EncodedPair, collate
from dialogist.errors import ModelError
from dialogist.models.model_weights import (
    average_weights,
    load_weights,
    pack_weights,
    take_weights,
    unpack_weights,
    weights_of,
)
from dialogist.models.transformer import TransformerConfig
from dialogist.tensors import FIRST_KEY_POINT, Batch
from dialogist.tokenizers import Symbols
from dialogist_lab.papers.hierarchical import Hierarchical, HierarchicalConfig
from dialogist_lab.papers.leader_writer import LeaderWriter, LeaderWriterConfig

# Weights by name: out, in, refused where they do not fit, averaged.


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


# Stored weights: what comes back of them, and how large they are.


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


# Attention weights of models that read by utterances: whole rows, no padding, no change.

SYMBOLS = Symbols(0, 1, 2, 3, 20)
A, B = FIRST_KEY_POINT, FIRST_KEY_POINT + 1
SHORT = EncodedPair((1, 5, 6, 7, 2), (1, 9, 10, 2), "short", (1, 3), (A,), (3,))
LONG = EncodedPair(
    (1, *range(4, 17), 2), (1, 9, 8, 7, 6, 5, 2), "long", (1, 2, 9, 10), (A, B, A), (2, 4, 6)
)
SIZES = {"embedding": 6, "width": 8, "heads": 2, "feed_forward": 12, "token_layers": 2}
SIZES |= {"utterance_layers": 2, "decoder_layers": 2, "utterance_tokens": 16, "target_tokens": 12}
POINTER = pytest.mark.parametrize("pointer", [False, True])


def hierarchical(pointer: bool) -> Hierarchical:
    torch.manual_seed(0)
    return HierarchicalConfig.parse({**SIZES, "pointer": pointer}).build(20).eval()


def leader_writer(pointer: bool) -> LeaderWriter:
    torch.manual_seed(0)
    values = {**SIZES, "pointer": pointer, "key_points": 2, "leader_layers": 1}
    return LeaderWriterConfig.parse({**values, "longest_plan": 5}).build(20).eval()


def batch_of(*pairs: EncodedPair) -> Batch:
    return collate(pairs, SYMBOLS)


def sums(weights: Tensor) -> Tensor:
    """Of the rows."""
    return weights.sum(dim=-1)


@POINTER
def test_a_hierarchical_transformer_tells_every_weight(pointer: bool) -> None:
    found = hierarchical(pointer)(batch_of(LONG), need_weights=True).attention
    shapes = {name: tuple(weights.shape) for name, weights in found.items()}
    layers = {
        **{f"token_encoder_layer{i}_self_att": (4, 2, 7, 7) for i in (1, 2)},
        **{f"utterance_encoder_layer{i}_self_att": (1, 2, 4, 4) for i in (1, 2)},
        **{f"decoder_layer{i}_block1_self_att": (1, 2, 6, 6) for i in (1, 2)},
        **{f"decoder_layer{i}_block2_decenc_att": (1, 2, 6, 4) for i in (1, 2)},
    }
    assert shapes == {**layers, "pooling": (4, 1, 1, 7)}
    for name, weights in found.items():
        torch.testing.assert_close(sums(weights), torch.ones_like(sums(weights)), msg=name)


@POINTER
def test_the_writer_and_the_leader_tell_theirs(pointer: bool) -> None:
    outputs = leader_writer(pointer)(batch_of(LONG), need_weights=True)
    leader, writer = outputs.plan.attention, outputs.attention
    assert leader["decoder_layer1_block1_self_att"].shape == (1, 2, 4, 4)  # three and the end
    assert leader["decoder_layer1_block2_decenc_att"].shape == (1, 2, 4, 4)
    assert writer["decoder_layer2_block1_self_att"].shape == (3, 2, 3, 3)  # two words and the end
    assert writer["decoder_layer2_block2_decenc_att"].shape == (3, 2, 3, 4)
    for maps in (leader, writer):
        for weights in maps.values():
            torch.testing.assert_close(sums(weights), torch.ones_like(sums(weights)))


@POINTER
def test_neighbours_and_padding_change_nothing(pointer: bool) -> None:
    """The short dialogue beside a longer one: its own weights, and none on what is not there."""
    model = hierarchical(pointer)
    alone = model(batch_of(SHORT), need_weights=True).attention
    beside = model(batch_of(SHORT, LONG), need_weights=True).attention
    for name, own in alone.items():
        rows = own.shape[0]  # utterances of all dialogues, or dialogues: the first are SHORT's
        lengths = (2, 1) if rows == 2 else (None,)  # its utterances have two tokens and one
        for row, length in enumerate(lengths):
            t, s = own.shape[-2:] if length is None else (length, length)
            t = 1 if name == "pooling" else t
            inside = beside[name][row, :, :t]
            torch.testing.assert_close(inside[..., :s], own[row, :, :t, :s], msg=name)
            assert not inside[..., s:].any(), name


@POINTER
def test_asking_changes_nothing_else(pointer: bool) -> None:
    batch = batch_of(SHORT, LONG)
    model, planner = hierarchical(pointer), leader_writer(pointer)
    plain, asked = model(batch), model(batch, need_weights=True)
    assert plain.attention == {}
    assert torch.equal(plain.log_probs.all(), asked.log_probs.all())
    plain, asked = planner(batch), planner(batch, need_weights=True)
    assert plain.attention == plain.plan.attention == {}
    assert torch.equal(plain.log_probs.all(), asked.log_probs.all())
    assert torch.equal(plain.plan.log_probs.all(), asked.plan.log_probs.all())


def test_serving_never_pays_for_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a pointer, no layer is asked for its weights unless somebody asks the model."""
    asked: list[bool] = []
    model = hierarchical(pointer=False)
    for module in model.modules():
        if type(module).__name__ == "MultiHeadAttention":
            plain = module.forward

            def spy(*given: object, plain=plain) -> object:  # type: ignore[no-untyped-def]
                asked.append(bool(given[-1]))
                return plain(*given)

            monkeypatch.setattr(module, "forward", spy)
    batch = batch_of(SHORT)
    model(batch)
    state = model.start(replace(batch, plan=None))
    model.step(torch.tensor([1]), state)
    assert asked
    assert not any(asked)
    model(batch, need_weights=True)
    assert any(asked)
