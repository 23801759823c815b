"""Encoder and decoder stacks against `torch.nn`'s own, the reports' shapes, the reused norm."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from dialogist.nn.attention import MultiHeadAttention
from dialogist.nn.kv_cache import LayerCache
from dialogist.nn.packing import Masks, Packing, look_ahead_mask
from dialogist.nn.transformer_layers import (
    DecoderLayer,
    FeedForward,
    LayerShape,
    TransformerDecoder,
    TransformerEncoder,
)

CPU = torch.device("cpu")
FORMS = [("post", "relu"), ("pre", "gelu"), ("post", "gelu"), ("pre", "relu")]
MODERN = LayerShape(
    width=12,
    heads=3,
    key_width=4,
    feed_forward=20,
    dropout=0.0,
    attention_dropout=0.0,
    attention_output_dropout=0.0,
    norm="pre",
    norm_eps=1e-6,
    activation="gelu",
)


def full(batch: int, length: int) -> Packing:
    """Sequences without padding."""
    return Packing.of(torch.ones(batch, length, dtype=torch.bool))


def masks_for(target: Packing, memory: Packing) -> Masks:
    causal = look_ahead_mask(target.width, torch.float32, CPU)
    return Masks(causal, memory.mask(torch.float32))


def randomised(module: nn.Module) -> nn.Module:
    """Norms and biases too start at random: equal defaults would hide a mix-up."""
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.4)
    return module


def attention_pairs(ours: MultiHeadAttention, theirs: nn.MultiheadAttention) -> list:
    joined_weight = [ours.query.weight, ours.key.weight, ours.value.weight]
    joined_bias = [ours.query.bias, ours.key.bias, ours.value.bias]
    return [
        (joined_weight, theirs.in_proj_weight),
        (joined_bias, theirs.in_proj_bias),
        ([ours.output.weight], theirs.out_proj.weight),
        ([ours.output.bias], theirs.out_proj.bias),
    ]


def layer_pairs(ours: nn.Module, theirs: nn.Module) -> list:
    """(our parameters, the torch parameter that holds them one below another)."""
    modules = [(ours.feed_forward.inner, theirs.linear1), (ours.feed_forward.outer, theirs.linear2)]
    modules += [(ours.norm1, theirs.norm1), (ours.norm2, theirs.norm2)]
    if isinstance(ours, DecoderLayer):
        pairs = attention_pairs(ours.self_attention, theirs.self_attn)
        pairs += attention_pairs(ours.cross_attention, theirs.multihead_attn)
        modules.append((ours.norm3, theirs.norm3))
    else:
        pairs = attention_pairs(ours.attention, theirs.self_attn)
    for one, other in modules:
        pairs += [([one.weight], other.weight), ([one.bias], other.bias)]
    return pairs


def stack_pairs(ours: TransformerEncoder | TransformerDecoder, theirs: nn.Module) -> list:
    pairs = [p for a, b in zip(ours.layers, theirs.layers, strict=True) for p in layer_pairs(a, b)]
    if theirs.norm is not None:
        pairs += [([ours.final_norm.weight], theirs.norm.weight)]
        pairs += [([ours.final_norm.bias], theirs.norm.bias)]
    return pairs


def torch_stacks(shape: LayerShape, layers: int) -> tuple[nn.Module, nn.Module]:
    options = {
        "dropout": 0.0,
        "activation": shape.activation,
        "layer_norm_eps": shape.norm_eps,
        "batch_first": True,
        "norm_first": shape.norm == "pre",
    }
    sizes = (shape.width, shape.heads, shape.feed_forward)

    def final() -> nn.Module | None:
        return nn.LayerNorm(shape.width, shape.norm_eps) if shape.norm == "pre" else None

    encoder = nn.TransformerEncoderLayer(*sizes, **options)
    decoder = nn.TransformerDecoderLayer(*sizes, **options)
    return (
        nn.TransformerEncoder(encoder, layers, norm=final(), enable_nested_tensor=False),
        nn.TransformerDecoder(decoder, layers, norm=final()),
    )


@pytest.mark.parametrize(("norm", "activation"), FORMS)
def test_same_numbers_and_gradients_as_torch(norm: str, activation: str) -> None:
    torch.manual_seed(0)
    shape = replace(MODERN, norm=norm, activation=activation)
    encoder, decoder = (
        randomised(TransformerEncoder(2, shape)),
        randomised(TransformerDecoder(2, shape)),
    )
    their_encoder, their_decoder = torch_stacks(shape, 2)
    pairs = stack_pairs(encoder, their_encoder) + stack_pairs(decoder, their_decoder)
    for ours, theirs in pairs:
        theirs.data.copy_(torch.cat(ours).data)
    source, target = torch.randn(3, 7, 12), torch.randn(3, 5, 12)
    real = torch.arange(7) < torch.tensor([[7], [4], [1]])
    said = torch.arange(5) < torch.tensor([[2], [5], [3]])
    hidden = ~real

    sources, targets = Packing.of(real), Packing.of(said)
    memory, _ = encoder(sources.pack(source), sources)
    output, _, _ = decoder(
        targets.pack(target),
        targets,
        decoder.start(memory, sources),
        masks_for(targets, sources),
    )
    their_memory = their_encoder(source, src_key_padding_mask=hidden)
    their_output = their_decoder(
        target,
        their_memory,
        tgt_mask=~torch.ones(5, 5, dtype=torch.bool).tril(),
        memory_key_padding_mask=hidden,
    )
    their_output = their_output[said]
    torch.testing.assert_close(memory, their_memory[real], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(output, their_output, atol=1e-5, rtol=1e-5)

    goal = torch.randn(10, 12)
    (output * goal).mean().backward()
    (their_output * goal).mean().backward()
    for ours, theirs in pairs:
        gradient = torch.cat([parameter.grad for parameter in ours])
        torch.testing.assert_close(gradient, theirs.grad, atol=1e-5, rtol=1e-4)
    assert sum(len(ours) for ours, _ in pairs) == sum(
        1 for stack in (encoder, decoder) for _ in stack.parameters()
    )


def test_decoder_shapes_of_report_2() -> None:
    """Memory (3, 7, 9), x (3, 4), d = 15, 19 heads, FFN 16, 7 layers: 14 named maps."""
    shape = LayerShape(
        width=15,
        heads=19,
        key_width=15,
        feed_forward=16,
        dropout=0.1,
        attention_dropout=0.1,
        attention_output_dropout=0.0,
        norm="post",
        norm_eps=1e-6,
        activation="relu",
        memory_width=9,
    )
    decoder = TransformerDecoder(7, shape)
    target, memory = full(3, 4), full(3, 7)
    caches = decoder.start(torch.randn(3 * 7, 9), memory)
    x, masks = torch.randn(3 * 4, 15), masks_for(target, memory)
    output, _, weights = decoder(x, target, caches, masks, need_weights=True)
    expected = {}  # as wide as the packings; the model cuts them back to (4, 4) and (4, 7)
    for i in range(1, 8):
        expected[f"decoder_layer{i}_block1_self_att"] = (3, 19, target.width, target.width)
        expected[f"decoder_layer{i}_block2_decenc_att"] = (3, 19, target.width, memory.width)
    assert output.shape == (3 * 4, 15)
    assert {name: tuple(w.shape) for name, w in weights.items()} == expected
    assert list(weights) == list(expected)
    assert decoder(x, target, caches, masks)[2] == {}  # nobody asked


def run_layer(layer: DecoderLayer, x: Tensor, memory: Tensor) -> Tensor:
    """(B, T, D), (B, S, D) -> (B, T, D)."""
    target, source = full(*x.shape[:2]), full(*memory.shape[:2])
    cache = LayerCache(layer.cross_attention.project(memory.flatten(0, 1), source))
    output, _, _ = layer(x.flatten(0, 1), target, cache, masks_for(target, source), False)
    return output.view(x.shape)


def normalised(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    mean = x.mean(-1, keepdim=True)
    variance = ((x - mean) ** 2).mean(-1, keepdim=True)
    return (x - mean) / torch.sqrt(variance + 1e-6) * weight + bias


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_reports_2_and_3_use_the_second_norm_twice(norm: str) -> None:
    torch.manual_seed(0)
    layer = randomised(DecoderLayer(replace(MODERN, norm=norm, reuse_second_norm=True)))
    assert layer.norm3 is None
    assert not any("norm3" in name for name, _ in layer.named_parameters())
    x, memory = torch.randn(2, 3, 12), torch.randn(2, 4, 12)
    one = (layer.norm1.weight, layer.norm1.bias)
    two = (layer.norm2.weight, layer.norm2.bias)
    target, source = full(2, 3), full(2, 4)
    masks = masks_for(target, source)

    def block1(y: Tensor) -> Tensor:
        rows = y.flatten(0, 1)
        past = layer.self_attention.project(rows, target)
        return layer.self_attention(rows, target, past, masks.look_ahead)[0].view(y.shape)

    def block2(y: Tensor) -> Tensor:
        known = layer.cross_attention.project(memory.flatten(0, 1), source)
        rows, _ = layer.cross_attention(y.flatten(0, 1), target, known, masks.memory)
        return rows.view(y.shape)

    if norm == "post":
        a = normalised(x + block1(x), *one)
        b = normalised(a + block2(a), *two)
        expected = normalised(layer.feed_forward(b, b), *two)
    else:
        a = x + block1(normalised(x, *one))
        b = a + block2(normalised(a, *two))
        expected = layer.feed_forward(normalised(b, *two), b)
    torch.testing.assert_close(run_layer(layer, x, memory), expected, atol=1e-5, rtol=1e-5)


def test_the_third_norm_matters_where_there_is_one() -> None:
    torch.manual_seed(0)
    layer = randomised(DecoderLayer(replace(MODERN, norm="post")))
    x, memory = torch.randn(2, 3, 12), torch.randn(2, 4, 12)
    before = run_layer(layer, x, memory)
    nn.init.normal_(layer.norm3.weight)
    assert not torch.allclose(before, run_layer(layer, x, memory))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_one_position_at_a_time_gives_the_same(norm: str) -> None:
    torch.manual_seed(0)
    decoder = randomised(TransformerDecoder(2, replace(MODERN, norm=norm)))
    target, source = full(2, 5), Packing.of(torch.arange(4) < torch.tensor([[4], [2]]))
    x, memory = torch.randn(2, 5, 12), source.pack(torch.randn(2, 4, 12))
    masks = masks_for(target, source)
    whole, _, _ = decoder(x.flatten(0, 1), target, decoder.start(memory, source), masks)
    caches, steps = decoder.start(memory, source), []
    single, masks = Packing.single(2, CPU), Masks(None, masks.memory)
    for t in range(5):
        step, caches, weights = decoder(x[:, t], single, caches, masks, need_weights=True)
        steps.append(step)
        assert weights["decoder_layer2_block1_self_att"].shape == (2, 3, 1, t + 1)
        assert caches[0].past.key.shape == (2, 3, t + 1, 4)
    together = torch.stack(steps, dim=1).flatten(0, 1)
    torch.testing.assert_close(together, whole, atol=1e-5, rtol=1e-5)


DROPOUTS = ["dropout", "attention_dropout", "attention_output_dropout", "activation_dropout"]


@pytest.mark.parametrize("where", DROPOUTS)
def test_each_dropout_has_its_place(where: str) -> None:
    torch.manual_seed(0)
    encoder = randomised(TransformerEncoder(1, replace(MODERN, **{where: 0.5})))
    x, packing = torch.randn(4, 12), full(1, 4)
    assert not torch.equal(encoder(x, packing)[0], encoder(x, packing)[0])
    encoder.eval()
    assert torch.equal(encoder(x, packing)[0], encoder(x, packing)[0])


def test_activation_dropout_lies_before_the_second_matrix() -> None:
    """With a second matrix that copies, whole inner units are gone, the others are scaled."""
    torch.manual_seed(0)
    shape = replace(MODERN, activation="relu", feed_forward=MODERN.width, activation_dropout=0.5)
    block = FeedForward(shape)
    with torch.no_grad():
        for layer in (block.inner, block.outer):
            layer.weight.copy_(torch.eye(MODERN.width))
            layer.bias.fill_(1.0)
    x = torch.ones(40, MODERN.width)
    found = block(x, torch.zeros_like(x))
    # relu(1 + 1) dropped or doubled, and the second bias, which dropout leaves alone
    assert set(found.detach().unique().tolist()) == {1.0, 5.0}
    assert set(block.eval()(x, torch.zeros_like(x)).detach().unique().tolist()) == {3.0}


def test_the_format_of_the_layers() -> None:
    encoder = TransformerEncoder(1, MODERN)
    assert encoder.dtype == torch.float32
    assert encoder.to(torch.bfloat16).dtype == torch.bfloat16


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_in_use_an_encoder_computes_what_it_does_in_training(norm: str, short: bool) -> None:
    torch.manual_seed(0)
    encoder = randomised(TransformerEncoder(2, replace(MODERN, norm=norm), short=short))
    packing = Packing.of(torch.arange(40) < torch.tensor([[40], [9], [33]]))
    x = packing.pack(torch.randn(3, 40, 12))
    trained, _ = encoder(x, packing)
    with torch.no_grad():
        _, weights = encoder(x, packing, need_weights=True)
        used, none = encoder.eval()(x, packing)
    torch.testing.assert_close(used, trained.detach())
    assert len(weights) == 2
    assert not none
