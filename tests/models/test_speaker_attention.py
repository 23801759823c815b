"""The Transformer whose attention knows who speaks: search, weights, recipes."""

from dataclasses import replace

import pytest
import torch
from bench.uncached_model import UncachedModel
from tests.models.test_transformer import tiny
from torch import nn

from dialogist.data.collate import EncodedPair, collate
from dialogist.decoding import DecodingOptions
from dialogist.decoding.generation import generate
from dialogist.errors import ConfigError
from dialogist.models.base import set_symbols
from dialogist.models.model_weights import weights_of
from dialogist.models.transformer import Transformer
from dialogist.nn.attention import SpeakerMatch
from dialogist.recipe.recipe_config import read_recipe
from dialogist.tokenizers import Symbols

SYMBOLS = Symbols(0, 1, 2, size=20, speakers=(10, 11), sentence_ends=frozenset((9,)))
PAIRS = [
    EncodedPair((1, 10, 5, 11, 6, 7, 2), (1, 10, 5, 9, 11, 6, 2), starts=(1, 3)),
    EncodedPair((1, 10, 8, 5, 4, 11, 7, 10, 3, 2), (1, 11, 10, 7, 2), starts=(1, 5, 7)),
]
NEW = {
    "pointer.match.weight",
    "decoder.layers.0.cross_attention.match.weight",
    "decoder.layers.1.cross_attention.match.weight",
}


def knowing(**options: object) -> Transformer:
    """With numbers that say something."""
    model = tiny(pointer=True, speaker_attention=True, **options).eval()
    set_symbols(model, SYMBOLS)
    for module in model.modules():
        if isinstance(module, SpeakerMatch):
            nn.init.normal_(module.weight, std=0.1)
    return model


def test_steps_say_what_teacher_forcing_says_when_beams_are_reordered() -> None:
    """Whom a row talks of goes along with it."""
    model, batch = knowing(), collate(PAIRS, SYMBOLS)
    said = torch.tensor([[1, 10, 5], [1, 11, 6], [1, 11, 5], [1, 9, 10]])
    rows = torch.tensor([0, 0, 1, 1])
    turned = torch.tensor([1, 0, 3, 2])
    with torch.inference_mode():
        state = model.start(batch).select(rows)
        for place in range(3):
            found, state = model.step(said[:, place], state)
            if place == 0:  # all rows are alike so far: nothing is lost
                state = state.select(turned).select(turned)
            if place == 1:
                state, said = state.select(turned), said[turned]
        forced = batch.select(rows)
        everything = torch.ones_like(said, dtype=torch.bool)
        forced = replace(forced, target_in=said, target_out=said, target_mask=everything)
        expected = model.forward(forced).log_probs.all().view(4, 3, -1)[:, -1]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("strategy", ["greedy", "beam"])
def test_search_finds_what_it_finds_without_a_cache(strategy: str) -> None:
    options = DecodingOptions(strategy=strategy, beam_size=3, max_tokens=8)
    for seed in range(5):
        model, batch = knowing(seed=seed), collate(PAIRS, SYMBOLS)
        cached = generate(model, batch, options, SYMBOLS)
        assert [[h.tokens for h in one] for one in cached] == [
            [h.tokens for h in one]
            for one in generate(UncachedModel(model), batch, options, SYMBOLS)
        ]


def test_who_is_named_changes_what_is_said_next() -> None:
    """Not through the token alone: with its numbers at zero the same model says something else."""
    model, batch = knowing(), collate(PAIRS, SYMBOLS)
    with torch.inference_mode():
        told = model.forward(batch).log_probs.all()
        for module in model.modules():
            if isinstance(module, SpeakerMatch):
                nn.init.zeros_(module.weight)
        untold = model.forward(batch).log_probs.all()
    changed = (told - untold).abs().amax(dim=1) > 1e-3
    assert changed.tolist() == [False, *[True] * 5, False, *[True] * 3]  # nobody is named at first


def test_it_begins_as_the_model_without() -> None:
    """Its weights can be given to it; the new ones are these, and zero."""
    plain, knows = tiny(pointer=True).eval(), tiny(pointer=True, speaker_attention=True).eval()
    assert weights_of(knows).keys() - weights_of(plain).keys() == NEW
    knows.load_state_dict(plain.state_dict(), strict=False)
    set_symbols(knows, SYMBOLS)
    batch = collate(PAIRS, SYMBOLS)
    with torch.inference_mode():
        expected, found = (m.forward(batch).log_probs.all() for m in (plain, knows))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_all_its_numbers_learn() -> None:
    model = knowing().train()
    outputs = model.forward(collate(PAIRS, SYMBOLS))
    (-outputs.log_probs.of(outputs.targets).target.sum()).backward()  # type: ignore[no-untyped-call]
    for name, parameter in model.named_parameters():
        if name in NEW:
            assert parameter.grad is not None
            assert bool((parameter.grad.abs().amax(dim=0) > 0).all()), name


def test_speakers_must_be_tokens() -> None:
    assignments = ["model.speaker_attention=true", "preparation.speakers=inline"]
    with pytest.raises(ConfigError, match=r"speaker_attention needs preparation\.speakers atomic"):
        read_recipe("dialogsum-small", assignments)
