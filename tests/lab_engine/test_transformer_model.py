"""The Transformer: attention, positions, start values, dropout."""

import math
from typing import Any

import pytest
import torch
from tests.lab_engine.samples import small_model

from dialogist.errors import ConfigError, DataError
from dialogist_lab.models.generator import Batch
from dialogist_lab.models.transformer import TransformerConfig
from dialogist_lab.models.transformer_blocks import Dropout
from dialogist_lab.recipe import read_recipe


def test_attention_weights_have_the_reports_names_and_sum_to_one(batch: Batch) -> None:
    attention = small_model()(batch, need_weights=True).attention
    blocks = ("block1_self_att", "block2_decenc_att")
    decoder = {f"decoder_layer{i}_{block}" for i in (1, 2) for block in blocks}
    assert set(attention) == decoder | {"encoder_layer1_self_att", "encoder_layer2_self_att"}
    for weights in attention.values():
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(weights.shape[:-1]))
    padding = attention["decoder_layer2_block2_decenc_att"].transpose(1, 3)[~batch.source_mask]
    assert padding.numel()
    assert padding.abs().max() == 0


def test_a_sequence_beyond_the_positions_is_refused(batch: Batch) -> None:
    model = small_model(source_positions=5)
    with pytest.raises(DataError, match="longer than the model's 5 positions"):
        model(batch)


def test_keras_start_values() -> None:
    """Embeddings +-0.05; attention by the fans that Keras takes from three axes."""
    torch.manual_seed(1)
    config = read_recipe("dialogsum-report-1").model
    model = config.build(50)
    weights = {name: p.detach() for name, p in model.named_parameters()}
    assert weights["source.table.weight"].abs().max() == pytest.approx(0.05, rel=0.05)
    limit = math.sqrt(6 / (128 * (2 + 128)))
    assert weights["encoder.layers.0.attention.query.weight"].abs().max() == pytest.approx(
        limit, rel=0.01
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"d_model": 10, "heads": 4}, "set 'key_width'"),
        ({"embedding": 8}, "'tie_output' needs 'embedding'"),
        ({"layers": 2}, "unknown key 'layers'"),
    ],
)
def test_configurations_that_make_no_model(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        TransformerConfig.parse(options)


def test_dropout_keeps_the_mean_and_follows_the_seed() -> None:
    dropout = Dropout(0.3).train()
    x = torch.ones(400, 500)
    torch.manual_seed(7)
    dropped = dropout(x)
    assert (dropped == 0).float().mean() == pytest.approx(0.3, abs=0.01)
    assert dropped.mean() == pytest.approx(1, abs=0.01)
    torch.manual_seed(7)
    assert torch.equal(dropout(x), dropped)
    assert not torch.equal(dropout(x), dropped), "a second application draws others"
    torch.manual_seed(8)
    assert not torch.equal(dropout(x), dropped)
    added = dropout.added(x, x)
    assert added.unique().tolist() == pytest.approx([1, 1 + 1 / 0.7])
    assert torch.equal(dropout.eval()(x), x)
