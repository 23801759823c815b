"""Other names, exchanged speakers, corrupted summaries: what changes, and that it is consistent."""

import re

import pytest
from tests.learning import pairs_of_all

from dialogist.data.chance import Chance
from dialogist.data.changes import (
    Corruption,
    CorruptionConfig,
    ExchangeSpeakers,
    Rename,
    reencoded,
    spelled_dialogue,
    summary_of,
)
from dialogist.data.collate import EncodedPair
from dialogist.data.encode import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.records import Dialogue, Utterance
from dialogist.language.people import first_names, same_person, surnames
from dialogist.tokenizers import Tokenizer, TokenizerConfig, build_tokenizer, placeholder

ANN, BO = placeholder(0), placeholder(1)
LIMITS = Limits(source_tokens=200, summary_tokens=80)
TALKS = [
    (("Tom told me that Mr. Smith left at 3.", "Did Tom go, too?"), "Ann says Tom saw Smith at 3."),
    (("Lucy is with Dr. Brown.", "And Peter?"), "Ann tells Bo about Lucy."),
    (("I met Helen on Monday.", "With Miss Green?"), "Ann met Helen on Monday."),
]


def dialogue(texts: tuple[str, ...], summary: str) -> Dialogue:
    spoken = tuple(Utterance(("Ann", "Bo")[i % 2], text) for i, text in enumerate(texts))
    return Dialogue(spoken, references=(summary,))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    texts = [text for talk, summary in TALKS for text in (*talk, summary)]
    return build_tokenizer(TokenizerConfig(size=400), texts * 3)


@pytest.fixture(scope="module")
def pairs(tokenizer: Tokenizer) -> list[EncodedPair]:
    preparation = Preparation(PreparationConfig(limits=LIMITS))
    examples = [preparation.prepare(dialogue(*talk)) for talk in TALKS]
    return pairs_of_all([preparation.encode(example, tokenizer) for example in examples])


def speakers(tokenizer: Tokenizer) -> frozenset[int]:
    return frozenset(tokenizer.placeholder_ids())


def spelled(pair: EncodedPair, tokenizer: Tokenizer) -> list[str]:
    said = spelled_dialogue(pair, tokenizer, speakers(tokenizer)).utterances
    return [*(u.text for u in said), summary_of(pair, tokenizer)]


def test_ids_spell_what_was_said(tokenizer: Tokenizer, pairs: list[EncodedPair]) -> None:
    talk = spelled_dialogue(pairs[0], tokenizer, speakers(tokenizer))
    assert [u.speaker for u in talk.utterances] == [ANN, BO]
    assert [u.text for u in talk.utterances] == list(TALKS[0][0])
    assert summary_of(pairs[0], tokenizer) == f"{ANN} says Tom saw Smith at 3."
    assert reencoded(summary_of(pairs[0], tokenizer), tokenizer) == pairs[0].target


def test_who_is_named() -> None:
    text = "Will Tom go? I told Will that Mark and Mom met Mrs. Hudson. Mark my words."
    assert first_names(text) == ["Tom", "Will", "Mark"]  # not where it may be a word; not Mom
    assert surnames(text) == ["Hudson"]
    assert same_person("Tom", "Thomas")
    assert not same_person("Tom", "Lucy")


def test_names_change_everywhere_alike(tokenizer: Tokenizer, pairs: list[EncodedPair]) -> None:
    rename = Rename(1.0, tokenizer, pairs, LIMITS)
    assert rename.pools == (["Helen", "Lucy", "Peter", "Tom"], ["Brown", "Green", "Smith"])
    seen = set()
    for seed in range(20):
        found = spelled(rename(pairs[0], Chance(seed)), tokenizer)
        form = r"(\w+) told me that Mr. (\w+) left at 3.;Did (\w+) go, too?;"
        form += r". says (\w+) saw (\w+) at 3."
        match = re.fullmatch(form.replace("?;", r"\?;"), ";".join(found))
        assert match is not None, found
        first, last, again, in_summary, last_in_summary = match.groups()
        assert first == again == in_summary
        assert last == last_in_summary
        assert first in {"Helen", "Lucy", "Peter"}
        assert last in {"Brown", "Green"}
        seen.add((first, last))
    assert len(seen) == 6


def test_what_has_no_name_or_no_room_stays(tokenizer: Tokenizer, pairs: list[EncodedPair]) -> None:
    assert Rename(0.0, tokenizer, pairs, LIMITS)(pairs[0], Chance(0)) is pairs[0]
    narrow = Limits(source_tokens=3, summary_tokens=3)
    assert Rename(1.0, tokenizer, pairs, narrow)(pairs[0], Chance(0)) is pairs[0]
    alone = Rename(1.0, tokenizer, pairs[:1], LIMITS)  # no other name is known
    assert alone(pairs[0], Chance(0)) is pairs[0]


def test_one_person_by_two_names_is_left_alone(
    tokenizer: Tokenizer, pairs: list[EncodedPair]
) -> None:
    preparation = Preparation(PreparationConfig(limits=LIMITS))
    talk = dialogue(("Is Thomas here?", "Tom is, with Lucy."), "Tom and Lucy are here.")
    (pair,) = pairs_of_all([preparation.encode(preparation.prepare(talk), tokenizer)])
    found = spelled(Rename(1.0, tokenizer, pairs, LIMITS)(pair, Chance(1)), tokenizer)
    assert found[0] == "Is Thomas here?"
    assert found[2] in ("Tom and Helen are here.", "Tom and Peter are here.")


def test_utterances_without_a_name_keep_their_ids(
    tokenizer: Tokenizer, pairs: list[EncodedPair]
) -> None:
    changed = Rename(1.0, tokenizer, pairs, LIMITS)(pairs[1], Chance(3))
    assert len(changed.starts) == len(pairs[1].starts)
    assert changed.source[-1] == tokenizer.eos_id
    assert changed.id == pairs[1].id


def test_speakers_exchange_their_tokens(tokenizer: Tokenizer, pairs: list[EncodedPair]) -> None:
    ids = tokenizer.placeholder_ids()
    change = ExchangeSpeakers(1.0, speakers(tokenizer))
    found = change(pairs[1], Chance(0))
    back = {ids[0]: ids[1], ids[1]: ids[0]}
    assert found.source == tuple(back.get(token, token) for token in pairs[1].source)
    assert summary_of(found, tokenizer) == f"{BO} tells {ANN} about Lucy."
    assert (len(found.source), found.starts) == (len(pairs[1].source), pairs[1].starts)
    some = [ExchangeSpeakers(0.5, speakers(tokenizer))(pairs[1], Chance(i)) for i in range(200)]
    assert 70 < sum(one != pairs[1] for one in some) < 130
    three = EncodedPair((1, ids[0], ids[1], ids[2], 2), (1, ids[2], 2))
    orders = {change(three, Chance(i)).source for i in range(60)}
    assert len(orders) == 5  # all but its own
    assert change(EncodedPair((1, 7, 2), (1, 7, 2)), Chance(0)).source == (1, 7, 2)


@pytest.mark.parametrize(
    ("error", "form"),
    [
        ("name", r"\U0010f000 says (\w+) saw (\w+) at 3\."),
        ("number", r"\U0010f000 says Tom saw Smith at (?!3\b)\d+\."),
        ("swap", r"\U0010f001 says Tom saw Smith at 3\."),
    ],
)
def test_one_error_is_planted(
    tokenizer: Tokenizer, pairs: list[EncodedPair], error: str, form: str
) -> None:
    config = CorruptionConfig.parse({"share": 1.0, "errors": [error]})
    change = Corruption(config, tokenizer, speakers(tokenizer), pairs)
    for seed in range(10):
        found = change(pairs[0], Chance(seed))
        text = tokenizer.decode(found.corrupted)
        assert re.fullmatch(form, text), text
        assert text != summary_of(pairs[0], tokenizer)
        assert (found.source, found.target) == (pairs[0].source, pairs[0].target)
    names = {"Peter", "Helen", "Green"}  # in the middle of a sentence
    assert set(change.names) >= names


def test_only_where_an_error_finds_a_place(tokenizer: Tokenizer, pairs: list[EncodedPair]) -> None:
    config = CorruptionConfig.parse({"share": 1.0, "errors": ["number"]})
    change = Corruption(config, tokenizer, speakers(tokenizer), pairs)
    assert change(pairs[1], Chance(0)) is pairs[1]
    never_fits = Corruption(config, tokenizer, speakers(tokenizer), pairs, longest=3)
    assert never_fits(pairs[0], Chance(0)) is pairs[0]
    half = CorruptionConfig.parse({"share": 0.5, "errors": ["name"]})
    some = Corruption(half, tokenizer, speakers(tokenizer), pairs)
    count = sum(bool(some(pairs[0], Chance(i)).corrupted) for i in range(200))
    assert 70 < count < 130
