"""The Transformer: one step at a time as at once, masks, sizes, start values."""

import math
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.lab_engine.samples import SYMBOLS, copying_pairs, pair, small_model

from dialogist.errors import ConfigError, DataError
from dialogist_lab.data.batching import collate
from dialogist_lab.models.generator import Batch
from dialogist_lab.models.transformer import TransformerConfig
from dialogist_lab.models.transformer_blocks import Dropout, sinusoids
from dialogist_lab.recipe import read_recipe

KINDS: list[dict[str, Any]] = [
    {},
    {"norm": "post", "activation": "gelu", "share_embeddings": False, "tie_output": False},
    {"pointer": True},
    {"norm": "post", "reuse_second_norm": True, "key_width": 16},
    {"embedding": 8, "tie_output": False},
]


@pytest.mark.parametrize("options", KINDS)
def test_stepping_gives_what_teacher_forcing_gives(options: dict[str, Any], batch: Batch) -> None:
    model = small_model(**options)
    with torch.no_grad():
        wanted = model(batch).log_probs.all()
        state, steps = model.start(batch), []
        for tokens in batch.target_in.unbind(dim=1):
            log_probs, state = model.step(tokens, state)
            steps.append(log_probs)
    found = torch.stack(steps, dim=1)[batch.target_mask]
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("options", KINDS)
def test_neighbours_and_padding_do_not_matter(options: dict[str, Any], batch: Batch) -> None:
    model = small_model(**options)
    with torch.no_grad():
        together = model(batch).log_probs.all()
        alone = [model(collate([one], SYMBOLS)).log_probs.all() for one in copying_pairs(3)]
    torch.testing.assert_close(torch.cat(alone), together, rtol=0, atol=1e-5)


def test_a_position_sees_no_later_target(batch: Batch) -> None:
    model = small_model()
    with torch.no_grad():
        before = model(batch).log_probs.all().view(3, 4, -1)
        changed = batch.target_in.clone()
        changed[:, 2] = 39
        other = replace(batch, target_in=changed)
        after = model(other).log_probs.all().view(3, 4, -1)
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.allclose(before[:, 2:], after[:, 2:])


def test_selected_rows_go_on_as_before(batch: Batch) -> None:
    model = small_model(pointer=True)
    rows = torch.tensor([2, 0, 2])
    tokens = torch.tensor([5, 6, 7])
    with torch.no_grad():
        _, state = model.step(tokens, model.start(batch))
        wanted, _ = model.step(tokens, state)
        found, _ = model.step(tokens[rows], state.select(rows))
    torch.testing.assert_close(found, wanted[rows], rtol=0, atol=1e-5)


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


def test_a_pointer_can_say_an_unknown_word() -> None:
    model = small_model(pointer=True)
    source = [5, 40, 6, 41]  # 40 and 41 are not in the vocabulary
    given = collate([pair(source, [41]), pair([7, 8], [9])], SYMBOLS)
    assert given.source[0].tolist() == [2, 5, 1, 6, 1, 3]
    with torch.no_grad():
        outputs = model(given)
        probabilities = outputs.log_probs.all().exp()
    assert probabilities.shape[1] == 42
    torch.testing.assert_close(probabilities.sum(dim=1), torch.ones(len(probabilities)))
    assert probabilities[0, 41] > 1e-4
    assert probabilities[2, 40:].max() < 1e-20, "the other dialogue has no unknown word"
    of_targets = outputs.log_probs.of(outputs.targets).target
    chosen = probabilities.gather(1, outputs.targets[:, None]).log()[:, 0]
    torch.testing.assert_close(of_targets, chosen, rtol=0, atol=1e-5)


def test_a_sequence_beyond_the_positions_is_refused(batch: Batch) -> None:
    model = small_model(source_positions=5)
    with pytest.raises(DataError, match="longer than the model's 5 positions"):
        model(batch)


def test_sinusoids_are_those_of_the_paper() -> None:
    table = sinusoids(12, 6)
    for position, i in ((3, 0), (7, 1), (11, 2)):
        angle = position / 10000 ** (2 * i / 6)
        assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
        assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)


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
