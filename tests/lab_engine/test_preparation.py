"""Dialogues to text, text to ids, and back: profiles, speakers, entities, limits, tokenizers."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.errors import ConfigError, ModelError
from dialogist.records import Dialogue, Utterance
from dialogist_lab.data.batching import encode
from dialogist_lab.data.preparation import EntityTable, Limits, Preparation, PreparationConfig
from dialogist_lab.data.profiles import join, normalise, segment
from dialogist_lab.data.vocabulary import (
    ENTITY_CHARACTERS,
    SPEAKER_CHARACTERS,
    Tokenizer,
    TokenizerConfig,
    read_pipeline,
)

CHAT = Dialogue(
    (
        Utterance("Ann Lee", "Hi Bo, it's 5:30 pm!"),
        Utterance("Ann Lee", "Call me."),
        Utterance("Bo", "Annoying: my number is 555-1234, A."),
    ),
    references=("Ann Lee asks Bo to call.", "Bo gives 555 1234."),
)
A, B = SPEAKER_CHARACTERS[:2]


def prepared(**options: Any) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    example = Preparation(PreparationConfig.parse(options)).prepare(CHAT)
    return [(u.speaker, u.text) for u in example.utterances], example.targets


def test_examples_that_took_long_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = {"speakers": "role", "entities": "masked", "key_points": "customer-service-en"}
    preparation = Preparation(PreparationConfig.parse(config))
    made = preparation.prepare_all([CHAT, CHAT], tmp_path)
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("dialogist_lab.data.preparation.LONG_SECONDS", 0)
    assert preparation.prepare_all([CHAT, CHAT], tmp_path) == made
    assert len(list(tmp_path.iterdir())) == 1
    other = Preparation(PreparationConfig.parse({**config, "merge_below": 15}))
    assert other.prepare_all([CHAT, CHAT], tmp_path) != made
    monkeypatch.setattr(Preparation, "prepare", None)  # nobody prepares again
    shorter = Preparation(PreparationConfig.parse({**config, "limits": {"utterances": 1}}))
    assert shorter.prepare_all([CHAT, CHAT], tmp_path) == made  # limits come later
    assert len(list(tmp_path.iterdir())) == 2


def test_atomic_speakers_are_masked_as_whole_words() -> None:
    utterances, targets = prepared()
    assert utterances[0] == (A, f"Hi {B}, it's 5:30 pm!")
    assert utterances[2] == (B, "Annoying: my number is 555-1234, A.")
    assert targets == (f"{A} asks {B} to call.", f"{B} gives 555 1234.")


def test_inline_speakers_joined_references_and_small_letters_as_in_the_reports() -> None:
    as_reported = {"profile": "dialogsum-keras", "speakers": "inline", "references": "joined"}
    utterances, targets = prepared(**as_reported)
    assert utterances[1] == ("", "ann lee: call me.")
    assert targets == ("ann lee asks bo to call. bo gives 555 1234.",)


def test_short_neighbours_of_one_speaker_are_merged() -> None:
    utterances, _ = prepared(merge_below=15)
    assert utterances[0][1] == f"Hi {B}, it's 5:30 pm! Call me."
    example = Preparation(PreparationConfig(merge_below=15)).prepare(CHAT)
    assert example.origins == ((0, 1), (2,))
    assert len(prepared(merge_below=9)[0]) == 3


def test_roles_who_asks_first_unless_the_data_say_so() -> None:
    utterances, _ = prepared(speakers="role")
    assert [speaker for speaker, _ in utterances] == [A, A, B]
    agent = Dialogue((Utterance("x", "Hello.", "agent"), Utterance("y", "Hi.", "user")))
    example = Preparation(PreparationConfig(speakers="role")).prepare(agent)
    assert [u.speaker for u in example.utterances] == [B, A]


def test_entities_are_masked_by_value_and_come_back() -> None:
    preparation = Preparation(PreparationConfig(entities="masked"))
    example = preparation.prepare(CHAT)
    time, phone = ENTITY_CHARACTERS[0], ENTITY_CHARACTERS[16]
    assert example.utterances[0].text == f"Hi {B}, it's {time}!"
    assert example.utterances[2].text == f"Annoying: my number is {phone}, A."
    assert example.targets[1] == f"{B} gives 555 1234.", "not said so in the dialogue's form"
    text = f"{A} gives {phone} at {time}, {SPEAKER_CHARACTERS[9]}{ENTITY_CHARACTERS[5]}."
    assert preparation.restore(text, example) == "Ann Lee gives 555-1234 at 5:30 pm,  ."


@pytest.mark.parametrize(
    ("texts", "masked"),
    [
        (["order number AB-12345.", "Is AB-12345 paid?"], ["order number O0.", "Is O0 paid?"]),
        (["$5 and 5 dollars, $5"], ["M0 and M1, M0"]),
        (["my plate is THM1129", "THM1129 it is"], ["my plate is P0", "P0 it is"]),
        (["(415) 555-2671 or 4155552671 at 7 a.m., 7am"], ["C0 or C0 at T0, T0"]),
    ],
)
def test_a_value_has_one_mask_however_it_is_written(texts: list[str], masked: list[str]) -> None:
    kinds = {"T": 0, "C": 1, "M": 7, "P": 8, "O": 9}
    table = EntityTable(texts, [])
    places = {ENTITY_CHARACTERS[16 * k + n]: f"{c}{n}" for c, k in kinds.items() for n in range(3)}
    shown = ["".join(places.get(c, c) for c in table.mask(text)) for text in texts]
    assert shown == masked
    for character, words in table.surfaces.items():
        assert any(words in text for text in texts), character


@pytest.mark.parametrize(
    ("profile", "text", "wanted"),
    [
        ("plain", " A\u0000 caf\u0065\u0301\n!", "A caf\u00e9 !"),
        ("dialogsum-keras", "It's\tNOON!", "it's noon!"),
        ("xsum-report", "It's 5% (of Ä)!", "its 5% of ä!"),
    ],
)
def test_profiles(profile: Any, text: str, wanted: str) -> None:
    assert normalise(text, profile) == wanted


@given(st.text(max_size=80))
def test_normalising_twice_changes_nothing_and_marks_go_back_to_their_words(text: str) -> None:
    for profile in ("plain", "dialogsum-keras", "xsum-report"):
        once = normalise(text, profile)
        assert normalise(once, profile) == once
    plain = normalise(text, "plain")
    if not any(0xE000 <= ord(c) < 0xE080 or c in "\uffed■" or ord(c) > 0xEFFFF for c in plain):
        assert join(segment(plain, "words"), "words") == plain


def test_words_are_segmented_for_a_word_tokenizer() -> None:
    assert segment("Hello, New York.", "words").translate({0xE02C: ",", 0xE02E: "."}) == (
        "Hello \uffed, New York \uffed."
    )


def test_word_ids_are_those_of_keras() -> None:
    """By falling frequency, ties by first appearance; [SOS] and [EOS] count once a text."""
    tokenizer = TokenizerConfig(kind="word", size=None).build(["b a, b!", "c a b"])
    entries = [tokenizer.token(i) for i in range(len(tokenizer))]
    assert entries == ["[PAD]", "[UNK]", "b", "[SOS]", "a", "[EOS]", "c"]
    assert tokenizer.encode("a (b) [SOS] zebra") == [4, 2, 1, 1], "no control symbol from a text"
    unknown: dict[str, int] = {}
    assert tokenizer.encode("x a y x", unknown) == [7, 4, 8, 7]
    assert tokenizer.encode("y z", unknown, grow=False) == [8, 1]
    assert tokenizer.decode([3, 2, 8, 5], ["x", "y"]) == "b y"


def test_rare_words_stay_out() -> None:
    texts = ["a b c d"] * 3 + ["e " * 2 + "f"]
    tokenizer = TokenizerConfig(kind="word", size=None, min_count=3).build(texts, speakers=True)
    assert tokenizer.encode("a e") == [tokenizer.encode("a")[0], 1]
    assert len(tokenizer) == 4 + 4 + 32


@pytest.mark.parametrize("content", [None, '{"version": "1.0"'])
def test_a_damaged_tokenizer_is_refused_in_a_line(content: str | None, tmp_path: Any) -> None:
    path = tmp_path / "tokenizer.json"
    if content is None:
        os.mkfifo(path)  # a pipe would be waited for
    else:
        path.write_text(content)
    with pytest.raises(ModelError, match="is no usable"):
        read_pipeline(path)


@pytest.mark.parametrize("kind", ["bpe", "unigram"])
def test_subwords_bring_every_text_back(kind: Any, tmp_path: Any) -> None:
    texts = [f"{A} told the {B} story of the old town again {i}" for i in range(40)]
    config = TokenizerConfig(kind=kind, size=420)
    tokenizer = config.build(texts)
    tokenizer.save(tmp_path / "tokenizer.json")
    again = Tokenizer(read_pipeline(tmp_path / "tokenizer.json"))
    for text in (*texts[:2], f"Zoë 😀 {A}'s 联系", "</s> <pad> told"):
        ids = tokenizer.encode(text)
        assert tokenizer.decode(ids) == text
        assert again.encode(text) == ids
        assert not {tokenizer.symbols.pad, tokenizer.symbols.eos} & set(ids)
    assert tokenizer.encode(A) == [tokenizer.symbols.placeholders[0]]
    assert config.build(texts).encode(texts[3]) == tokenizer.encode(texts[3])


def test_a_vocabulary_needs_room_for_what_it_must_hold() -> None:
    with pytest.raises(ConfigError, match=r"tokenizer\.size must be at least"):
        TokenizerConfig(kind="bpe", size=330).build([], entities=True)


LIMITED: list[tuple[dict[str, Any], list[int], list[int]]] = [
    ({}, [0, 4, 5, 6, 7, 8, 9, 1], [0, 4, 5, 6, 1]),
    ({"source_tokens": 5, "summary_tokens": 4}, [0, 4, 5, 6, 1], [0, 4, 5, 1]),
    ({"source_tokens": 5, "summary_tokens": 4, "keep_end": False}, [0, 4, 5, 6, 7], [0, 4, 5, 6]),
    ({"utterance_tokens": 2}, [0, 4, 5, 8, 9, 1], [0, 4, 5, 6, 1]),
    ({"utterances": 1}, [0, 4, 5, 6, 7, 1], [0, 4, 5, 6, 1]),
]


@pytest.mark.parametrize(("limits", "source", "target"), LIMITED)
def test_limits_cut_and_cuts_are_counted(
    limits: dict[str, Any], source: list[int], target: list[int]
) -> None:
    dialogue = Dialogue((Utterance("", "a b c d"), Utterance("", "e f")), references=("a b c",))
    example = Preparation(PreparationConfig(speakers="inline")).prepare(dialogue)
    tokenizer = TokenizerConfig(kind="word", size=None).build(["a b c d e f"])
    names = ["[SOS]", "[EOS]", "[PAD]", "[UNK]", "a", "b", "c", "d", "e", "f"]
    encoded = encode(example, tokenizer, Limits.parse(limits))
    (pair,) = encoded.pairs
    assert [names.index(tokenizer.token(i)) for i in pair.source] == source
    assert [names.index(tokenizer.token(i)) for i in pair.target] == target
    assert encoded.tokens == 6
    assert encoded.tokens_read == sum(index >= 4 for index in source)
    assert encoded.summaries_cut == (sum(index >= 4 for index in target) < 3)


def test_sub_summaries_are_cut_with_their_key_points() -> None:
    class Pack:
        labels = ("question", "answer", "end")

        def analyse(self, summary: str, section: str = "") -> list[Any]:
            parts = zip(self.labels, summary.split("|"), strict=True)
            return [type("Part", (), {"label": label, "text": text}) for label, text in parts]

    dialogue = Dialogue((Utterance("", "a"),), references=("a b|c d|e",))
    preparation = Preparation(PreparationConfig(speakers="inline"))
    preparation.pack = Pack()
    example = preparation.prepare(dialogue)
    tokenizer = TokenizerConfig(kind="word", size=None).build(["a b c d e"])
    (pair,) = encode(example, tokenizer, Limits(), Pack.labels).pairs
    assert (pair.key_points, pair.ends) == ((3, 4, 5), (3, 5, 6))
    (pair,) = encode(example, tokenizer, Limits(summary_tokens=5), Pack.labels).pairs
    assert (pair.key_points, pair.ends) == ((3, 4), (3, 4))
    (pair,) = encode(example, tokenizer, Limits(sub_summary_tokens=1), Pack.labels).pairs
    assert (len(pair.target), pair.ends) == (5, (2, 3, 4))
