"""Speakers as roles: who asks is 0, who serves is 1 (KDD 2019, section 3.1)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.data.encode import Limits
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.data.speakers import RoleTable
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import PLACEHOLDERS, placeholder
from dialogist.tokenizers.build import train_word

ASKS, SERVES = placeholder(0), placeholder(1)


def tokens(*speakers: tuple[str, str]) -> list[str]:
    """The placeholders of (speaker, role) pairs that speak one after the other."""
    said = [Utterance(speaker, "text", role) for speaker, role in speakers]
    table = RoleTable(said)
    return [table.token(utterance) for utterance in said]


@pytest.mark.parametrize(
    ("speakers", "numbers"),
    [
        ([("Ann", "agent"), ("Bo", "customer"), ("Ann", "agent")], [1, 0, 1]),
        ([("Dr. Lee", "doctor"), ("Kim", "patient")], [1, 0]),
        ([("agent", ""), ("user", "")], [1, 0]),  # roles that a reader took for names
        ([("Ann", ""), ("Bo", ""), ("Ann", "")], [0, 1, 0]),  # no roles: as they speak
        ([("Ann", ""), ("Bo", ""), ("Cy", "")], [0, 1, 2]),
        ([("Ann", ""), ("Bo", "agent")], [0, 1]),  # who is left asks
        ([("Ann", ""), ("Bo", "user"), ("Cy", "")], [1, 0, 2]),
        ([("Ann", "agent"), ("Bo", "agent"), ("Cy", "")], [1, 1, 0]),  # two of one role
        ([("", "agent"), ("", "user")], [1, 0]),
        ([("", "chair"), ("Ann", "chair"), ("Bo", "clerk")], [0, 1, 2]),  # no role that we know
    ],
)
def test_who_is_who(speakers: list[tuple[str, str]], numbers: list[int]) -> None:
    assert tokens(*speakers) == [placeholder(number) for number in numbers]


def test_nobody_has_no_token() -> None:
    assert tokens(("", ""), ("Ann", "user"), ("", "")) == ["", ASKS, ""]


def test_more_speakers_than_numbers_share_the_last() -> None:
    found = tokens(*((f"speaker {i}", "") for i in range(PLACEHOLDERS + 2)))
    assert found == [placeholder(min(i, PLACEHOLDERS - 1)) for i in range(PLACEHOLDERS + 2)]


people = st.tuples(
    st.sampled_from(["Ann", "Bo", "user", ""]), st.sampled_from(["user", "agent", "x", ""])
)


@given(st.lists(people, max_size=8))
def test_a_role_is_known_wherever_it_is_said(speakers: list[tuple[str, str]]) -> None:
    found = dict(zip(speakers, tokens(*speakers), strict=True))
    for (speaker, role), token in found.items():
        if role == "user" or (not role and speaker == "user"):
            assert token == ASKS
        elif role == "agent":
            assert token == SERVES
        else:
            assert (token == "") == (not speaker and not role)
    assert [found[one] for one in speakers] == tokens(*speakers)


# --- in a preparation ---

ROLE = Preparation(PreparationConfig(speakers="role", limits=Limits(source_tokens=None)))
TALK = Dialogue(
    (
        Utterance("Ann", "Hello Bo", "agent"),
        Utterance("Bo", "Hello Ann", "customer"),
    ),
    references=("Bo said hello to Ann.",),
)


def test_a_role_stands_before_what_is_said() -> None:
    example = ROLE.prepare(TALK)
    assert [(u.speaker, u.text) for u in example.utterances] == [
        (SERVES, "Hello Bo"),
        (ASKS, "Hello Ann"),
    ]
    tokenizer = train_word(["Hello Ann Bo"], speakers=True)
    encoded = ROLE.encode(example, tokenizer)
    asks, serves = tokenizer.placeholder_ids()[:2]
    assert [encoded.source[i] for i in encoded.starts] == [serves, asks]
    assert encoded.coverage.tokens == 6


def test_names_are_text_and_no_role_becomes_a_name() -> None:
    example = ROLE.prepare(TALK)
    assert example.targets == TALK.references
    assert example.speakers == ()
    assert ROLE.restore(f"{ASKS}Bo thanks {SERVES}Ann", example) == "Bo thanks Ann"


def test_sharing_a_token_is_told() -> None:
    crowd = Dialogue(tuple(Utterance(f"speaker {i}", "Hello") for i in range(PLACEHOLDERS + 2)))
    (note,) = ROLE.prepare(crowd).notes
    assert note == "2 of the speakers have no token of their own (share one)"


def test_the_tokenizer_must_hold_placeholders() -> None:
    wants = {
        kind: Preparation(PreparationConfig.parse({"speakers": kind})).has_speaker_tokens
        for kind in ("atomic", "role", "inline")
    }
    assert wants == {"atomic": True, "role": True, "inline": False}


def test_merging_keeps_roles_apart() -> None:
    """Neighbours are joined before roles stand in front: one token for each turn."""
    said = [("Ann", "agent"), ("Ann", "agent"), ("Bo", ""), ("Bo", "")]
    turns = tuple(Utterance(name, "one two", role) for name, role in said)
    config = PreparationConfig(speakers="role", merge_below=15)
    example = Preparation(config).prepare(Dialogue(turns))
    assert [(u.speaker, u.text) for u in example.utterances] == [
        (SERVES, "one two one two"),
        (ASKS, "one two one two"),
    ]
