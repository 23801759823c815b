"""The whole network: the reports' shapes and sizes, parity with `torch.nn`, cache, gradients."""

import math
from dataclasses import replace

import pytest
import torch
from bench.uncached_model import UncachedModel
from torch import Tensor, nn

from dialogist.errors import ConfigError, DataError
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.nn.attention import MultiHeadAttention
from dialogist.nn.output_layer import PointerLogProbs
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.recipe.recipe_config import read_recipe
from dialogist.tensors import Batch

TINY = TransformerConfig(
    d_model=12,
    heads=3,
    feed_forward=20,
    encoder_layers=2,
    decoder_layers=2,
    dropout=0.0,
    attention_output_dropout=0.0,
    source_positions=16,
    target_positions=16,
)
MODERN = {"norm": "pre", "activation": "gelu"}
REPORTS = {
    "norm": "post",
    "activation": "relu",
    "share_embeddings": False,
    "tie_output": False,
    "initialisation": "keras",
}


def batch_of(source: list[int], target: list[int], vocabulary: int) -> Batch:
    """Random ids; the arguments are the lengths of the rows, the rest is padding (0)."""
    generator = torch.Generator().manual_seed(5)

    def ids(lengths: list[int]) -> tuple[Tensor, Tensor]:
        mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
        drawn = torch.randint(3, vocabulary, mask.shape, generator=generator)
        return drawn.masked_fill(~mask, 0), mask

    (source_ids, source_mask), (target_ids, target_mask) = ids(source), ids(target)
    return Batch(source_ids, source_mask, target_ids, target_ids.roll(-1, 1), target_mask)


def tiny(seed: int = 0, vocabulary: int = 20, **options: object) -> Transformer:
    torch.manual_seed(seed)
    model = TransformerConfig.parse({**TINY.model_dump(), **options}).build(vocabulary)
    for name, parameter in model.named_parameters():
        if "norm" in name or name.endswith("bias"):
            nn.init.normal_(parameter, mean=float("norm" in name and "weight" in name), std=0.3)
    return model


def test_encoder_shapes_of_report_1() -> None:
    config = replace_config(d_model=16, heads=4, key_width=16, feed_forward=32)
    model = config.build(500)
    memories: list[Tensor] = []
    model.encoder.register_forward_hook(lambda *call: memories.append(call[2][0]))
    weights = model.forward(batch_of([10], [1], 500), need_weights=True).attention
    assert [tuple(memory.shape) for memory in memories] == [(10, 16)]
    shapes = {name: tuple(w.shape) for name, w in weights.items() if name.startswith("encoder")}
    assert shapes == {f"encoder_layer{i}_self_att": (1, 4, 10, 10) for i in (1, 2)}


def replace_config(**options: object) -> TransformerConfig:
    return TransformerConfig.parse({**TINY.model_dump(), **options})


def test_whole_network_shapes_of_report_1() -> None:
    """d = 13, 19 heads, 7 layers, FFN 8, 350 words -> (1, 6, 350)."""
    config = replace_config(
        d_model=13, heads=19, key_width=13, feed_forward=8, encoder_layers=7, decoder_layers=7
    )
    batch = replace(batch_of([6], [6], 350), source=torch.arange(6)[None] + 290)
    model = replace_config(**config.model_dump() | {"share_embeddings": False}).build(350)
    assert model.source_embedding is not model.target_embedding
    outputs = model.eval().forward(batch, need_weights=True)
    table = outputs.log_probs.all()
    assert table.shape == (6, 350)
    torch.testing.assert_close(table.exp().sum(-1), torch.ones(6))
    assert model.forward(batch).attention == {}  # nobody asked
    decoder = {n: tuple(w.shape) for n, w in outputs.attention.items() if n.startswith("decoder")}
    assert decoder == {
        f"decoder_layer{i}_{block}": (1, 19, 6, 6)
        for i in range(1, 8)
        for block in ("block1_self_att", "block2_decenc_att")
    }
    assert len(outputs.attention) == 21


def test_parameter_count_of_report_1() -> None:
    with torch.device("meta"):
        model = read_recipe("dialogsum-report-1").model.build(22_901)
    assert sum(p.numel() for p in model.parameters()) == 9_743_349


def test_sharing_and_tying() -> None:
    shared = tiny(share_embeddings=True, tie_output=True)
    assert shared.output.weight is shared.target_embedding.weight is shared.source_embedding.weight
    untied = tiny(share_embeddings=False, tie_output=False)
    count = {m: sum(p.numel() for p in m.parameters()) for m in (shared, untied)}
    assert count[untied] - count[shared] == 2 * 20 * 12


@pytest.mark.parametrize("options", [MODERN, REPORTS], ids=["modern", "reports"])
def test_same_log_probs_and_gradients_as_torch(options: dict[str, object]) -> None:
    """An independent forward pass: torch.nn.Transformer with our weights, padding and causal."""
    model = tiny(**options)
    batch = batch_of([7, 3, 5], [4, 6, 1], 20)
    theirs = torch_transformer(model)
    real, causal = batch.source_mask, ~torch.ones(6, 6, dtype=torch.bool).tril()
    hidden = theirs(
        embedded(model.source_embedding.weight, batch.source),
        embedded(model.target_embedding.weight, batch.target_in),
        tgt_mask=causal,
        src_key_padding_mask=~real,
        memory_key_padding_mask=~real,
    )
    logits = hidden @ model.output.weight.T + model.output.bias
    expected = logits.log_softmax(-1)[batch.target_mask]
    outputs = model.forward(batch)
    torch.testing.assert_close(outputs.log_probs.all(), expected, atol=1e-5, rtol=1e-5)
    assert torch.equal(outputs.targets, batch.target_out[batch.target_mask])

    outputs.log_probs.of(torch.full_like(outputs.targets, 3)).target.sum().backward()
    ours = model.encoder.layers[0].attention
    gradient = torch.cat([ours.query.weight.grad, ours.key.weight.grad, ours.value.weight.grad])
    embedding_gradient = model.target_embedding.weight.grad.clone()
    model.zero_grad()
    expected[:, 3].sum().backward()
    theirs_gradient = theirs.encoder.layers[0].self_attn.in_proj_weight.grad
    torch.testing.assert_close(gradient, theirs_gradient, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(
        embedding_gradient, model.target_embedding.weight.grad, atol=1e-5, rtol=1e-4
    )


def embedded(table: Tensor, ids: Tensor) -> Tensor:
    """Embedding x sqrt(d) + sinusoids, written out once more, element by element."""
    width = table.shape[1]
    x = table[ids] * math.sqrt(width)
    angles = torch.tensor(
        [
            [pos / 10000 ** (2 * (c // 2) / width) for c in range(width)]
            for pos in range(ids.shape[1])
        ]
    )
    odd = torch.arange(width) % 2 == 1
    return x + torch.where(odd, angles.cos(), angles.sin())


def torch_transformer(model: Transformer) -> nn.Transformer:
    config = model.config
    theirs = nn.Transformer(
        config.d_model,
        config.heads,
        config.encoder_layers,
        config.decoder_layers,
        config.feed_forward,
        dropout=0.0,
        activation=config.activation,
        layer_norm_eps=config.norm_eps,
        batch_first=True,
        norm_first=config.norm == "pre",
        custom_encoder=torch_encoder(config),
    )
    weights = theirs.state_dict()
    for side, stack in (("encoder", model.encoder), ("decoder", model.decoder)):
        for i, layer in enumerate(stack.layers):
            weights |= layer_weights(f"{side}.layers.{i}", layer)
        if config.norm == "pre":
            weights |= plain(f"{side}.norm", stack.final_norm)
        else:
            getattr(theirs, side).norm = None
    if config.norm == "post":
        weights = {name: w for name, w in weights.items() if name in theirs.state_dict()}
    theirs.load_state_dict(weights)
    return theirs


def torch_encoder(config: TransformerConfig) -> nn.TransformerEncoder:
    layer = nn.TransformerEncoderLayer(
        config.d_model,
        config.heads,
        config.feed_forward,
        dropout=0.0,
        activation=config.activation,
        layer_norm_eps=config.norm_eps,
        batch_first=True,
        norm_first=config.norm == "pre",
    )
    norm = nn.LayerNorm(config.d_model, config.norm_eps)
    return nn.TransformerEncoder(layer, config.encoder_layers, norm, enable_nested_tensor=False)


def plain(name: str, module: nn.Module) -> dict[str, Tensor]:
    return {f"{name}.weight": module.weight.data, f"{name}.bias": module.bias.data}


def attention_weights(name: str, ours: MultiHeadAttention) -> dict[str, Tensor]:
    parts = (ours.query, ours.key, ours.value)
    return {
        f"{name}.in_proj_weight": torch.cat([p.weight.data for p in parts]),
        f"{name}.in_proj_bias": torch.cat([p.bias.data for p in parts]),
        **plain(f"{name}.out_proj", ours.output),
    }


def layer_weights(name: str, layer: nn.Module) -> dict[str, Tensor]:
    own = "attention" if hasattr(layer, "attention") else "self_attention"
    weights = attention_weights(f"{name}.self_attn", getattr(layer, own))
    if hasattr(layer, "cross_attention"):
        weights |= attention_weights(f"{name}.multihead_attn", layer.cross_attention)
        weights |= plain(f"{name}.norm3", layer.norm3)
    weights |= plain(f"{name}.linear1", layer.feed_forward.inner)
    weights |= plain(f"{name}.linear2", layer.feed_forward.outer)
    return weights | plain(f"{name}.norm1", layer.norm1) | plain(f"{name}.norm2", layer.norm2)


def test_no_look_into_the_future() -> None:
    model = tiny(**MODERN).eval()
    batch = batch_of([5], [6], 20)
    changed = batch.target_in.clone()
    changed[0, 3:] = (changed[0, 3:] + 1) % 20
    before = model.forward(batch).log_probs.all()
    after = model.forward(replace(batch, target_in=changed)).log_probs.all()
    torch.testing.assert_close(before[:3], after[:3], atol=1e-6, rtol=0)
    assert not torch.allclose(before[3:], after[3:], atol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        MODERN,
        REPORTS,
        {"positions": "learned", "scale_embeddings": False},
        {"norm": "post", "reuse_second_norm": True, "heads": 5, "key_width": 3},
    ],
    ids=["modern", "reports", "learned", "reused"],
)
def test_cached_is_uncached_through_every_selection(options: dict[str, object]) -> None:
    """Rows reordered, repeated across dialogues and dropped: the cache follows."""
    model = tiny(**options).eval()
    batch = batch_of([7, 3, 5], [1, 1, 1], 20)
    plain_model = UncachedModel(model)
    cached, uncached = model.start(batch), plain_model.start(batch)
    chance = torch.Generator().manual_seed(2)
    rows = torch.tensor([0, 0, 1, 1, 2, 2])  # as a beam starts
    with torch.inference_mode():
        for step in range(7):
            cached, uncached = cached.select(rows), uncached.select(rows)
            tokens = torch.randint(3, 20, (len(rows),), generator=chance)
            one, cached = model.step(tokens, cached)
            other, uncached = plain_model.step(tokens, uncached)
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)
            size = len(rows)
            moves = {
                0: torch.tensor([1, 0, 3, 2, 5, 5]),  # within dialogues: memory stays
                1: torch.tensor([5, 2, 0, 0, 3, 4]),  # between dialogues: memory moves
                2: torch.tensor([2, 3, 4, 5]),  # some leave
            }
            rows = moves.get(step, torch.randint(0, size, (size - 1,), generator=chance))
            rows = rows[:size] if len(rows) else torch.zeros(1, dtype=torch.long)


def test_a_summary_longer_than_the_positions_is_refused() -> None:
    model = tiny(target_positions=3).eval()
    assert model.longest_target == 3
    with pytest.raises(DataError, match="3 positions"):
        model.forward(batch_of([4], [4], 20))


def test_width_that_heads_do_not_divide_needs_a_key_width() -> None:
    with pytest.raises(ConfigError, match="key_width"):
        TransformerConfig.parse({"d_model": 13, "heads": 4})
    assert TransformerConfig.parse({"d_model": 13, "heads": 4, "key_width": 13}).build(9)


def test_initial_values() -> None:
    torch.manual_seed(0)
    keras = replace_config(d_model=64, heads=4, **REPORTS).build(400)
    for embedding in (keras.source_embedding, keras.target_embedding):
        assert embedding.weight.abs().max() <= 0.05
        assert embedding.weight.std().item() == pytest.approx(0.1 / math.sqrt(12), rel=0.05)
    limit = math.sqrt(6 / (64 + 20))
    inner = keras.encoder.layers[0].feed_forward.inner
    assert limit * 0.95 < inner.weight.abs().max() <= limit
    assert (inner.bias == 0).all()
    scaled = replace_config(d_model=64, heads=4).build(400)
    assert scaled.source_embedding.weight.std().item() == pytest.approx(1 / 8, rel=0.05)


def test_same_seed_same_weights() -> None:
    one, same, other = tiny(seed=1), tiny(seed=1), tiny(seed=2)
    assert torch.equal(one.output.weight, same.output.weight)
    assert not torch.equal(one.output.weight, other.output.weight)


def test_keras_initial_values_of_attention() -> None:
    """Keras counts fans of 3-axis kernels its own way: limits sqrt(6 / (d (H + k))) and so on."""
    torch.manual_seed(0)
    attention = MultiHeadAttention(128, 2, 128, 128, 0.0)
    attention.initialise_as_keras()
    assert attention.query.weight.abs().max().item() == pytest.approx(
        (6 / (128 * 130)) ** 0.5, rel=1e-3
    )
    assert attention.output.weight.abs().max().item() == pytest.approx(
        (6 / (2 * 256)) ** 0.5, rel=1e-3
    )


# --- coverage of the pointer's attention (See et al. 2017, equation 12) ---


def with_coverage(**options: object) -> tuple[Transformer, Batch]:
    return tiny(pointer=True, coverage=True, **options), batch_of([7, 4], [5, 3], 20)


def test_coverage_by_hand() -> None:
    model, batch = with_coverage()
    outputs = model.eval().forward(batch)
    assert isinstance(outputs.log_probs, PointerLogProbs)
    weights, expected = outputs.log_probs.copies.weights, []
    for rows in weights.split([5, 3]):
        before = torch.zeros(rows.shape[1])
        for row in rows:
            expected.append(torch.minimum(row, before).sum())
            before = before + row
    assert outputs.coverage is not None
    torch.testing.assert_close(outputs.coverage, torch.stack(expected))
    assert outputs.coverage[0] == outputs.coverage[5] == 0, "nothing was attended to before"
    assert tiny(pointer=True).forward(batch).coverage is None


def test_padding_changes_no_coverage() -> None:
    model, batch = with_coverage()
    second = slice(1, 2)
    alone = Batch(
        batch.source[second, :4],
        batch.source_mask[second, :4],
        batch.target_in[second, :3],
        batch.target_out[second, :3],
        batch.target_mask[second, :3],
    )
    together, found = model.eval().forward(batch).coverage, model.forward(alone).coverage
    assert together is not None
    assert found is not None
    torch.testing.assert_close(together[5:], found)


def test_the_coverage_loss_spreads_the_pointers_attention() -> None:
    model, batch = with_coverage()
    objective = CrossEntropy(coverage_weight=5.0)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    repeated = []
    for _ in range(30):
        optimizer.zero_grad()
        loss = objective(model.train(), batch)
        loss.value.backward()
        optimizer.step()
        repeated.append(loss.terms["coverage"])
    assert repeated[-1] < 0.6 * repeated[0]
