"""Tests of tokenizers.special_tokens."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.bert_samples import TEXTS as BERT_TEXTS
from tests.models.bert_samples import vocabulary_file

from dialogist.errors import ConfigError, ModelError
from dialogist.tokenizers import (
    MOST_LABELS,
    PlanTokens,
    Tokenizer,
    TokenizerConfig,
    build_tokenizer,
    placeholder,
    read_tokenizer,
)
from dialogist.tokenizers.special_tokens import (
    entity_placeholder,
    entity_placeholders,
    plan_characters,
)
from dialogist.tokenizers.word_vectors import words_of_entries

# Tokenizers made for entities: one id each, no other id changed, room counted.

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


# Tokens of plans: an id each, no other id changed, and no text has anything to do with them.

PLAN_TEXTS = ["call me back later, please", "the order is late"] * 20
KINDS = pytest.mark.parametrize("kind", ["bpe", "unigram", "word", "wordpiece"])
CHARACTERS = plan_characters(3)


def made(kind: str, folder: Path, labels: int = 3, **options: Any) -> Tokenizer:
    config: dict[str, Any] = {"kind": kind, "size": 400, **options}
    if kind == "wordpiece":
        vocabulary_file(folder)
        config |= {"path": str(folder), "size": None}
    texts = BERT_TEXTS if kind == "wordpiece" else PLAN_TEXTS
    return build_tokenizer(TokenizerConfig.parse(config), texts, labels=labels)


@KINDS
def test_they_are_the_last_ids_and_change_no_other(kind: str, tmp_path: Path) -> None:
    size = {} if kind in ("word", "wordpiece") else {"size": 404}
    tokenizer, without = made(kind, tmp_path, **size), made(kind, tmp_path, labels=0)
    count = len(without)
    assert len(tokenizer) == count + 4
    assert tokenizer.plan_ids() == [*range(count, count + 4)]
    assert tokenizer.plan == tokenizer.symbols.plan == PlanTokens(count, 3)
    assert (without.plan, without.symbols.plan, without.plan_ids()) == (None, None, [])
    assert [tokenizer.encode(t) for t in PLAN_TEXTS] == [without.encode(t) for t in PLAN_TEXTS]
    tokenizer.save(tmp_path)
    assert read_tokenizer(tmp_path).plan == tokenizer.plan
    assert all(words_of_entries(tokenizer)[i] is None for i in tokenizer.plan_ids())


@KINDS
def test_no_text_spells_them_and_none_is_read_from_them(kind: str, tmp_path: Path) -> None:
    tokenizer = made(kind, tmp_path)
    own = set(tokenizer.plan_ids())
    for text in (*CHARACTERS, f"call{CHARACTERS[0]}me", " ".join(CHARACTERS)):
        assert own.isdisjoint(tokenizer.encode(text))
        assert own.isdisjoint(tokenizer.encode_batch([text])[0])
        assert own.isdisjoint(tokenizer.encode_extended(text, {}, grow=True))
    ids = tokenizer.encode("call me")
    assert tokenizer.decode([*own, *ids, *own]) == tokenizer.decode(ids) == "call me"
    assert tokenizer.decode(own) == ""


def test_wordpiece_still_spells_every_character(tmp_path: Path) -> None:
    tokenizer = made("wordpiece", tmp_path)
    text = f"call {CHARACTERS[1]} me"
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_a_pretrained_tokenizer_gains_them_plan_tokens(tmp_path: Path) -> None:
    made("bpe", tmp_path, labels=0).save(tmp_path)
    config = TokenizerConfig(kind="pretrained", path=str(tmp_path))
    tokenizer = build_tokenizer(config, [], labels=3)
    assert tokenizer.plan == PlanTokens(len(tokenizer) - 4, 3)
    assert build_tokenizer(config, []).plan is None
    tokenizer.save(tmp_path)
    assert build_tokenizer(config, [], labels=3).plan == tokenizer.plan
    for labels in (0, 2):
        with pytest.raises(ModelError, match=f"plans of 3 labels, not of {labels}") as caught:
            build_tokenizer(config, [], labels=labels)
        assert "\n" not in str(caught.value)


def test_too_small_a_vocabulary_is_refused_plan_tokens() -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.size must be at least 324 with prep"):
        build_tokenizer(TokenizerConfig(size=323), PLAN_TEXTS, labels=3)
    both = r"at least 532 with preparation\.entities and preparation\.plan on"
    with pytest.raises(ConfigError, match=both):
        build_tokenizer(TokenizerConfig(size=500), PLAN_TEXTS, entities=True, labels=3)


def test_a_damaged_vocabulary_is_refused(tmp_path: Path) -> None:
    made("word", tmp_path, size=None).save(tmp_path)
    path = tmp_path / "tokenizer.json"
    path.write_text(path.read_text(encoding="utf-8").replace(CHARACTERS[1], "x"), encoding="utf-8")
    with pytest.raises(ModelError, match="the tokens of its plan are damaged"):
        read_tokenizer(tmp_path)


PLAN = PlanTokens(border=10, count=3)


def test_a_plan_by_hand() -> None:
    written = PLAN.written([1, 0], [[5, 6], [7]])
    assert written == [12, 11, 10, 5, 6, 10, 7]
    assert PLAN.read(written) == ([1, 0], [(3, 5), (6, 7)])
    assert PLAN.read([12]) == ([1], [])
    assert PLAN.read([12, 10]) == ([1], [(2, 2)])
    assert PLAN.read([]) == ([], [])
    assert list(PLAN.ids) == [10, 11, 12, 13]
    assert len(plan_characters(MOST_LABELS)) == MOST_LABELS + 1


@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 9), max_size=3)), max_size=4))
def test_what_is_written_is_read_again(said: list[tuple[int, list[int]]]) -> None:
    labels, parts = [label for label, _ in said], [ids for _, ids in said]
    written = PLAN.written(labels, parts)
    found, spans = PLAN.read(written)
    assert found == labels
    assert [written[start:end] for start, end in spans] == parts
