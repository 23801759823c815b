"""A decoder of another shape than the encoder, and embeddings that are normalised."""

import pytest
import torch
from tests.models.test_transformer import TINY, batch_of, tiny
from torch import nn

from dialogist.errors import ConfigError
from dialogist.models.model_weights import weights_of
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.nn.layers import Positions

BERT = {
    "norm": "post",
    "activation": "gelu",
    "positions": "learned",
    "norm_eps": 1e-12,
    "embedding_norm": True,
    "scale_embeddings": False,
    "pointer": True,
}
OWN = {
    "narrow": {"heads": 2, "feed_forward": 8},
    "pre-norm": {"norm": "pre", "norm_eps": 1e-6, "activation": "relu"},
    "keys": {"key_width": 5},
}


@pytest.mark.parametrize("own", OWN)
def test_steps_say_what_teacher_forcing_says(own: str) -> None:
    model = tiny(**BERT, decoder=OWN[own]).eval()
    batch = batch_of([6, 6], [5, 5], 20)
    with torch.inference_mode():
        expected = model.forward(batch).log_probs.all().view(2, 5, 20)
        state = model.start(batch)
        for step in range(5):
            found, state = model.step(batch.target_in[:, step], state)
            torch.testing.assert_close(found, expected[:, step], atol=1e-5, rtol=1e-5)


def test_the_decoder_has_its_own_shape_and_the_encoder_keeps_its() -> None:
    model = tiny(**BERT, decoder={"heads": 2, "feed_forward": 8, "norm": "pre"})
    layer, below = model.decoder.layers[0], model.encoder.layers[0]
    assert (layer.self_attention.heads, below.attention.heads) == (2, 3)
    assert layer.cross_attention.query.out_features == 12  # 2 heads of 12 / 2
    assert (layer.feed_forward.inner.out_features, below.feed_forward.inner.out_features) == (8, 20)
    assert (layer.pre_norm, below.pre_norm) == (True, False)
    assert isinstance(model.decoder.final_norm, nn.LayerNorm)
    assert isinstance(model.encoder.final_norm, nn.Identity)


def test_without_the_options_nothing_is_new() -> None:
    """Weights of older models have their places: no name and no shape has changed."""
    plain, spelt = tiny(), tiny(decoder={}, embedding_norm=False)
    assert weights_of(plain).keys() == weights_of(spelt).keys()
    assert not any("positions.norm" in name for name in weights_of(plain))
    added = weights_of(tiny(embedding_norm=True)).keys() - weights_of(plain).keys()
    assert added == {
        f"{s}_positions.norm.{w}" for s in ("source", "target") for w in ("weight", "bias")
    }


def test_embeddings_are_normalised_behind_the_positions() -> None:
    """x + p = (3, 5) has mean 4 and deviation 1: (-1, 1), times 2, plus 0.5."""
    positions = Positions("learned", 4, 2, norm_eps=1e-12)
    assert positions.norm is not None
    with torch.no_grad():
        positions.table[1] = torch.tensor([1.0, 2.0])
        positions.norm.weight.fill_(2.0)
        positions.norm.bias.fill_(0.5)
    found = positions(torch.tensor([[2.0, 3.0]]), torch.tensor([1]))
    torch.testing.assert_close(found, torch.tensor([[-1.5, 2.5]]))


def test_heads_that_do_not_divide_are_named() -> None:
    values = {**TINY.model_dump(), "decoder": {"heads": 5}}
    with pytest.raises(
        ConfigError, match=r"no multiple of 'decoder\.heads' 5: set 'decoder\.key_w"
    ):
        TransformerConfig.parse(values)
    assert isinstance(tiny(decoder={"heads": 5, "key_width": 3}), Transformer)
