"""The recurrent models' options, initial values, model folders, and the paper's recipes."""

from pathlib import Path

import pytest
import torch

from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.decoding import DecodingOptions
from dialogist.engine.bundle import Bundle, load_bundle, save_bundle
from dialogist.errors import ConfigError, ModelError
from dialogist.models.model_weights import weights_of
from dialogist.models.recurrent import RecurrentConfig
from dialogist.recipe.config import read_recipe
from dialogist.tokenizers.build import train_word

VOCABULARY = 20
CPU = torch.device("cpu")
SMALL = {"embedding": 6, "hidden": 4}
FORMS = {
    "plain": {"attention": "none", "cell": "gru", "layers": 2},
    "attention": {"coverage": True, "tie_output": True},
}


def saved(folder: Path, form: str) -> Bundle:
    """A small model, also as a model folder."""
    tokenizer = train_word(["a b c d e f g h i j k l m n o p"])
    assert len(tokenizer) == VOCABULARY
    model = RecurrentConfig.parse({**SMALL, **FORMS[form]}).build(VOCABULARY).eval()
    preparation = Preparation(PreparationConfig.parse({"speakers": "inline"}))
    bundle = Bundle(model, tokenizer, preparation, DecodingOptions())
    save_bundle(folder, bundle, "", torch.float32)
    return bundle


@pytest.mark.parametrize("form", FORMS)
def test_a_model_folder(form: str, tmp_path: Path) -> None:
    bundle = saved(tmp_path / "m", form)
    again = load_bundle(tmp_path / "m", CPU)
    assert again.model.config == bundle.model.config
    weights = weights_of(again.model)
    for name, weight in weights_of(bundle.model).items():
        assert torch.equal(weight, weights.pop(name)), name
    assert not weights


def test_a_model_folder_that_asks_for_too_much_is_refused(tmp_path: Path) -> None:
    """Shapes are compared before anything of that size is made."""
    saved(tmp_path / "m", "attention")
    config = tmp_path / "m" / "config.json"
    config.write_text(config.read_text().replace('"hidden": 4', '"hidden": 8192'))
    with pytest.raises(ModelError, match="has shape") as caught:
        load_bundle(tmp_path / "m", CPU)
    assert "\n" not in str(caught.value)


def test_the_papers_recipes() -> None:
    """KDD 2019, sections 4.1 and 4.3; Table 4 gives 16M and 17M parameters."""
    counts = {}
    for name in ("kdd-seq2seq", "kdd-seq2seq-attention"):
        recipe = read_recipe(name)
        model = recipe.model.build(23_950)
        counts[name] = sum(p.numel() for p in model.parameters())
        limits, training = recipe.preparation.limits, recipe.training
        assert (limits.utterance_tokens, limits.utterances) == (75, 40)
        assert training.sampler.model_dump()["examples"] == 16
        optimizer = training.optimizer
        assert (optimizer.kind, optimizer.betas, optimizer.eps) == ("adam", (0.9, 0.999), 1e-8)
        assert (optimizer.weight_decay, recipe.model.dropout) == (7e-7, 0.1)
        assert {training.schedule.rate(step, 1000) for step in (1, 500, 1000)} == {1e-4}
    assert counts == {"kdd-seq2seq": 16_493_966, "kdd-seq2seq-attention": 17_412_238}


def test_options_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ConfigError, match="'coverage' needs attention"):
        RecurrentConfig.parse({"attention": "none", "coverage": True})
    assert RecurrentConfig().longest_source is RecurrentConfig().longest_target is None
    assert RecurrentConfig.parse(SMALL).build(VOCABULARY).longest_target is None


def test_sharing_and_tying() -> None:
    tied = RecurrentConfig(embedding=6, hidden=4, tie_output=True).build(VOCABULARY)
    assert tied.output.weight is tied.target_embedding.weight is tied.source_embedding.weight
    untied = RecurrentConfig(embedding=6, hidden=4, share_embeddings=False).build(VOCABULARY, 30)
    assert untied.source_embedding.num_embeddings == 30
    assert untied.output.weight.shape == (VOCABULARY, 4)


def test_initial_values() -> None:
    torch.manual_seed(0)
    model = RecurrentConfig(embedding=32, hidden=32, layers=2).build(400)
    assert model.source_embedding.weight.abs().max() <= 0.05
    assert (model.encoder.from_left[1].bias_ih_l0[32:64] == 1).all()
    assert (model.readout.bias == 0).all()
    uniform = RecurrentConfig(embedding=32, hidden=32, initialisation="uniform").build(400)
    for name, parameter in uniform.named_parameters():
        assert 0.04 < parameter.abs().max() <= 0.08, name
