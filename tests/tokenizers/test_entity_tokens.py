"""Tokenizers made for entities: one id each, no other id changed, room counted."""

import pytest

from dialogist.errors import ConfigError
from dialogist.tokenizers import (
    TokenizerConfig,
    build_tokenizer,
    placeholder,
    read_tokenizer,
)
from dialogist.tokenizers.special_tokens import entity_placeholder, entity_placeholders

PHONE, TIME = entity_placeholder("PHONE", 1), entity_placeholder("TIME", 16)
EVERY = entity_placeholders()
TEXTS = [f"{placeholder(0)} call {PHONE} at {TIME}, please", "call me back later, please"] * 20


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
def test_every_entity_is_one_id(kind, tmp_path):
    tokenizer = build_tokenizer(TokenizerConfig(kind=kind, size=600), TEXTS, entities=True)
    ids = tokenizer.entity_ids()
    assert list(ids) == EVERY
    assert len(set(ids.values())) == len(EVERY)
    assert max(ids.values()) == len(tokenizer) - 1
    assert len(tokenizer) <= 600
    for character, index in ids.items():
        assert tokenizer.encode(character) == [index]
    text = f"call {PHONE} at {TIME} please"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    glued = tokenizer.encode(f"call{PHONE}please")
    assert ids[PHONE] in glued
    assert tokenizer.unk_id not in tokenizer.encode(f"call,{PHONE},please")
    tokenizer.save(tmp_path)
    assert read_tokenizer(tmp_path).entity_ids() == ids


@pytest.mark.parametrize("kind", ["bpe", "unigram", "word"])
def test_without_them_nothing_changes(kind):
    plain = [text.replace(PHONE, "x").replace(TIME, "y") for text in TEXTS]
    config = TokenizerConfig(kind=kind, size=400 + len(EVERY))
    without = build_tokenizer(TokenizerConfig(kind=kind, size=400), plain)
    with_them = build_tokenizer(config, plain, entities=True)
    assert without.entity_ids() == {}
    assert len(with_them) == len(without) + len(EVERY)
    assert [with_them.encode(t) for t in plain] == [without.encode(t) for t in plain]
    assert with_them.placeholder_ids() == without.placeholder_ids()


def test_a_pretrained_tokenizer_gains_them(tmp_path):
    build_tokenizer(TokenizerConfig(size=400), TEXTS).save(tmp_path)
    config = TokenizerConfig(kind="pretrained", path=str(tmp_path))
    tokenizer = build_tokenizer(config, [], entities=True)
    assert tokenizer.encode(PHONE) == [tokenizer.entity_ids()[PHONE]]
    assert build_tokenizer(config, []).entity_ids() == {}


def test_too_small_a_vocabulary_is_refused():
    with pytest.raises(ConfigError, match=r"tokenizer\.size must be at least 528"):
        build_tokenizer(TokenizerConfig(size=500), TEXTS, entities=True)
