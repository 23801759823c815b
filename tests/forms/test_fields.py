"""Typed fields: found by form, told apart by the words near them, never guessed."""

import pytest
from tests.forms.samples import dialogue_of

from dialogist.records import Entity
from dialogist.forms.template_config import SectionConfig
from dialogist.forms.typed_fields import Values

CALL = dialogue_of(
    "Agent: Hi, what is your order number?",
    "Customer: It's AB-1234567. You can call me on 555-123-4567.",
    "Agent: And when did it arrive?",
    "Customer: On Friday at 5 pm, in a Toyota Camry with plate KAB1234. I paid $12.30 and the fee "
    "was $3. Bought on 12/05/2024. Mail me: bo@x.com, see www.x.com/order.",
)


def field(dialogue, type_, **keys):
    section = SectionConfig(title="x", source="field", type=type_, **keys)
    entries, unclear = Values(dialogue).entries(section)
    for entry in entries:
        for e in entry.evidence:
            text = dialogue.utterances[e.utterance].text
            assert text[e.start : e.end] == entry.text
    return [entry.text for entry in entries], unclear


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("order", "AB-1234567"),
        ("phone", "555-123-4567"),
        ("time", "Friday at 5 pm"),
        ("date", "12/05/2024"),
        ("vehicle", "Toyota Camry"),
        ("plate", "KAB1234"),
        ("email", "bo@x.com"),
        ("url", "www.x.com/order"),
    ],
)
def test_values_by_type(type_, value):
    assert field(CALL, type_) == ([value], False)


def test_cues_choose_among_several_and_several_gives_all():
    assert field(CALL, "amount") == (["$12.30", "$3"], True)
    assert field(CALL, "amount", cues=["fee"]) == (["$3"], False)
    assert field(CALL, "amount", several=True) == (["$12.30", "$3"], False)
    assert field(CALL, "amount", cues=["discount"]) == ([], False)
    assert field(CALL, "iban") == ([], False)


def test_a_bare_number_answers_the_question_for_it():
    dialogue = dialogue_of(
        "Agent: May I have your booking reference?",
        "Customer: 1234567",
        "Agent: And your phone number?",
        "Customer: Sure, 5551234 it is.",
        "Agent: Fine, that is 2 nights.",
    )
    assert field(dialogue, "order") == (["1234567"], False)
    assert field(dialogue, "phone") == (["5551234"], False)


def test_a_value_said_twice_is_one_with_both_places():
    dialogue = dialogue_of("A: Order AB-1234567.", "B: Order AB1234567, right?")
    section = SectionConfig(title="x", source="field", type="order")
    [entry], unclear = Values(dialogue).entries(section)
    assert [e.utterance for e in entry.evidence] == [0, 1]
    assert not unclear


def test_what_the_summary_knows_counts_too():
    dialogue = dialogue_of("A: it is zebra")
    known = [Entity("ORDER", "zebra", 0, 6, 11)]
    section = SectionConfig(title="x", source="field", type="order")
    [entry], _ = Values(dialogue, known).entries(section)
    assert entry.text == "zebra"


def test_words_that_are_also_makes_are_no_vehicles():
    assert field(dialogue_of("A: Mr. Ford has a seat and a Ford Focus."), "vehicle") == ([], False)
    assert field(dialogue_of("A: My Ford F150 is old."), "vehicle") == (["Ford F150"], False)
    assert field(dialogue_of("用户: 我的宝马320i坏了"), "vehicle") == (["宝马320i"], False)


def test_a_mask_is_a_value_of_its_kind() -> None:
    masked = dialogue_of(
        "Agent: Hi, what is your order number?",
        "Customer: It's [ORDER_1]. You can call me on [PHONE_1]; my card is [CARD_1].",
    )
    assert field(masked, "order") == (["[ORDER_1]"], False)
    assert field(masked, "phone") == (["[PHONE_1]"], False)
    assert field(masked, "card") == (["[CARD_1]"], False)
    assert field(masked, "email") == ([], False)
