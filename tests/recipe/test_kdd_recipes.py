"""The flat systems of the Leader-Writer paper (KDD 2019, Table 4) differ in the system only."""

import pytest
import torch
from torch import nn

from dialogist.models.transformer import TransformerConfig
from dialogist.recipe.recipe_config import Recipe, bundled_recipes, read_recipe
from dialogist_lab.papers.recurrent import RecurrentConfig

WORDS = 23_950
PARAMETERS = {
    "kdd-seq2seq": 16_493_966,
    "kdd-seq2seq-attention": 17_412_238,
    "kdd-pointer-generator": 17_413_263,
    "kdd-transformer": 13_207_438,
}


def built(recipe: Recipe) -> nn.Module:
    """On the meta device: shapes without numbers."""
    with torch.device("meta"):
        return recipe.model.build(WORDS)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.tokenizer.size == WORDS
    assert sum(p.numel() for p in built(recipe).parameters()) == PARAMETERS[name]


@pytest.mark.parametrize("name", PARAMETERS)
def test_all_but_the_system_is_the_same(name: str) -> None:
    recipe, other = read_recipe(name), read_recipe("kdd-hierarchical-transformer")
    assert recipe.data == other.data
    assert recipe.training == other.training
    assert recipe.validation == other.validation
    assert recipe.decoding == other.decoding
    assert recipe.tokenizer == other.tokenizer
    assert recipe.objective == other.objective
    ours, theirs = recipe.preparation, other.preparation
    assert ours.model_copy(update={"limits": None, "unknown": "token"}) == theirs.model_copy(
        update={"limits": None}
    )
    limits = ours.limits.model_dump() | {"source_tokens": None}
    assert limits == theirs.limits.model_dump()


@pytest.mark.parametrize("name", [name for name in bundled_recipes() if name.startswith("kdd-")])
def test_preprocessing_of_section_4_1(name: str) -> None:
    preparation = read_recipe(name).preparation
    assert preparation.entities == "masked"
    assert preparation.merge_below == 15
    assert preparation.limits.utterance_tokens == 75
    assert preparation.limits.utterances == 40


def test_the_flat_transformer_reads_all_that_the_others_read() -> None:
    recipe = read_recipe("kdd-transformer")
    limits = recipe.preparation.limits
    assert limits.utterance_tokens is not None
    assert limits.utterances is not None
    assert limits.source_tokens == limits.utterance_tokens * limits.utterances + 2
    model = recipe.model
    assert isinstance(model, TransformerConfig)
    assert (model.embedding, model.d_model, model.heads, model.feed_forward) == (128, 256, 4, 512)
    assert (model.encoder_layers, model.decoder_layers) == (3, 3)
    assert (model.norm, model.activation, model.tie_output) == ("post", "gelu", False)


def test_the_pointer_generator() -> None:
    recipe, attentive = read_recipe("kdd-pointer-generator"), read_recipe("kdd-seq2seq-attention")
    assert recipe.preparation.unknown == "copied"
    assert isinstance(recipe.model, RecurrentConfig)
    assert recipe.model == attentive.model.model_copy(update={"pointer": True})
    assert recipe.model.copies


def test_coverage_can_be_switched_on() -> None:
    """As the recipe says: one vector w_c of 256 numbers more."""
    settings = ["model.coverage=true", "objective.coverage_weight=1"]
    recipe = read_recipe("kdd-pointer-generator", settings)
    more = sum(p.numel() for p in built(recipe).parameters()) - PARAMETERS["kdd-pointer-generator"]
    assert more == 256


@pytest.mark.parametrize("name", ["kdd-seq2seq", "kdd-seq2seq-attention", "kdd-transformer"])
def test_without_a_pointer_nothing_is_copied(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.preparation.unknown == "token"
    assert not recipe.model.copies
