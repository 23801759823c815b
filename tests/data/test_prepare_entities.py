"""Preparation with masked entities: order of the steps, profiles, speakers, references."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialogist.data.entities import MASK
from dialogist.data.normalise import PROFILES, normalise, normalise_between
from dialogist.data.prepare import Preparation, PreparationConfig
from dialogist.records import Dialogue, Utterance
from dialogist.tokenizers import placeholder
from dialogist.tokenizers.special_tokens import entity_placeholder

A, B = placeholder(0), placeholder(1)
PHONE, TIME, ORDER = (entity_placeholder(kind, 1) for kind in ("PHONE", "TIME", "ORDER"))
TALK = Dialogue(
    (
        Utterance("Ann", "Order number AB-1234, Bo.  Call\t415-555-0132!"),
        Utterance("Bo", "At 5 pm, (415) 555-0132?"),
        Utterance("Bo", "Is ab-1234 it?"),
    ),
    references=("Bo calls Ann at 5pm on 415-555-0132 about AB-1234, not at 6pm.",),
)


def prepare(talk=TALK, **options):
    preparation = Preparation(PreparationConfig(entities="masked", **options))
    return preparation, preparation.prepare(talk)


def test_entities_and_speakers_together():
    preparation, example = prepare()
    assert [(u.speaker, u.text) for u in example.utterances] == [
        (A, f"Order number {ORDER}, {B}. Call {PHONE}!"),
        (B, f"At {TIME}, {PHONE}?"),
        (B, "Is ab-1234 it?"),
    ]
    assert example.entities == {ORDER: "AB-1234", PHONE: "415-555-0132", TIME: "5 pm"}
    assert example.targets == (f"{B} calls {A} at {TIME} on {PHONE} about {ORDER}, not at 6pm.",)
    assert preparation.restore(example.targets[0], example) == (
        "Bo calls Ann at 5 pm on 415-555-0132 about AB-1234, not at 6pm."
    )
    absent = entity_placeholder("PHONE", 2)
    assert preparation.restore(f"x{absent}{placeholder(7)}y", example) == "xy"


def test_none_is_as_ever():
    plain = Preparation(PreparationConfig())
    example = plain.prepare(TALK)
    assert not plain.masks_entities
    assert example.entities == {}
    assert example.utterances[1].text == "At 5 pm, (415) 555-0132?"
    assert plain.restore(f"{PHONE}{A}", example) == " Ann"  # nothing stands behind PHONE


def test_what_is_restored_is_what_was_said_whatever_the_profile():
    for profile in ("dialogsum-keras", "xsum-report"):
        preparation, example = prepare(profile=profile, speakers="inline")
        assert example.utterances[1].text == f"bo: at {TIME}, {PHONE}?"
        assert preparation.restore(f"call {PHONE} for {ORDER}", example) == (
            "call 415-555-0132 for AB-1234"
        )


def test_masked_before_merging():
    """The paper's order: an entity counts one word when utterances are joined."""
    talk = Dialogue((Utterance("Ann", "It is 415-555-0132 now"), Utterance("Ann", "at 5 pm ok")))
    _, example = prepare(talk, merge_below=9)
    assert example.merged == 1
    assert example.utterances[0].text == f"It is {PHONE} now at {TIME} ok"
    assert Preparation(PreparationConfig(merge_below=9)).prepare(talk).merged == 0


def test_a_speaker_who_is_a_phone_number_stays_one():
    talk = Dialogue((Utterance("+1 415 555 0132", "hi"), Utterance("Bo", "Hi +1 415 555 0132!")))
    _, example = prepare(talk)
    assert example.utterances[1].text == f"Hi {A}!"
    assert example.entities == {}


def test_more_values_than_masks_are_noted():
    talk = Dialogue((Utterance("Ann", " ".join(f"{n}:30" for n in range(18))),))
    _, example = prepare(talk)
    assert example.notes == ("more entities than tokens for them (2 TIME stay text)",)


def test_mask_characters_of_the_user_are_no_entities():
    talk = Dialogue((Utterance("Ann", f"{PHONE} 415-555-0132 {A}"),), references=(f"{TIME}",))
    _, example = prepare(talk)
    second = entity_placeholder("PHONE", 2)
    assert example.utterances[0].text == f"{PHONE} {second} \ufffd"
    assert example.entities == {second: "415-555-0132"}
    assert example.targets == ("\ufffd",)


characters = st.characters() | st.sampled_from([*"aZΣİ 0.,(\u0301\u00a0", PHONE, TIME, ORDER])


@pytest.mark.parametrize("profile", PROFILES)
@given(text=st.text(characters))
def test_normalising_between_masks(profile, text):
    plain = normalise(text, "plain")
    result = normalise_between(plain, profile, MASK)
    assert MASK.findall(result) == MASK.findall(plain)
    assert normalise_between(result, profile, MASK) == result
    if not MASK.search(plain):
        assert result == normalise(plain, profile)
    assert result == " ".join(result.split())
