"""The Transformer with tables narrower than its layers (KDD 2019, section 3.3.2)."""

from pathlib import Path

import pytest
import torch
from bench.uncached_model import UncachedModel
from torch import nn

from dialogist.data.collate import EncodedPair, collate
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.errors import ConfigError
from dialogist.model_folder.bundle import Bundle, load_bundle, save_bundle
from dialogist.models.model_weights import weights_of
from dialogist.models.transformer import Transformer, TransformerConfig
from dialogist.objectives.cross_entropy import CrossEntropy
from dialogist.tensors import Batch
from dialogist.tokenizers import Symbols
from dialogist.tokenizers.build import train_word
from dialogist.training.master_weights import MasterWeights

VOCABULARY = 10
SMALL = {
    "d_model": 12,
    "heads": 3,
    "feed_forward": 20,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.0,
    "attention_output_dropout": 0.0,
    "tie_output": False,
}
FORMS = {
    "shared": {"embedding": 5},
    "separate": {"embedding": 30, "share_embeddings": False, "norm": "post"},
    "reports": {"embedding": 5, "initialisation": "keras", "scale_embeddings": False},
}


def model_of(form: str) -> Transformer:
    torch.manual_seed(0)
    return TransformerConfig.parse({**SMALL, **FORMS[form]}).build(VOCABULARY)


def batch() -> Batch:
    pairs = [EncodedPair((1, 4, 5, 6, 2), (1, 7, 8, 2)), EncodedPair((1, 9, 2), (1, 3, 2))]
    return collate(pairs, Symbols(0, 1, 2))


@pytest.mark.parametrize("form", FORMS)
def test_a_wide_table_of_the_products_is_the_same_model(form: str) -> None:
    """x W^T + b, looked up instead of computed."""
    narrow = model_of(form)
    options = {**SMALL, **FORMS[form], "embedding": None, "share_embeddings": False}
    wide = TransformerConfig.parse(options).build(VOCABULARY)
    for name, module in wide.named_children():
        if "embedding" in name:
            table = getattr(narrow, name)
            module.weight = nn.Parameter(table(torch.arange(VOCABULARY)).detach())
        else:
            module.load_state_dict(getattr(narrow, name).state_dict())
    found, expected = (model.eval().forward(batch()).log_probs.all() for model in (narrow, wide))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("form", FORMS)
def test_cached_is_uncached(form: str) -> None:
    model = model_of(form).eval()
    plain = UncachedModel(model)
    cached, uncached = model.start(batch()), plain.start(batch())
    for tokens in ([1, 1], [7, 3], [8, 4]):
        one, cached = model.step(torch.tensor(tokens), cached)
        other, uncached = plain.step(torch.tensor(tokens), uncached)
        torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def test_who_shares_the_table_shares_the_layer() -> None:
    shared, separate = model_of("shared"), model_of("separate")
    assert shared.source_embedding is shared.target_embedding
    one, other = separate.source_embedding.projection, separate.target_embedding.projection
    assert one is not None
    assert other is not None
    assert one.weight is not other.weight
    assert (one.weight.shape, separate.target_embedding.weight.shape) == ((12, 30), (10, 30))


def test_scaled_embeddings_keep_their_variance() -> None:
    """The products of d_e numbers: 2 d / (d_e + d) by Glorot's rule, 4/3 at half the width."""
    torch.manual_seed(0)
    options = {**SMALL, "d_model": 96, "embedding": 48}
    model = TransformerConfig.parse(options).build(2000)
    variance = model.source_embedding(torch.arange(2000)).var() * 96
    assert variance.item() == pytest.approx(4 / 3, rel=0.05)


def test_an_update_in_bf16() -> None:
    model = model_of("shared")
    weights = MasterWeights(model, torch.bfloat16)
    assert model.source_embedding.weight.dtype == torch.float32
    assert model.source_embedding.projection is not None
    assert model.source_embedding.projection.weight.dtype == torch.bfloat16
    loss = CrossEntropy()(model, batch())
    loss.value.backward()
    weights.collect(add=False)
    assert torch.isfinite(weights.gradient).all()
    for name in ("source_embedding.weight", "source_embedding.projection.weight"):
        assert name in weights.named()


def test_a_model_folder(tmp_path: Path) -> None:
    tokenizer = train_word(["a b c d e f"])
    assert len(tokenizer) == VOCABULARY
    bundle = Bundle(
        model_of("shared"), tokenizer, Preparation(PreparationConfig()), DecodingOptions()
    )
    save_bundle(tmp_path / "m", bundle, "", torch.float32)
    again = load_bundle(tmp_path / "m", torch.device("cpu"))
    assert again.model.config == bundle.model.config
    weights = weights_of(again.model)
    for name, weight in weights_of(bundle.model).items():
        assert torch.equal(weight, weights.pop(name)), name
    assert not weights


def test_tying_needs_equal_widths() -> None:
    with pytest.raises(ConfigError, match="'tie_output' needs 'embedding' 5 to be") as caught:
        TransformerConfig.parse({**SMALL, "embedding": 5, "tie_output": True})
    assert "\n" not in str(caught.value)
    for embedding in (None, 12):
        config = TransformerConfig.parse({**SMALL, "embedding": embedding, "tie_output": True})
        model = config.build(VOCABULARY)
        assert model.output.weight is model.source_embedding.weight
        assert model.source_embedding.projection is None
